// A lakehouse, one step at a time. Tables have one column `x` of int64; names stand in the
// namespace `main`.
//
//   create DIR NAME VALUE,... [OPERATION]
//   append DIR NAME VALUE,... [OPERATION]
//   replay DIR VALUE,... OPERATION
//   read DIR NAME [version]
//   drop DIR NAME | undrop DIR NAME | location DIR NAME | leftovers DIR
//
// The operation's digest is the text of the values. create, append and replay print "version rows
// replayed"; read prints the version and the values. Exit code 0; 1 with the error's code and text;
// 3 with them if the commit's state is unknown.

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/commit/lakehouse.h"

namespace lake::commit {
namespace {

using Arguments = std::vector<std::string>;

Result<std::shared_ptr<arrow::RecordBatch>> Rows(const std::string& text) {
  arrow::Int64Builder builder;
  std::istringstream in(text);
  for (std::string value; std::getline(in, value, ',');) {
    ARROW_RETURN_NOT_OK(builder.Append(std::stoll(value)));
  }
  ARROW_ASSIGN_OR_RAISE(auto column, builder.Finish());
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("x", arrow::int64())}),
                                  column->length(), {column});
}

catalog::QualifiedName InMain(const std::string& name) { return {catalog::kMainNamespace, name}; }

Result<std::shared_ptr<const OpenTable>> Open(const Context& context, Lakehouse* lakehouse,
                                              const std::string& name,
                                              const table::OpenOptions& options = {}) {
  return lakehouse->OpenByName(context, {}, InMain(name), catalog::NameMatch::kSql, options);
}

void Print(const CommitOutcome& outcome) {
  std::cout << outcome.version << " " << outcome.num_rows << " " << (outcome.replayed ? 1 : 0)
            << "\n";
}

Status Write(const Context& context, Lakehouse* lakehouse, const Arguments& arguments) {
  WriteOptions options;
  if (arguments.size() > 4) options.operation = {arguments[4], arguments[3]};
  ARROW_ASSIGN_OR_RAISE(auto rows, Rows(arguments[3]));
  std::unique_ptr<TableWrite> write;
  if (arguments[0] == "create") {
    ARROW_ASSIGN_OR_RAISE(
        write, lakehouse->Create(context, {}, InMain(arguments[2]), *rows->schema(), {}, options));
  } else {
    ARROW_ASSIGN_OR_RAISE(auto table, Open(context, lakehouse, arguments[2]));
    ARROW_ASSIGN_OR_RAISE(write, lakehouse->Append(context, {}, table, options));
  }
  ARROW_RETURN_NOT_OK(write->Write(*rows));
  ARROW_ASSIGN_OR_RAISE(CommitOutcome outcome, write->Commit(context));
  Print(outcome);
  return Status::OK();
}

Status Replay(const Context& context, Lakehouse* lakehouse, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(CommitOutcome outcome,
                        lakehouse->Replay(context, {}, {arguments[3], arguments[2]}));
  Print(outcome);
  return Status::OK();
}

Status Read(const Context& context, Lakehouse* lakehouse, const Arguments& arguments) {
  table::OpenOptions options;
  if (arguments.size() > 3) options.version = std::stoull(arguments[3]);
  ARROW_ASSIGN_OR_RAISE(auto table, Open(context, lakehouse, arguments[2], options));
  ARROW_ASSIGN_OR_RAISE(auto scanner, table->dataset->Scan(context, {}));
  std::cout << table->dataset->manifest().version();
  for (size_t morsel = 0; morsel < scanner->num_morsels(); ++morsel) {
    ARROW_ASSIGN_OR_RAISE(auto batch, scanner->Read(context, morsel));
    if (batch == nullptr) continue;
    const auto& column = static_cast<const arrow::Int64Array&>(*batch->column(0));
    for (int64_t row = 0; row < column.length(); ++row) std::cout << " " << column.Value(row);
  }
  std::cout << "\n";
  return Status::OK();
}

Status ChangeName(const Context& context, Lakehouse* lakehouse, const Arguments& arguments) {
  if (arguments[0] == "undrop") {
    return lakehouse->Undrop(context, {}, InMain(arguments[2]), {}).status();
  }
  ARROW_ASSIGN_OR_RAISE(catalog::Entry entry,
                        lakehouse->metastore().ViewFor({})->Find(context, InMain(arguments[2]),
                                                                 catalog::NameMatch::kSql));
  if (arguments[0] == "drop") return lakehouse->Drop(context, {}, entry);
  std::cout << lakehouse->data_dir() << "/" << entry.location << "\n";
  return Status::OK();
}

Status Leftovers(const Context& context, Lakehouse* lakehouse) {
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> lines, lakehouse->FindLeftovers(context));
  for (const std::string& line : lines) std::cout << line << "\n";
  return Status::OK();
}

Status Run(const Arguments& arguments) {
  Context context;
  ARROW_ASSIGN_OR_RAISE(auto lakehouse, Lakehouse::Open(context, {.data_dir = arguments[1]}));
  const std::string& step = arguments[0];
  if (step == "create" || step == "append") return Write(context, lakehouse.get(), arguments);
  if (step == "replay") return Replay(context, lakehouse.get(), arguments);
  if (step == "read") return Read(context, lakehouse.get(), arguments);
  if (step == "leftovers") return Leftovers(context, lakehouse.get());
  return ChangeName(context, lakehouse.get(), arguments);
}

}  // namespace
}  // namespace lake::commit

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) {
    std::cerr << "usage: see the head of commit_main.cc\n";
    return 2;
  }
  lake::Status status = lake::commit::Run(arguments);
  if (status.ok()) return 0;
  std::cerr << lake::ErrorCodeName(lake::CodeOf(status)) << ": " << lake::ErrorText(status) << "\n";
  return lake::IsCommitStateUnknown(status) ? 3 : 1;
}
