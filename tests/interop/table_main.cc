// A Lance table, one step at a time, between Arrow IPC streams and a folder:
//
//   create DIR IN [rows=PER FILE]
//   append DIR IN [rows=PER FILE] [operation=ID] [base=VERSION: replays it]
//   scan DIR OUT [version=N] [asof=NANOS] [columns=a,b] [filter=COLUMN OP NUMBER] [limit=N]
//   [rowaddr] [morsel=N] take DIR OUT ADDRESS,... COLUMN,... count DIR [version=N] [asof=NANOS]
//   versions DIR
//   blobs DIR COLUMN ADDRESS,... OUT [ranges=OFFSET:LENGTH,...] [take] [external] [base]: their
//   bytes as a column of large_binary race DIR      each line of standard input: "prepare ID", then
//   "commit"; answers after each
//
// Exit code 0; 1 with the error's text; 3 with it if the commit's state is unknown.

#include <functional>
#include <iostream>
#include <map>
#include <sstream>

#include <arrow/array/builder_binary.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/compute/expression.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "lake/base/thread_pool.h"
#include "lake/storage/local_store.h"
#include "lake/table/append_writer.h"
#include "lake/table/blobs.h"
#include "lake/table/commit.h"
#include "lake/table/dataset.h"

namespace lake::table {
namespace {

namespace cp = arrow::compute;
using Arguments = std::vector<std::string>;

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

Result<std::shared_ptr<storage::ObjectStore>> OpenAnyFolder(const Context&,
                                                            const std::string& path) {
  return storage::OpenLocalStore(path);
}

/// The value of "name=value" among `arguments`.
std::optional<std::string> Option(const Arguments& arguments, const std::string& name) {
  for (const std::string& argument : arguments) {
    if (argument == name) return "";
    if (argument.starts_with(name + "=")) return argument.substr(name.size() + 1);
  }
  return std::nullopt;
}

/// The base for external blobs of tables made here.
BasePath ExternalBase(const std::string& path) {
  return {.id = 1, .name = "media", .is_dataset_root = false, .path = path};
}

Result<std::vector<Fragment>> Write(const Context& context,
                                    std::shared_ptr<storage::ObjectStore> store,
                                    const format::Schema& schema, arrow::RecordBatchReader* reader,
                                    const Arguments& arguments, std::vector<std::string>* keys) {
  AppendWriterOptions options;
  if (auto rows = Option(arguments, "rows")) options.max_rows_per_file = std::stoull(*rows);
  options.blobs.allow_outside_bases = Option(arguments, "external").has_value();
  if (auto base = Option(arguments, "external_base")) options.blobs.bases = {ExternalBase(*base)};
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<AppendWriter> writer,
                        AppendWriter::Open(context, store, schema, options));
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, reader->Next());
    if (batch == nullptr) break;
    ARROW_RETURN_NOT_OK(writer->Write(*batch));
  }
  ARROW_ASSIGN_OR_RAISE(std::vector<Fragment> fragments, writer->Finish());
  *keys = writer->new_objects();
  return fragments;
}

Result<std::shared_ptr<arrow::RecordBatchReader>> OpenStream(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
  return arrow::ipc::RecordBatchStreamReader::Open(file);
}

Status Create(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(arguments[1]));
  ARROW_ASSIGN_OR_RAISE(auto reader, OpenStream(arguments[2]));
  OverwriteOperation create;
  ARROW_ASSIGN_OR_RAISE(create.schema, format::SchemaFromArrow(*reader->schema()));
  std::vector<std::string> keys;
  ARROW_ASSIGN_OR_RAISE(create.fragments,
                        Write(context, store, create.schema, reader.get(), arguments, &keys));
  create.table_metadata["lake.incarnation"] = Uuid::NewV7(context).ToString();
  create.stable_row_ids = Option(arguments, "stable").has_value();
  if (auto base = Option(arguments, "external_base")) {
    create.initial_bases = {ExternalBase(*base)};
  }
  ARROW_ASSIGN_OR_RAISE(CommitResult result,
                        Commit(context, store, NewTransaction(context, 0, create, keys), {}));
  std::cout << result.version << "\n";
  return Status::OK();
}

