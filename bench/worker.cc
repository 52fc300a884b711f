#include "bench/worker.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include <arrow/compute/expression.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "lake/base/unique_fd.h"
#include "lake/storage/local_store.h"
#include "lake/table/batch_stream.h"
#include "lake/table/blobs.h"

namespace lake::bench {

namespace {

namespace cp = arrow::compute;

constexpr size_t kPreadBytes = 8 << 20;
constexpr char kBlobColumn[] = "blob";
constexpr uint64_t kBlobBytes = 1 << 20;

/// Runs `task(thread)` on `count` threads; the first error.
template <typename Task>
Status OnThreads(int count, Task task) {
  std::vector<Status> statuses(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&, i] { statuses[i] = task(i); });
  for (std::thread& thread : threads) thread.join();
  for (Status& status : statuses) ARROW_RETURN_NOT_OK(std::move(status));
  return Status::OK();
}

/// Reads and drops all batches, each on the thread that decoded it.
Result<Answer> Drain(const Context& context, table::Scanner* scanner) {
  std::atomic<int64_t> rows{0};
  ARROW_RETURN_NOT_OK(
      table::ForEachBatch(context, scanner, [&](std::shared_ptr<arrow::RecordBatch> batch) {
        rows += batch->num_rows();
        return Status::OK();
      }));
  return Answer{.rows = rows};
}

}  // namespace

cp::Expression ParseFilter(const std::string& text) {
  const size_t at = text.find_first_of("<=");
  const cp::Expression column = cp::field_ref(text.substr(0, at));
  const cp::Expression number = cp::literal(static_cast<int64_t>(std::stoll(text.substr(at + 1))));
  return text.at(at) == '<' ? cp::less(column, number) : cp::equal(column, number);
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

Result<std::unique_ptr<Worker>> Worker::Open(const std::string& data_dir, int threads) {
  auto worker = std::make_unique<Worker>();
  worker->threads_ = threads;
  ARROW_ASSIGN_OR_RAISE(worker->lakehouse_,
                        commit::Lakehouse::Open(worker->context_, {.data_dir = data_dir}));
  ARROW_ASSIGN_OR_RAISE(worker->engine_,
                        query::Engine::Open(worker->context_, worker->lakehouse_,
                                            {.threads = threads, .allow_local_files = true}));
  ARROW_ASSIGN_OR_RAISE(worker->session_,
                        worker->engine_->Connect(worker->context_, worker->principal_, {}));
  return worker;
}

Result<Answer> Worker::Run(const std::vector<std::string>& fields) {
  const std::string& operation = fields[0];
  if (operation == "load" && fields.size() == 3) return Load(fields[1], fields[2]);
  if (operation == "write" && fields.size() == 3) return Write(fields[1], fields[2]);
  if (operation == "sql" && fields.size() == 2) return Sql(fields[1]);
  if (operation == "open" && fields.size() == 2) return OpenAnew(fields[1]);
  if (operation == "scan" && fields.size() == 4) return Scan(fields[1], fields[2], fields[3]);
  if (operation == "count" && fields.size() == 3) return Count(fields[1], fields[2]);
  if (operation == "take" && fields.size() == 4) return Take(fields[1], fields[2], fields[3]);
  if (operation == "blobs" && fields.size() == 2) return Blobs(fields[1]);
  if (operation == "blob_ranges" && fields.size() == 4) {
    return BlobRanges(fields[1], fields[2], std::stoull(fields[3]));
  }
  if (operation == "append" && fields.size() == 3) return Append(fields[1], fields[2]);
  if (operation == "appends" && fields.size() == 5) {
    return Appends(fields[1], fields[2], std::stoi(fields[3]), std::stoi(fields[4]));
  }
  if (operation == "many" && fields.size() == 4) {
    return Many(fields[1], fields[2], std::stoi(fields[3]));
  }
  if (operation == "update" && fields.size() == 4) return Update(fields[1], fields[2], fields[3]);
  if (operation == "delete" && fields.size() == 3) return Delete(fields[1], fields[2]);
  if (operation == "merge" && fields.size() == 4) return Merge(fields[1], fields[2], fields[3]);
  if (operation == "compact" && fields.size() == 2) return Compact(fields[1]);
  if (operation == "pread" && fields.size() == 2) return Pread(fields[1]);
  if (operation == "sync" && fields.size() == 3) return Sync(fields[1], std::stoi(fields[2]));
  if (operation == "import" && fields.size() == 2) return Import(fields[1]);
  return Error(ErrorCode::kInvalidArgument, "unknown operation: {}", operation);
}

Result<std::shared_ptr<const commit::OpenTable>> Worker::OpenByName(const std::string& table) {
  const std::vector<std::string> name = Split(table, '.');
  return lakehouse_->OpenByName(context_, principal_, {name.at(0), name.at(1)},
                                catalog::NameMatch::kExact);
}

Result<std::shared_ptr<table::Dataset>> Worker::DatasetOf(const std::string& table) {
  std::shared_ptr<table::Dataset>& dataset = datasets_[table];
  if (dataset != nullptr) return dataset;
  if (table.find('/') != std::string::npos) {
    ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(table));
    ARROW_ASSIGN_OR_RAISE(dataset, table::Dataset::Open(context_, std::move(store)));
  } else {
    ARROW_ASSIGN_OR_RAISE(auto open, OpenByName(table));
    dataset = open->dataset;
  }
  return dataset;
}

