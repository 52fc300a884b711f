#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lake/cli/exit_code.h"
#include "lake/cli/invocation.h"
#include "lake/cli/json_text.h"
#include "lake/cli/progress_bar.h"
#include "lake/service/file_get.h"
#include "lake/service/file_import.h"
#include "lake/service/file_verify.h"
#include "lake/service/find_file.h"

namespace lake::cli {
namespace {

struct FileFlags {
  std::string table;
  std::string folder;
  std::string where;
  std::string column;
  std::string output;
  std::string range;
  bool json = false;
};

Status ImportCommand(Invocation* invocation, const FileFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const commit::OpenTable> table,
                        workspace->OpenTable(invocation->context, flags.table));
  ProgressBar bar("import", invocation->context.clock, invocation->quiet);
  service::FileImportRequest request;
  request.table = table->entry.name;
  request.folder = flags.folder;
  request.progress = [&bar](const service::FileImportProgress& progress) {
    bar.Update({.files_done = progress.files_done,
                .files_total = progress.files_total,
                .bytes_done = progress.bytes_done,
                .bytes_total = progress.bytes_total});
  };
  request.problem = [&bar](const std::string& path, const Status& reason) {
    bar.PrintLine(fmt::format("lake: not imported: {}: {}", path, ErrorText(reason)));
  };
  ARROW_ASSIGN_OR_RAISE(service::FileImportResult result,
                        service::ImportFiles(invocation->context, &workspace->lakehouse(),
                                             workspace->principal(), request));
  bar.Finish();
  if (flags.json) {
    ARROW_RETURN_NOT_OK(invocation->output.Write(
        PrettyJson(boost::json::object{{"files_imported", result.files_imported},
                                       {"bytes_imported", result.bytes_imported},
                                       {"files_unchanged", result.files_unchanged},
                                       {"problems", result.problems},
                                       {"commits", result.commits},
                                       {"version", result.version}})));
  } else {
    ARROW_RETURN_NOT_OK(invocation->output.Write(
        fmt::format("imported {} files ({}) into {}, {} unchanged, {} not imported\n",
                    result.files_imported, FormatBytes(result.bytes_imported),
                    request.table.ToString(), result.files_unchanged, result.problems)));
  }
  if (result.problems == 0) return Status::OK();
  return Error(ErrorCode::kInvalidArgument, "{} of the folder's entries were not imported",
               result.problems);
}

Status GetCommand(Invocation* invocation, const FileFlags& flags) {
  service::GetFileOptions options;
  options.output = flags.output;
  if (!flags.range.empty()) {
    auto range = service::ParseRange(flags.range);
    if (!range.ok()) return UsageError(range.status().message());
    options.range = *range;
  }
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  ARROW_ASSIGN_OR_RAISE(
      objects::DataLocation location,
      service::FindFile(invocation->context, workspace, flags.table, flags.column, flags.where));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<objects::Stage> stage,
                        workspace->Stage(invocation->context));
  uint64_t total = options.range ? options.range->end - options.range->start : location.size_bytes;
  ProgressBar bar("get", invocation->context.clock, invocation->quiet);
  uint64_t done = 0;
  options.progress = [&](uint64_t bytes) {
    done += bytes;
    bar.Update({.bytes_done = done, .bytes_total = total});
  };
  ARROW_ASSIGN_OR_RAISE(service::GetFileResult result,
                        service::GetFile(invocation->context, stage.get(), location, options));
  bar.Finish();
  if (flags.output == "-" || result.output_closed) return Status::OK();
  return invocation->output.Write(
      options.range ? fmt::format("{}: bytes {} to {} of {}\n", flags.output, options.range->start,
                                  options.range->end, location.size_bytes)
                    : fmt::format("{}: {} bytes, verified, sha256 {}\n", flags.output, result.bytes,
                                  location.sha256));
}

Status VerifyCommand(Invocation* invocation, const FileFlags& flags) {
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace, invocation->OpenWorkspace(true));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const commit::OpenTable> table,
                        workspace->OpenTable(invocation->context, flags.table));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<objects::Stage> stage,
                        workspace->Stage(invocation->context));
  ProgressBar bar("verify", invocation->context.clock, invocation->quiet);
  boost::json::array failures;
  service::FileVerifyOptions options;
  options.progress = [&bar](const service::FileVerifyProgress& progress) {
    bar.Update({.files_done = progress.values_done,
                .files_total = progress.values_total,
                .bytes_done = progress.bytes_done});
  };
  options.failure = [&](const service::FileVerifyFailure& failure) {
    bar.PrintLine(fmt::format("lake: not verified: {} at row address {}: {}: {}", failure.column,
                              failure.row_address, failure.location.uri,
                              ErrorText(failure.reason)));
    failures.push_back({{"column", failure.column},
                        {"row_address", failure.row_address},
                        {"uri", failure.location.uri},
                        {"reason", ErrorText(failure.reason)}});
  };
  ARROW_ASSIGN_OR_RAISE(service::FileVerifyResult result,
                        service::VerifyFiles(invocation->context, stage.get(), *table, options));
  bar.Finish();
  if (flags.json) {
    ARROW_RETURN_NOT_OK(invocation->output.Write(
        PrettyJson(boost::json::object{{"values", result.values},
                                       {"null_values", result.null_values},
                                       {"bytes", result.bytes},
                                       {"failures", std::move(failures)}})));
  } else {
    ARROW_RETURN_NOT_OK(invocation->output.Write(
        fmt::format("{} files ({}) of {} verified, {} failed\n", result.values - result.failures,
                    FormatBytes(result.bytes), table->entry.name.ToString(), result.failures)));
  }
  if (result.failures == 0) return Status::OK();
  return Error(ErrorCode::kIntegrity, "{} FILE values could not be verified", result.failures);
}

}  // namespace

void AddFileCommand(CLI::App* app, Invocation* invocation) {
  CLI::App* group = app->add_subcommand("file", "Import, get and verify managed files");
  group->require_subcommand(1);
  auto flags = std::make_shared<FileFlags>();
  auto add = [&](const char* name, const char* help, Status (*run)(Invocation*, const FileFlags&)) {
    CLI::App* command = group->add_subcommand(name, help);
    command->add_option("table", flags->table, "namespace.table")->required();
    command->callback([=] { invocation->run = [=] { return run(invocation, *flags); }; });
    return command;
  };

  CLI::App* import = add("import",
                         "Import the files of a folder: fills the columns path, kind, size, "
                         "modified and content; run again, it imports what is new",
                         ImportCommand);
  import->add_option("folder", flags->folder, "The folder, with all below it")->required();
  import->add_flag("--json", flags->json, "Print JSON");

  CLI::App* get = add("get", "Copy one file out of the lake, verified", GetCommand);
  get->add_option("--where", flags->where, "SQL condition that one row fits")->required();
  get->add_option("--column", flags->column, "The FILE column")->required();
  get->add_option("-o,--output", flags->output, "Where to; - is standard output")->required();
  get->add_option("--range", flags->range, "A..B: the bytes from A up to and without B");

  CLI::App* verify =
      add("verify", "Read every file of a table and compare its digest", VerifyCommand);
  verify->add_flag("--json", flags->json, "Print JSON");
}

}  // namespace lake::cli