Status Append(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(arguments[1]));
  ARROW_ASSIGN_OR_RAISE(auto reader, OpenStream(arguments[2]));
  ARROW_ASSIGN_OR_RAISE(auto dataset, Dataset::Open(context, store));
  std::vector<std::string> keys;
  ARROW_ASSIGN_OR_RAISE(
      std::vector<Fragment> fragments,
      Write(context, store, dataset->manifest().schema(), reader.get(), arguments, &keys));
  Transaction append = NewTransaction(context, dataset->manifest().version(),
                                      AppendOperation{std::move(fragments)}, std::move(keys));
  if (auto id = Option(arguments, "operation")) append.properties[kOperationIdProperty] = *id;
  CommitOptions options;
  if (auto base = Option(arguments, "base")) options.replay_base = std::stoull(*base);
  ARROW_ASSIGN_OR_RAISE(CommitResult result, Commit(context, store, append, options));
  std::cout << result.version << "\n";
  return Status::OK();
}

Result<std::shared_ptr<Dataset>> OpenDataset(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(arguments[1]));
  OpenOptions options;
  if (auto version = Option(arguments, "version")) options.version = std::stoull(*version);
  if (auto as_of = Option(arguments, "asof")) options.as_of_nanos = std::stoll(*as_of);
  if (Option(arguments, "base")) options.open_base = OpenAnyFolder;
  return Dataset::Open(context, store, options);
}

Result<cp::Expression> ParseFilter(const std::string& text) {
  static const std::map<std::string, std::string> functions = {
      {"<", "less"},           {"<=", "less_equal"}, {">", "greater"},
      {">=", "greater_equal"}, {"=", "equal"},       {"!=", "not_equal"}};
  std::istringstream in(text);
  std::string column, op;
  int64_t number;
  if (!(in >> column >> op >> number) || !functions.contains(op)) {
    return Error(ErrorCode::kInvalidArgument, "filter must be COLUMN OP NUMBER: {}", text);
  }
  return cp::call(functions.at(op), {cp::field_ref(column), cp::literal(number)});
}

Status WriteStream(const std::string& path, const std::shared_ptr<arrow::Schema>& schema,
                   const arrow::RecordBatchVector& batches) {
  ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::FileOutputStream::Open(path));
  ARROW_ASSIGN_OR_RAISE(auto writer, arrow::ipc::MakeStreamWriter(sink, schema));
  for (const auto& batch : batches) {
    if (batch == nullptr) continue;
    ARROW_RETURN_NOT_OK(batch->ValidateFull());
    ARROW_RETURN_NOT_OK(writer->WriteRecordBatch(*batch));
  }
  ARROW_RETURN_NOT_OK(writer->Close());
  return sink->Close();
}

Status Scan(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, OpenDataset(context, arguments));
  ScanOptions options;
  if (auto columns = Option(arguments, "columns")) options.columns = Split(*columns);
  if (auto filter = Option(arguments, "filter")) {
    ARROW_ASSIGN_OR_RAISE(options.filter, ParseFilter(*filter));
  }
  if (auto limit = Option(arguments, "limit")) options.limit = std::stoull(*limit);
  if (auto rows = Option(arguments, "morsel")) options.morsel_rows = std::stoull(*rows);
  options.with_row_address = Option(arguments, "rowaddr").has_value();
  ARROW_ASSIGN_OR_RAISE(auto scanner, dataset->Scan(context, options));
  // Four threads pull morsels, as a query engine does.
  arrow::RecordBatchVector batches(scanner->num_morsels());
  ThreadPool pool(3);
  ARROW_RETURN_NOT_OK(ParallelFor(&pool, batches.size(), [&](size_t i) {
    return scanner->Read(context, i).Value(&batches[i]);
  }));
  return WriteStream(arguments[2], scanner->schema(), batches);
}

Status Take(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, OpenDataset(context, arguments));
  std::vector<RowAddress> addresses;
  for (const std::string& text : Split(arguments[3])) addresses.push_back(std::stoull(text));
  ARROW_ASSIGN_OR_RAISE(auto batch, dataset->Take(context, addresses, Split(arguments[4])));
  return WriteStream(arguments[2], batch->schema(), {batch});
}

/// "file:///a/b" as a store of "/a" and key "b".
Result<BaseStores::Place> OpenFile(const Context&, const std::string& uri) {
  if (!uri.starts_with("file:///")) return Error(ErrorCode::kUnsupported, "no file: {}", uri);
  const size_t slash = uri.rfind('/');
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(uri.substr(7, slash - 7)));
  return BaseStores::Place{std::move(store), uri.substr(slash + 1)};
}