Result<Answer> Worker::Load(const std::string& source, const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(path));
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::ipc::RecordBatchFileReader::Open(file));
  ARROW_ASSIGN_OR_RAISE(sources_[source], reader->ToTable());
  return Answer{.rows = sources_[source]->num_rows()};
}

Result<Answer> Worker::Write(const std::string& table, const std::string& source) {
  const std::vector<std::string> name = Split(table, '.');
  const std::shared_ptr<arrow::Table>& rows = sources_.at(source);
  ARROW_ASSIGN_OR_RAISE(
      auto write,
      lakehouse_->Create(context_, principal_, {name.at(0), name.at(1)}, *rows->schema(), {}, {}));
  arrow::TableBatchReader batches(*rows);
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, batches.Next());
    if (batch == nullptr) break;
    ARROW_RETURN_NOT_OK(write->Write(*batch));
  }
  ARROW_ASSIGN_OR_RAISE(const commit::CommitOutcome outcome, write->Commit(context_));
  return Answer{.rows = static_cast<int64_t>(outcome.num_rows)};
}

Result<Answer> Worker::Sql(const std::string& text) {
  ARROW_ASSIGN_OR_RAISE(auto statement, session_->Prepare(context_, text));
  ARROW_ASSIGN_OR_RAISE(auto stream, statement->Execute(context_, {}));
  Answer answer;
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto batch, stream->Next());
    if (batch == nullptr) return answer;
    answer.rows += batch->num_rows();
  }
}

Result<Answer> Worker::OpenAnew(const std::string& table) {
  datasets_.erase(table);
  ARROW_ASSIGN_OR_RAISE(auto dataset, DatasetOf(table));
  return Answer{.rows = static_cast<int64_t>(dataset->manifest().fragments().size())};
}

Result<Answer> Worker::Scan(const std::string& table, const std::string& columns,
                            const std::string& filter) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, DatasetOf(table));
  table::ScanOptions options;
  if (columns != "*") options.columns = Split(columns, ',');
  if (!filter.empty()) options.filter = ParseFilter(filter);
  ARROW_ASSIGN_OR_RAISE(auto scanner, dataset->Scan(context_, std::move(options)));
  return Drain(context_, scanner.get());
}

Result<Answer> Worker::Count(const std::string& table, const std::string& filter) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, DatasetOf(table));
  table::ScanOptions options;
  options.columns.emplace();
  options.filter = ParseFilter(filter);
  ARROW_ASSIGN_OR_RAISE(auto scanner, dataset->Scan(context_, std::move(options)));
  return Drain(context_, scanner.get());
}

Result<std::vector<table::RowAddress>> Worker::AddressesOf(const table::Dataset& dataset,
                                                           const std::string& indices) {
  const std::vector<table::Fragment>& fragments = dataset.manifest().fragments();
  std::vector<uint64_t> ends;
  uint64_t end = 0;
  for (const table::Fragment& fragment : fragments) ends.push_back(end += fragment.physical_rows);
  std::vector<table::RowAddress> addresses;
  for (const std::string& text : Split(indices, ',')) {
    const uint64_t index = std::stoull(text);
    const size_t i = std::upper_bound(ends.begin(), ends.end(), index) - ends.begin();
    if (i == ends.size()) {
      return Error(ErrorCode::kInvalidArgument, "the table has no row {}", index);
    }
    addresses.push_back(fragments[i].id << 32 | (index - (ends[i] - fragments[i].physical_rows)));
  }
  return addresses;
}

Result<Answer> Worker::Take(const std::string& table, const std::string& columns,
                            const std::string& indices) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, DatasetOf(table));
  ARROW_ASSIGN_OR_RAISE(const auto addresses, AddressesOf(*dataset, indices));
  std::vector<std::string> names =
      columns == "*" ? dataset->arrow_schema()->field_names() : Split(columns, ',');
  ARROW_ASSIGN_OR_RAISE(auto batch, dataset->Take(context_, addresses, names));
  return Answer{.rows = batch->num_rows()};
}

