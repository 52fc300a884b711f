#include <algorithm>
#include <exception>
#include <optional>

#include <arrow/io/interfaces.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include "lake/service/folder_walk.h"
#include "lake/service/row_source.h"

namespace lake::service {
namespace {

// What the column readers hold together, and what a batch takes: at most these, and less under a
// small budget.
constexpr int64_t kMaxBuffersBytes = 32 << 20;
constexpr int64_t kMinBufferBytes = 4 << 10;
constexpr int64_t kMaxBufferBytes = 1 << 20;
constexpr int64_t kMaxBatchBytes = 8 << 20;
constexpr int64_t kMaxBatchRows = 64 << 10;

Status BadParquet(const std::string& path, std::string_view reason) {
  return Error(ErrorCode::kCorrupt, "cannot read the Parquet file: '{}': {}", DisplayName(path),
               reason);
}

// Parquet's own code throws; nothing of that leaves this file.
template <typename Call>
auto Guarded(const std::string& path, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& error) {
    return BadParquet(path, error.what());
  }
}

Status Translate(const Status& status, const std::string& path) {
  if (status.ok() || CodeOf(status) == ErrorCode::kOutOfMemory) return status;
  if (status.IsNotImplemented()) {
    return Error(ErrorCode::kUnsupported, "cannot read the Parquet file: '{}': {}",
                 DisplayName(path), status.message());
  }
  return BadParquet(path, status.message());
}

class ParquetSource : public RowSource {
 public:
  explicit ParquetSource(std::string path) : path_(std::move(path)) {}

  Status Open(const Context& context, std::shared_ptr<arrow::io::RandomAccessFile> file) {
    ARROW_ASSIGN_OR_RAISE(int64_t file_size, file->GetSize());
    file_size_ = static_cast<uint64_t>(file_size);
    parquet::ReaderProperties properties(context.pool());
    std::unique_ptr<parquet::ParquetFileReader> footer =
        parquet::ParquetFileReader::Open(file, properties);
    std::shared_ptr<parquet::FileMetaData> metadata = footer->metadata();
    num_rows_ = static_cast<uint64_t>(std::max<int64_t>(metadata->num_rows(), 0));

    int64_t num_columns = std::max(metadata->num_columns(), 1);
    properties.enable_buffered_stream();
    properties.set_buffer_size(
        std::clamp(std::min(kMaxBuffersBytes, context.memory->limit() / 8) / num_columns,
                   kMinBufferBytes, kMaxBufferBytes));
    parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);
    arrow_properties.set_batch_size(
        BatchRows(*metadata, std::min(kMaxBatchBytes, context.memory->limit() / 16)));
    arrow_properties.set_pre_buffer(false);

    parquet::arrow::FileReaderBuilder builder;
    ARROW_RETURN_NOT_OK(builder.Open(file, properties, metadata));
    ARROW_ASSIGN_OR_RAISE(
        reader_, builder.memory_pool(context.pool())->properties(arrow_properties)->Build());
    ARROW_ASSIGN_OR_RAISE(batches_, reader_->GetRecordBatchReader());
    schema_ = batches_->schema();
    return Status::OK();
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    return Guarded(path_, [&]() -> Result<std::shared_ptr<arrow::RecordBatch>> {
      std::shared_ptr<arrow::RecordBatch> batch;
      ARROW_RETURN_NOT_OK(Translate(batches_->ReadNext(&batch), path_));
      if (batch == nullptr) {
        rows_read_ = num_rows_;
        return batch;
      }
      // The decoders do not look at the UTF-8 of strings.
      ARROW_RETURN_NOT_OK(Translate(batch->ValidateFull(), path_));
      rows_read_ += static_cast<uint64_t>(batch->num_rows());
      return batch;
    });
  }

  uint64_t bytes_read() const override {
    if (num_rows_ == 0) return file_size_;
    double share =
        static_cast<double>(std::min(rows_read_, num_rows_)) / static_cast<double>(num_rows_);
    return static_cast<uint64_t>(share * static_cast<double>(file_size_));
  }

 private:
  static int64_t BatchRows(const parquet::FileMetaData& metadata, int64_t batch_bytes) {
    int64_t bytes = 0;
    for (int i = 0; i < metadata.num_row_groups(); ++i) {
      bytes += std::max<int64_t>(metadata.RowGroup(i)->total_byte_size(), 0);
    }
    int64_t row_bytes = std::max<int64_t>(bytes / std::max<int64_t>(metadata.num_rows(), 1), 1);
    return std::clamp<int64_t>(batch_bytes / row_bytes, 64, kMaxBatchRows);
  }

  const std::string path_;
  uint64_t file_size_ = 0;
  uint64_t num_rows_ = 0;
  uint64_t rows_read_ = 0;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::Schema> schema_;
};

}  // namespace

Result<std::unique_ptr<RowSource>> OpenParquetSource(
    const Context& context, std::shared_ptr<arrow::io::RandomAccessFile> file,
    const std::string& path) {
  auto source = std::make_unique<ParquetSource>(path);
  ARROW_RETURN_NOT_OK(
      Guarded(path, [&]() -> Status { return Translate(source->Open(context, file), path); }));
  return source;
}

}  // namespace lake::service