Status Blobs(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, OpenDataset(context, arguments));
  std::vector<RowAddress> addresses;
  for (const std::string& text : Split(arguments[3])) addresses.push_back(std::stoull(text));
  BlobOptions options;
  if (Option(arguments, "external")) options.open_external = OpenFile;
  ARROW_ASSIGN_OR_RAISE(auto reader, BlobReader::Open(dataset, arguments[2], options));
  std::vector<std::shared_ptr<arrow::Buffer>> buffers(addresses.size());
  if (auto texts = Option(arguments, "ranges")) {
    std::vector<BlobRange> ranges;
    for (const std::string& text : Split(*texts)) {
      ranges.push_back({addresses.at(ranges.size()), std::stoull(text),
                        std::stoull(text.substr(text.find(':') + 1))});
    }
    ARROW_ASSIGN_OR_RAISE(buffers, reader->ReadRanges(context, ranges));
  } else if (Option(arguments, "take")) {
    ARROW_ASSIGN_OR_RAISE(auto blobs, reader->Take(context, addresses));
    for (size_t i = 0; i < blobs.size(); ++i) {
      if (blobs[i] == nullptr) continue;
      ARROW_ASSIGN_OR_RAISE(buffers[i], blobs[i]->ReadAll(context));
    }
  } else {
    ARROW_ASSIGN_OR_RAISE(buffers, reader->Read(context, addresses));
  }
  arrow::LargeBinaryBuilder builder;
  for (const auto& buffer : buffers) {
    ARROW_RETURN_NOT_OK(buffer == nullptr ? builder.AppendNull()
                                          : builder.Append(std::string_view(*buffer)));
  }
  ARROW_ASSIGN_OR_RAISE(auto column, builder.Finish());
  auto schema = arrow::schema({arrow::field("blob", column->type())});
  return WriteStream(arguments[4], schema,
                     {arrow::RecordBatch::Make(schema, column->length(), {column})});
}

Status Count(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, OpenDataset(context, arguments));
  ARROW_ASSIGN_OR_RAISE(uint64_t rows, dataset->CountRows(context));
  std::cout << rows << "\n";
  return Status::OK();
}

Status Versions(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, OpenDataset(context, arguments));
  ARROW_ASSIGN_OR_RAISE(auto versions, dataset->Versions(context));
  for (const VersionInfo& info : versions) {
    std::cout << info.version << " " << info.timestamp_nanos << " " << info.num_rows << " "
              << info.operation << "\n";
  }
  return Status::OK();
}

/// Appends single rows in step with other processes: the data file is written at "prepare", so that
/// "commit" is the commit alone.
Status Race(const Context& context, const Arguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(arguments[1]));
  Transaction append;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.starts_with("prepare ")) {
      ARROW_ASSIGN_OR_RAISE(auto dataset, Dataset::Open(context, store));
      ARROW_ASSIGN_OR_RAISE(
          auto id, arrow::MakeArrayFromScalar(arrow::Int64Scalar(std::stoll(line.substr(8))), 1));
      auto batch = arrow::RecordBatch::Make(dataset->arrow_schema(), 1, {id});
      ARROW_ASSIGN_OR_RAISE(auto writer,
                            AppendWriter::Open(context, store, dataset->manifest().schema()));
      ARROW_RETURN_NOT_OK(writer->Write(*batch));
      ARROW_ASSIGN_OR_RAISE(std::vector<Fragment> fragments, writer->Finish());
      append = NewTransaction(context, dataset->manifest().version(),
                              AppendOperation{std::move(fragments)}, writer->new_objects());
      std::cout << "ready" << std::endl;
    } else {
      CommitOptions options;
      options.max_attempts = 100;
      Result<CommitResult> result = Commit(context, store, append, options);
      if (result.ok()) {
        std::cout << "done " << result->version << " " << result->lost_attempts << std::endl;
      } else {
        std::cout << (IsCommitStateUnknown(result.status()) ? "unknown " : "failed ")
                  << ErrorText(result.status()) << std::endl;
      }
    }
  }
  return Status::OK();
}

int Main(const Arguments& arguments) {
  static const std::map<std::string, std::function<Status(const Context&, const Arguments&)>>
      steps = {{"create", Create}, {"append", Append}, {"scan", Scan},         {"take", Take},
               {"count", Count},   {"race", Race},     {"versions", Versions}, {"blobs", Blobs}};
  auto step = steps.find(arguments.empty() ? "" : arguments[0]);
  if (step == steps.end()) {
    std::cerr << "usage: see the head of table_main.cc\n";
    return 2;
  }
  Status status = step->second(Context(), arguments);
  if (status.ok()) return 0;
  std::cerr << ErrorCodeName(CodeOf(status)) << ": " << ErrorText(status) << "\n";
  return IsCommitStateUnknown(status) ? 3 : 1;
}

}  // namespace
}  // namespace lake::table

int main(int argc, char** argv) {
  return lake::table::Main(std::vector<std::string>(argv + 1, argv + argc));
}
