#include <algorithm>

#include <arrow/io/interfaces.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/service/folder_walk.h"
#include "lake/service/row_source.h"

namespace lake::service {
namespace {

Status Translate(const Status& status, const std::string& path) {
  if (status.ok() || CodeOf(status) == ErrorCode::kOutOfMemory) return status;
  ErrorCode code = status.IsNotImplemented() ? ErrorCode::kUnsupported : ErrorCode::kCorrupt;
  return Error(code, "cannot read the Arrow IPC data: '{}': {}", DisplayName(path),
               status.message());
}

arrow::ipc::IpcReadOptions ReadOptions(const Context& context) {
  arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = context.pool();
  options.use_threads = false;
  return options;
}

// Offsets and lengths in a message are whatever its writer put there.
Result<std::shared_ptr<arrow::RecordBatch>> Checked(std::shared_ptr<arrow::RecordBatch> batch,
                                                    const std::string& path) {
  if (batch != nullptr) ARROW_RETURN_NOT_OK(Translate(batch->ValidateFull(), path));
  return batch;
}

class IpcFileSource : public RowSource {
 public:
  IpcFileSource(std::string path, uint64_t file_size,
                std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader)
      : path_(std::move(path)),
        file_size_(file_size),
        reader_(std::move(reader)),
        schema_(reader_->schema()) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (next_ >= reader_->num_record_batches()) return nullptr;
    auto batch = reader_->ReadRecordBatch(next_++);
    ARROW_RETURN_NOT_OK(Translate(batch.status(), path_));
    return Checked(*std::move(batch), path_);
  }

  uint64_t bytes_read() const override {
    auto total = static_cast<uint64_t>(std::max(reader_->num_record_batches(), 1));
    return file_size_ / total * static_cast<uint64_t>(next_);
  }

 private:
  const std::string path_;
  const uint64_t file_size_;
  const std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  const std::shared_ptr<arrow::Schema> schema_;
  int next_ = 0;
};

class IpcStreamSource : public RowSource {
 public:
  IpcStreamSource(std::string path, std::shared_ptr<arrow::io::RandomAccessFile> file,
                  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader)
      : path_(std::move(path)),
        file_(std::move(file)),
        reader_(std::move(reader)),
        schema_(reader_->schema()) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    std::shared_ptr<arrow::RecordBatch> batch;
    ARROW_RETURN_NOT_OK(Translate(reader_->ReadNext(&batch), path_));
    return Checked(std::move(batch), path_);
  }

  uint64_t bytes_read() const override { return static_cast<uint64_t>(file_->Tell().ValueOr(0)); }

 private:
  const std::string path_;
  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
  const std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

Result<std::unique_ptr<RowSource>> OpenIpcFileSource(
    const Context& context, std::shared_ptr<arrow::io::RandomAccessFile> file,
    const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(int64_t size, file->GetSize());
  auto reader = arrow::ipc::RecordBatchFileReader::Open(file, ReadOptions(context));
  ARROW_RETURN_NOT_OK(Translate(reader.status(), path));
  return std::make_unique<IpcFileSource>(path, static_cast<uint64_t>(size), *std::move(reader));
}

Result<std::unique_ptr<RowSource>> OpenIpcStreamSource(
    const Context& context, std::shared_ptr<arrow::io::RandomAccessFile> file,
    const std::string& path) {
  // It was read by position before; a stream wants to know where it stands.
  ARROW_RETURN_NOT_OK(file->Seek(0));
  auto reader = arrow::ipc::RecordBatchStreamReader::Open(file, ReadOptions(context));
  ARROW_RETURN_NOT_OK(Translate(reader.status(), path));
  return std::make_unique<IpcStreamSource>(path, std::move(file), *std::move(reader));
}

}  // namespace lake::service