Result<Answer> Worker::Blobs(const std::string& table) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, DatasetOf(table));
  std::vector<table::RowAddress> addresses;
  for (const table::Fragment& fragment : dataset->manifest().fragments()) {
    for (uint64_t row = 0; row < fragment.physical_rows; ++row) {
      addresses.push_back(fragment.id << 32 | row);
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto reader, table::BlobReader::Open(dataset, kBlobColumn));
  ARROW_ASSIGN_OR_RAISE(const auto blobs, reader->Read(context_, addresses));
  Answer answer{.rows = static_cast<int64_t>(blobs.size())};
  for (const auto& blob : blobs) answer.bytes += static_cast<uint64_t>(blob->size());
  return answer;
}

Result<Answer> Worker::BlobRanges(const std::string& table, const std::string& indices,
                                  uint64_t length) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, DatasetOf(table));
  ARROW_ASSIGN_OR_RAISE(const auto addresses, AddressesOf(*dataset, indices));
  ARROW_ASSIGN_OR_RAISE(auto reader, table::BlobReader::Open(dataset, kBlobColumn));
  const std::vector<std::string> numbers = Split(indices, ',');
  for (size_t i = 0; i < addresses.size(); ++i) {
    const uint64_t offset = std::stoull(numbers[i]) * 65'537 % (kBlobBytes - length);
    const table::BlobRange range{addresses[i], offset, length};
    ARROW_RETURN_NOT_OK(reader->ReadRanges(context_, std::span(&range, 1)).status());
  }
  return Answer{.rows = static_cast<int64_t>(addresses.size())};
}

Result<Answer> Worker::Append(const std::string& table, const std::string& source) {
  arrow::TableBatchReader batches(*sources_.at(source));
  ARROW_ASSIGN_OR_RAISE(auto batch, batches.Next());
  ARROW_ASSIGN_OR_RAISE(auto open, OpenByName(table));
  ARROW_ASSIGN_OR_RAISE(auto write, lakehouse_->Append(context_, principal_, std::move(open), {}));
  ARROW_RETURN_NOT_OK(write->Write(*batch->Slice(0, 1)));
  ARROW_ASSIGN_OR_RAISE(const commit::CommitOutcome outcome, write->Commit(context_));
  return Answer{.rows = static_cast<int64_t>(outcome.num_rows)};
}

Result<Answer> Worker::Appends(const std::string& table, const std::string& source, int threads,
                               int count) {
  ARROW_RETURN_NOT_OK(OnThreads(threads, [&](int) -> Status {
    for (int done = 0; done < count;) {
      const Status status = Append(table, source).status();
      // What lost against the others too often is done again, in the time that is measured.
      if (CodeOf(status) == ErrorCode::kConflict) continue;
      ARROW_RETURN_NOT_OK(status);
      ++done;
    }
    return Status::OK();
  }));
  return Answer{.rows = int64_t{threads} * count};
}

Result<Answer> Worker::Pread(const std::string& table) {
  ARROW_ASSIGN_OR_RAISE(auto dataset, DatasetOf(table));
  struct Piece {
    std::shared_ptr<UniqueFd> file;
    uint64_t offset;
  };
  std::vector<Piece> pieces;
  for (const table::Fragment& fragment : dataset->manifest().fragments()) {
    for (const table::DataFile& file : fragment.files) {
      const std::string path = dataset->store()->description() + "/data/" + file.path;
      auto fd = std::make_shared<UniqueFd>(open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!fd->valid()) return Error(ErrorCode::kIo, "cannot open '{}'", path);
      for (uint64_t at = 0; at < file.size_bytes; at += kPreadBytes) pieces.push_back({fd, at});
    }
  }
  static std::vector<std::vector<char>> buffers;
  buffers.resize(threads_);
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> bytes{0};
  ARROW_RETURN_NOT_OK(OnThreads(threads_, [&](int thread) -> Status {
    buffers[thread].resize(kPreadBytes);
    for (size_t i; (i = next.fetch_add(1)) < pieces.size();) {
      const ssize_t got = pread(pieces[i].file->get(), buffers[thread].data(), kPreadBytes,
                                static_cast<off_t>(pieces[i].offset));
      if (got < 0) return Error(ErrorCode::kIo, "cannot read piece {}", i);
      bytes += static_cast<uint64_t>(got);
    }
    return Status::OK();
  }));
  return Answer{.bytes = bytes};
}

Result<Answer> Worker::Sync(const std::string& folder, int count) {
  ARROW_ASSIGN_OR_RAISE(auto store, storage::OpenLocalStore(folder));
  static int round = 0;
  ++round;
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) {
    keys.push_back(fmt::format("round-{}-{}", round, i));
    ARROW_RETURN_NOT_OK(
        store->Put(context_, keys.back(), std::string(4096, 'x'), storage::PutCondition::kNone));
  }
  ARROW_RETURN_NOT_OK(store->Sync(context_, keys, {}));
  return Answer{.rows = count};
}

Result<Answer> Worker::Import(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto stage, lakehouse_->StageFor(context_, principal_));
  ARROW_RETURN_NOT_OK(stage->UploadFile(context_, path, {}).status());
  return Answer{.rows = 1};
}

}  // namespace lake::bench
