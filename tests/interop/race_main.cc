// Changes a table of a lakehouse in step with other processes: race DIR TABLE (in `main`).
//
// Each line of standard input is a step, its parts separated by tabs:
//   append IN | merge IN (on id) | delete ID,... | update ID,... DELTA KIND | compact TARGET_ROWS
//   scan OUT | versions FIRST
// IN and OUT are Arrow IPC streams; an update adds DELTA to `v` and sets `kind`. A change is worked
// out, "ready" is printed, and after another line it is committed; one that finds nothing to do
// never waits. Answers: "done VERSION DELETED UPDATED INSERTED LOST" (version 0 where nothing
// changed; LOST attempts lost against others), "failed TEXT" or "unknown TEXT". `versions` tells
// each from FIRST on: "done VERSION OPERATION VERSION OPERATION ...".

#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <arrow/builder.h>
#include <arrow/compute/api.h>
#include <arrow/compute/expression.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include "lake/commit/lakehouse.h"
#include "lake/commit/maintenance.h"
#include "lake/table/delete_rows.h"
#include "lake/table/merge_insert.h"
#include "lake/table/update_rows.h"

namespace lake::commit {
namespace {

namespace cp = arrow::compute;
using Arguments = std::vector<std::string>;

Arguments Split(const std::string& text, char separator) {
  Arguments parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

Result<std::shared_ptr<arrow::RecordBatchReader>> OpenStream(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
  return arrow::ipc::RecordBatchStreamReader::Open(file);
}

Result<cp::Expression> IdIsOneOf(const std::string& ids) {
  arrow::Int64Builder builder;
  for (const std::string& id : Split(ids, ',')) {
    ARROW_RETURN_NOT_OK(builder.Append(std::stoll(id)));
  }
  ARROW_ASSIGN_OR_RAISE(auto values, builder.Finish());
  return cp::call("is_in", {cp::field_ref("id")}, cp::SetLookupOptions(values));
}

class Racer {
 public:
  Racer(std::shared_ptr<Lakehouse> lakehouse, std::string table)
      : lakehouse_(std::move(lakehouse)), table_(std::move(table)) {}

  void Serve() {
    for (std::string line; std::getline(std::cin, line);) {
      waited_ = false;
      const Result<std::string> answer = Do(Split(line, '\t'));
      if (answer.ok()) {
        std::cout << "done " << *answer << std::endl;
      } else {
        std::cout << (IsCommitStateUnknown(answer.status()) ? "unknown " : "failed ")
                  << ErrorText(answer.status()) << std::endl;
      }
    }
  }

 private:
  /// The first run of a change waits for the others.
  void WaitOnce() {
    if (std::exchange(waited_, true)) return;
    std::cout << "ready" << std::endl;
    std::string line;
    std::getline(std::cin, line);
  }

  Result<std::string> Do(const Arguments& arguments) {
    ARROW_ASSIGN_OR_RAISE(auto table,
                          lakehouse_->OpenByName(context_, {}, {catalog::kMainNamespace, table_},
                                                 catalog::NameMatch::kExact));
    const std::string& step = arguments[0];
    if (step == "scan") return Scan(*table, arguments[1]);
    if (step == "versions") return Versions(*table, std::stoull(arguments[1]));
    if (step == "append") return Append(table, arguments[1]);
    if (step == "compact") return Compact(*table, arguments[1]);
    const ChangeMaker make = [&](const Context& context, const ChangeInput& input) {
      auto change = Make(context, input, arguments);
      if (change.ok()) WaitOnce();
      return change;
    };
    ARROW_ASSIGN_OR_RAISE(CommitOutcome outcome, lakehouse_->Change(context_, {}, table, make, {}));
    const bool changed = outcome.num_deleted + outcome.num_updated + outcome.num_inserted > 0;
    return fmt::format("{} {} {} {} {}", changed ? outcome.version : 0, outcome.num_deleted,
                       outcome.num_updated, outcome.num_inserted, outcome.lost_attempts);
  }

  static Result<table::PreparedChange> Make(const Context& context, const ChangeInput& input,
                                            const Arguments& arguments) {
    if (arguments[0] == "delete") {
      ARROW_ASSIGN_OR_RAISE(cp::Expression filter, IdIsOneOf(arguments[1]));
      return table::DeleteRows(context, input.dataset, filter);
    }
    if (arguments[0] == "update") {
      table::UpdateRowsOptions options;
      ARROW_ASSIGN_OR_RAISE(options.filter, IdIsOneOf(arguments[1]));
      const int64_t delta = std::stoll(arguments[2]);
      options.assignments.emplace("v", cp::call("add", {cp::field_ref("v"), cp::literal(delta)}));
      options.assignments.emplace("kind", cp::literal(arguments[3]));
      options.check = input.check;
      return table::UpdateRows(context, input.dataset, options);
    }
    if (arguments[0] == "merge") {
      ARROW_ASSIGN_OR_RAISE(auto reader, OpenStream(arguments[1]));
      table::MergeInsertOptions options;
      options.on = {"id"};
      options.when_matched = table::MergeInsertOptions::Matched::kUpdate;
      options.check = input.check;
      return table::MergeInsert(context, input.dataset, reader.get(), options);
    }
    return Error(ErrorCode::kInvalidArgument, "unknown step: {}", arguments[0]);
  }

  Result<std::string> Append(std::shared_ptr<const OpenTable> table, const std::string& path) {
    ARROW_ASSIGN_OR_RAISE(auto write, lakehouse_->Append(context_, {}, std::move(table), {}));
    ARROW_ASSIGN_OR_RAISE(auto reader, OpenStream(path));
    for (;;) {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
      if (batch == nullptr) break;
      ARROW_RETURN_NOT_OK(write->Write(*batch));
    }
    WaitOnce();
    ARROW_ASSIGN_OR_RAISE(CommitOutcome outcome, write->Commit(context_));
    return fmt::format("{} 0 0 {} {}", outcome.version, outcome.num_rows, outcome.lost_attempts);
  }

  Result<std::string> Compact(const OpenTable& table, const std::string& target_rows) {
    table::CompactionOptions options;
    options.target_rows = std::stoull(target_rows);
    ARROW_ASSIGN_OR_RAISE(
        CompactOutcome outcome,
        lakehouse_->maintenance().Compact(context_, table, options,
                                          [&](const table::CompactionProgress& progress) {
                                            if (progress.rows_done >= progress.rows_total)
                                              WaitOnce();
                                          }));
    return fmt::format("{} 0 0 0 {}", outcome.changed ? outcome.version : 0,
                       outcome.lost_attempts + static_cast<int>(outcome.groups_given_up));
  }

  Result<std::string> Versions(const OpenTable& table, uint64_t first) {
    ARROW_ASSIGN_OR_RAISE(auto versions, table.dataset->Versions(context_));
    std::string text;
    for (const table::VersionInfo& version : versions) {
      if (version.version < first) continue;
      text += fmt::format("{} {} ", version.version, version.operation);
    }
    return text;
  }

  Result<std::string> Scan(const OpenTable& table, const std::string& path) {
    ARROW_ASSIGN_OR_RAISE(auto scanner, table.dataset->Scan(context_, {}));
    ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::FileOutputStream::Open(path));
    ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeStreamWriter(sink, scanner->schema()));
    for (size_t morsel = 0; morsel < scanner->num_morsels(); ++morsel) {
      ARROW_ASSIGN_OR_RAISE(auto batch, scanner->Read(context_, morsel));
      if (batch == nullptr) continue;
      ARROW_RETURN_NOT_OK(batch->ValidateFull());
      ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
    }
    ARROW_RETURN_NOT_OK(writer->Close());
    ARROW_RETURN_NOT_OK(sink->Close());
    return fmt::format("{} 0 0 0 0", table.dataset->manifest().version());
  }

  const Context context_;
  const std::shared_ptr<Lakehouse> lakehouse_;
  const std::string table_;
  bool waited_ = false;
};

}  // namespace
}  // namespace lake::commit

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: see the head of race_main.cc\n";
    return 2;
  }
  lake::Context context;
  auto lakehouse = lake::commit::Lakehouse::Open(context, {.data_dir = argv[1]});
  if (!lakehouse.ok()) {
    std::cerr << lake::ErrorText(lakehouse.status()) << "\n";
    return 1;
  }
  lake::commit::Racer(*lakehouse, argv[2]).Serve();
  return 0;
}
