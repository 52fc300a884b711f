#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lake/cli/exit_code.h"
#include "lake/cli/invocation.h"
#include "lake/cli/json_text.h"
#include "lake/cli/progress_bar.h"
#include "lake/service/ingest.h"

namespace lake::cli {
namespace {

struct IngestFlags {
  std::string table;
  std::vector<std::string> paths;
  bool create = false;
  std::string file_version;
  std::string operation_id;
  bool json = false;
};

Status RunIngestCommand(Invocation* invocation, const IngestFlags& flags) {
  auto name = service::ParseTableName(flags.table);
  if (!name.ok()) return UsageError(name.status().message());
  std::optional<format::FileVersion> file_version;
  if (!flags.file_version.empty()) {
    auto parsed = format::FileVersion::Parse(flags.file_version);
    if (!parsed.ok()) return UsageError(parsed.status().message());
    file_version = *parsed;
  }
  ARROW_ASSIGN_OR_RAISE(service::Workspace * workspace,
                        invocation->OpenWorkspace(/*must_exist=*/!flags.create));
  ProgressBar bar("ingest", invocation->context.clock, invocation->quiet);
  service::IngestRequest request;
  request.table = *std::move(name);
  request.paths = flags.paths;
  request.create = flags.create;
  request.file_version = file_version;
  request.operation_id = flags.operation_id;
  request.max_buffered_bytes = workspace->options().write_buffer_bytes;
  request.progress = [&bar](const service::IngestProgress& progress) {
    bar.Update({.files_done = progress.files_done,
                .files_total = progress.files_total,
                .bytes_done = progress.bytes_done,
                .bytes_total = progress.bytes_total,
                .rows_done = progress.rows});
  };
  ARROW_ASSIGN_OR_RAISE(service::IngestResult result,
                        service::Ingest(invocation->context, &workspace->lakehouse(),
                                        workspace->principal(), request));
  bar.Finish();
  if (flags.json) {
    return invocation->output.Write(
        PrettyJson(boost::json::object{{"rows", result.outcome.num_rows},
                                       {"version", result.outcome.version},
                                       {"replayed", result.outcome.replayed},
                                       {"operation_id", result.operation_id}}));
  }
  return invocation->output.Write(
      fmt::format("{}{} rows in {}, version {}\n",
                  result.outcome.replayed ? "already committed by this operation: " : "",
                  result.outcome.num_rows, request.table.ToString(), result.outcome.version));
}

}  // namespace

void AddIngestCommand(CLI::App* app, Invocation* invocation) {
  CLI::App* command = app->add_subcommand(
      "ingest", "Append the rows of Parquet, CSV, Arrow IPC files or streams, in one commit");
  auto flags = std::make_shared<IngestFlags>();
  command->add_option("table", flags->table, "namespace.table")->required();
  command->add_option("paths", flags->paths, "The files, in this order")->required();
  command->add_flag("--create", flags->create,
                    "Make the table, with the columns of the first file");
  command->add_option("--file-version", flags->file_version,
                      "With --create: 2.1 or 2.2, the version of the table's data files");
  command->add_option("--operation-id", flags->operation_id,
                      "UUIDv7; running again with the same id and input changes nothing twice");
  command->add_flag("--json", flags->json, "Print JSON");
  command->callback(
      [=] { invocation->run = [=] { return RunIngestCommand(invocation, *flags); }; });
}

}  // namespace lake::cli
