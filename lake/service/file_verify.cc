#include "lake/service/file_verify.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/mutex.h"
#include "lake/base/thread_pool.h"

namespace lake::service {
namespace {

constexpr size_t kBlockBytes = 1 << 20;
constexpr uint64_t kMorselRows = 8192;

// Errors that tell about this run and not about the value.
bool EndsTheRun(const Status& status) {
  if (status.ok()) return false;
  ErrorCode code = CodeOf(status);
  return code == ErrorCode::kCancelled || code == ErrorCode::kDeadlineExceeded ||
         code == ErrorCode::kOutOfMemory;
}

class Verification {
 public:
  Verification(const Context& context, objects::Stage* stage, const FileVerifyOptions& options)
      : context_(context), stage_(stage), options_(options) {}

  // Verifies column `index` of `batch`, whose last column holds the row addresses.
  Status VerifyColumn(const arrow::RecordBatch& batch, int index, ThreadPool* pool);

  void set_values_total(uint64_t total) { progress_.values_total = total; }
  const FileVerifyResult& result() const { return result_; }

 private:
  struct Value {
    int64_t row = 0;
    objects::DataLocation location;
    Status outcome;
  };

  Status ReadToEnd(const objects::DataLocation& location) LAKE_EXCLUDES(mutex_);
  void Advance(uint64_t values, uint64_t bytes) LAKE_EXCLUDES(mutex_);

  const Context& context_;
  objects::Stage* const stage_;
  const FileVerifyOptions& options_;
  FileVerifyResult result_;
  Mutex mutex_;
  FileVerifyProgress progress_;
};

Status Verification::VerifyColumn(const arrow::RecordBatch& batch, int index, ThreadPool* pool) {
  const auto& column = static_cast<const arrow::StructArray&>(*batch.column(index));
  std::vector<Value> values;
  for (int64_t row = 0; row < column.length(); ++row) {
    if (column.IsNull(row)) {
      ++result_.null_values;
      continue;
    }
    Value value{.row = row, .location = {}, .outcome = Status::OK()};
    Result<objects::DataLocation> location = objects::ReadDataLocation(column, row);
    if (location.ok()) {
      value.location = *std::move(location);
    } else {
      value.outcome = location.status();
    }
    values.push_back(std::move(value));
  }
  Advance(static_cast<uint64_t>(column.length()) - values.size(), 0);
  ARROW_RETURN_NOT_OK(ParallelFor(pool, values.size(), [&](size_t i) {
    if (values[i].outcome.ok()) values[i].outcome = ReadToEnd(values[i].location);
    Advance(1, 0);
    return EndsTheRun(values[i].outcome) ? values[i].outcome : Status::OK();
  }));

  const auto& addresses =
      static_cast<const arrow::UInt64Array&>(*batch.column(batch.num_columns() - 1));
  for (Value& value : values) {
    ++result_.values;
    if (value.outcome.ok()) {
      result_.bytes += value.location.size_bytes;
      continue;
    }
    ++result_.failures;
    if (options_.failure) {
      options_.failure({.column = batch.column_name(index),
                        .row_address = addresses.Value(value.row),
                        .location = std::move(value.location),
                        .reason = std::move(value.outcome)});
    }
  }
  return Status::OK();
}

Status Verification::ReadToEnd(const objects::DataLocation& location) {
  ARROW_ASSIGN_OR_RAISE(MemoryReservation reservation,
                        context_.memory->Reserve(kBlockBytes, "the buffer of a verification"));
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<objects::ByteReader> reader,
                        stage_->Open(context_, location));
  std::vector<uint8_t> block(std::clamp<uint64_t>(location.size_bytes, 1, kBlockBytes));
  while (true) {
    ARROW_ASSIGN_OR_RAISE(size_t count, reader->Read(block));
    if (count == 0) return Status::OK();
    Advance(0, count);
  }
}

void Verification::Advance(uint64_t values, uint64_t bytes) {
  MutexLock lock(&mutex_);
  progress_.values_done += values;
  progress_.bytes_done += bytes;
  if (options_.progress) options_.progress(progress_);
}

}  // namespace

Result<FileVerifyResult> VerifyFiles(const Context& context, objects::Stage* stage,
                                     const commit::OpenTable& table,
                                     const FileVerifyOptions& options) {
  table::ScanOptions scan;
  scan.columns.emplace();
  for (const auto& field : table.dataset->arrow_schema()->fields()) {
    if (objects::IsFileType(*field->type())) scan.columns->push_back(field->name());
  }
  size_t num_columns = scan.columns->size();
  if (num_columns == 0) {
    return Error(ErrorCode::kInvalidArgument, "the table has no FILE column to verify: {}",
                 table.entry.name.ToString());
  }
  scan.with_row_address = true;
  scan.morsel_rows = kMorselRows;

  Verification verification(context, stage, options);
  ARROW_ASSIGN_OR_RAISE(uint64_t num_rows, table.dataset->CountRows(context));
  verification.set_values_total(num_rows * num_columns);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<table::Scanner> scanner,
                        table.dataset->Scan(context, std::move(scan)));
  // Hashing is what takes the time.
  ThreadPool pool(std::max(1u, std::thread::hardware_concurrency()));
  for (size_t morsel = 0; morsel < scanner->num_morsels(); ++morsel) {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                          scanner->Read(context, morsel));
    if (batch == nullptr) break;
    for (size_t column = 0; column < num_columns; ++column) {
      ARROW_RETURN_NOT_OK(verification.VerifyColumn(*batch, static_cast<int>(column), &pool));
    }
  }
  return verification.result();
}

}  // namespace lake::service
