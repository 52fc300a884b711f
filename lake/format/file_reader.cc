#include "lake/format/file_reader.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

#include "lake/base/checked.h"
#include "lake/format/column_metadata_internal.h"
#include "lake/format/container.h"
#include "lake/format/file_directory.h"
#include "lake/format/load_columns_internal.h"
#include "lake/format/metadata_cache.h"
#include "lake/format/read_call_internal.h"
#include "lake/format/v20_reader_internal.h"

namespace lake::format {
namespace {

// Read at once from the end of a file: mostly the footer, the tables and all column metadata lie in
// it.
constexpr uint64_t kTailBytes = 64 << 10;

class DecodedRows : public FetchedRows {
 public:
  explicit DecodedRows(std::shared_ptr<arrow::RecordBatch> batch) : batch_(std::move(batch)) {}

  uint64_t bytes() const override {
    return static_cast<uint64_t>(arrow::util::TotalBufferSize(*batch_));
  }
  Result<std::shared_ptr<arrow::RecordBatch>> Decode() override { return batch_; }

 private:
  const std::shared_ptr<arrow::RecordBatch> batch_;
};

class FileReaderImpl;

class FetchedRowsImpl : public FetchedRows {
 public:
  FetchedRowsImpl(std::shared_ptr<FileReaderImpl> reader, std::unique_ptr<ReadCall> call)
      : reader_(std::move(reader)), call_(std::move(call)) {}

  uint64_t bytes() const override { return call_->fetched_bytes(); }
  Result<std::shared_ptr<arrow::RecordBatch>> Decode() override { return call_->Decode(); }

 private:
  // The call refers to it.
  const std::shared_ptr<FileReaderImpl> reader_;
  const std::unique_ptr<ReadCall> call_;
};

class FileReaderImpl : public FileReader, public std::enable_shared_from_this<FileReaderImpl> {
 public:
  explicit FileReaderImpl(FileSource source) : source_(std::move(source)) {}

  Status Load(const Context& context, std::optional<uint64_t> file_size);

  FileVersion version() const override { return source_.version; }
  uint64_t num_rows() const override { return num_rows_; }
  int num_columns() const override { return static_cast<int>(column_table_.size()); }
  uint64_t file_size() const override { return file_size_; }
  size_t MemoryUse() const override {
    return sizeof(*this) + column_table_.capacity() * sizeof(ByteRange) +
           schema_.fields.size() * sizeof(Field) +
           (tail_ == nullptr ? 0 : static_cast<size_t>(tail_->size()));
  }
  const Schema& schema() const override { return schema_; }

  Result<std::vector<ColumnRequest>> AllColumns() const override;
  Result<std::shared_ptr<arrow::RecordBatch>> Read(const Context& context,
                                                   std::span<const ColumnRequest> columns,
                                                   const RowSelection& selection) override;
  Result<std::unique_ptr<FetchedRows>> Fetch(const Context& context,
                                             std::span<const ColumnRequest> columns,
                                             const RowSelection& selection) override;
  Result<uint64_t> EstimateBytes(const Context& context, std::span<const ColumnRequest> columns,
                                 uint64_t count) override;
  Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadRanges(
      const Context& context, std::span<const storage::ByteRange> ranges) override;

 private:
  // Bytes of the file, from the tail where they lie in it.
  Result<std::shared_ptr<arrow::Buffer>> GetRange(const Context& context, ByteRange range) const;
  Status ReadTail(const Context& context, bool size_is_claimed);
  Status CheckSelection(const RowSelection& selection) const;
  Result<std::vector<std::shared_ptr<const ColumnMetadata>>> LoadColumns(
      const Context& context, std::span<const uint32_t> columns);

  FileSource source_;
  uint64_t file_size_ = 0;
  uint64_t num_rows_ = 0;
  // Where the buffers of pages must end.
  uint64_t data_end_ = 0;
  Schema schema_;
  std::vector<ByteRange> column_table_;
  uint64_t tail_start_ = 0;
  std::shared_ptr<arrow::Buffer> tail_;
  FileCache<ColumnMetadata> metadata_;
  PageStateCache states_;
  // Reads the columns of a 2.0 file, whose pages are of another kind.
  std::unique_ptr<V20Reader> v20_;
};

Status FileReaderImpl::ReadTail(const Context& context, bool size_is_claimed) {
  // FileDirectory::Load says that this is no file.
  if (file_size_ < kFooterSize) return Status::OK();
  tail_start_ = file_size_ - std::min(file_size_, kTailBytes);
  auto tail = source_.store->Get(context, source_.key, {tail_start_, file_size_ - tail_start_});
  if (!tail.ok() && size_is_claimed && CodeOf(tail.status()) == ErrorCode::kInvalidArgument) {
    return Error(ErrorCode::kCorrupt,
                 "a Lance file is shorter than its table says: it should have {} bytes: '{}'",
                 file_size_, source_.key);
  }
  ARROW_RETURN_NOT_OK(tail.status());
  tail_ = *std::move(tail);
  if (static_cast<uint64_t>(tail_->size()) != file_size_ - tail_start_) {
    return Error(ErrorCode::kIo, "the store gave {} bytes of {}: '{}'", tail_->size(),
                 file_size_ - tail_start_, source_.key);
  }
  return Status::OK();
}

Status FileReaderImpl::Load(const Context& context, std::optional<uint64_t> file_size) {
  if (file_size) {
    file_size_ = *file_size;
  } else {
    ARROW_ASSIGN_OR_RAISE(const auto info, source_.store->Head(context, source_.key));
    file_size_ = info.size;
  }
  ARROW_RETURN_NOT_OK(ReadTail(context, file_size.has_value()));
  ARROW_ASSIGN_OR_RAISE(FileDirectory directory,
                        FileDirectory::Load(file_size_, source_.key, [&](ByteRange range) {
                          return GetRange(context, range);
                        }));
  source_.version = directory.version;
  data_end_ = directory.data_end;
  num_rows_ = directory.num_rows;
  schema_ = std::move(directory.schema);
  column_table_ = std::move(directory.columns);
  // The tail is worth its memory only while column metadata comes from it.
  if (directory.footer.column_metadata_start < tail_start_) tail_ = nullptr;
  if (source_.version == kFileVersion20) {
    v20_ = std::make_unique<V20Reader>(source_, column_table_, data_end_, num_rows_, tail_,
                                       tail_start_);
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::Buffer>> FileReaderImpl::GetRange(const Context& context,
                                                                ByteRange range) const {
  if (tail_ != nullptr && range.offset >= tail_start_) {
    return arrow::SliceBuffer(tail_, static_cast<int64_t>(range.offset - tail_start_),
                              static_cast<int64_t>(range.length));
  }
  return source_.store->Get(context, source_.key, range);
}

Result<std::vector<ColumnRequest>> FileReaderImpl::AllColumns() const {
  std::vector<ColumnRequest> requests;
  int next_column = 0;
  for (const Field& field : schema_.fields) {
    const auto arrow_field = ToArrow(field);
    if (!arrow_field.ok()) {
      return WithContext(
          arrow_field.status(),
          fmt::format("Lance {} file '{}'", source_.version.ToString(), source_.key));
    }
    ColumnRequest request;
    request.field = field;
    for (size_t i = 0; i < Schema::ColumnIds(field, source_.version).size(); ++i) {
      request.columns.push_back(next_column++);
    }
    requests.push_back(std::move(request));
  }
  if (next_column != num_columns()) {
    return Error(ErrorCode::kCorrupt,
                 "schema of a Lance file asks for {} columns, the file has {}: '{}'", next_column,
                 num_columns(), source_.key);
  }
  return requests;
}

Result<std::vector<std::shared_ptr<const ColumnMetadata>>> FileReaderImpl::LoadColumns(
    const Context& context, std::span<const uint32_t> columns) {
  return format::LoadColumns(context, source_, column_table_, {tail_, tail_start_}, columns,
                             &metadata_, [this](std::string_view bytes) {
                               return ColumnMetadata::DecodeFrom(bytes, data_end_, num_rows_);
                             });
}

Status FileReaderImpl::CheckSelection(const RowSelection& selection) const {
  if (!selection.empty() && selection.ranges().back().end() > num_rows_) {
    return Error(ErrorCode::kInvalidArgument, "rows up to {} of a file of {} are asked for: '{}'",
                 selection.ranges().back().end(), num_rows_, source_.key);
  }
  if (selection.num_rows() > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    return Error(ErrorCode::kInvalidArgument, "too many rows at once are asked for: {} of '{}'",
                 selection.num_rows(), source_.key);
  }
  return Status::OK();
}

Result<std::unique_ptr<FetchedRows>> FileReaderImpl::Fetch(const Context& context,
                                                           std::span<const ColumnRequest> columns,
                                                           const RowSelection& selection) {
  ARROW_RETURN_NOT_OK(context.Check());
  ARROW_RETURN_NOT_OK(CheckSelection(selection));
  if (v20_ != nullptr) {
    ARROW_ASSIGN_OR_RAISE(auto batch, v20_->Read(context, columns, selection));
    return std::make_unique<DecodedRows>(std::move(batch));
  }
  auto call = std::make_unique<ReadCall>(context, source_, &states_, selection);
  for (const ColumnRequest& request : columns) ARROW_RETURN_NOT_OK(call->AddField(request));
  ARROW_ASSIGN_OR_RAISE(const auto metadata, LoadColumns(context, call->Columns()));
  ARROW_RETURN_NOT_OK(call->Fetch(metadata));
  return std::make_unique<FetchedRowsImpl>(shared_from_this(), std::move(call));
}

Result<std::shared_ptr<arrow::RecordBatch>> FileReaderImpl::Read(
    const Context& context, std::span<const ColumnRequest> columns, const RowSelection& selection) {
  ARROW_ASSIGN_OR_RAISE(auto rows, Fetch(context, columns, selection));
  return rows->Decode();
}

// Bytes that a value of `page` takes in memory, in 1/256; only what the metadata tells.
uint64_t EstimateValueSize(const PageMetadata& page, const LeafType& type) {
  if (type.is_packed()) {
    uint64_t size = 0;
    for (const LeafType& part : type.parts) size += EstimateValueSize(page, part);
    return size;
  }
  if (type.kind != LeafType::Kind::kVariable) return type.value_bits() * 32 + 32;
  uint64_t bytes = 0;
  uint64_t values = std::max<uint64_t>(page.num_rows, 1);
  const uint64_t offset = type.offset_bits / 8;
  if (page.layout.has_mini_block() && page.layout.mini_block().has_dictionary() &&
      page.buffers.size() > 2) {
    values = std::max<uint64_t>(page.layout.mini_block().num_dictionary_items(), 1);
    bytes = page.buffers[2].length;
  } else if (page.layout.has_constant()) {
    return (offset + (page.buffers.empty() ? 32 : page.buffers[0].length)) * 256;
  } else if (!page.buffers.empty()) {
    bytes = page.buffers[page.layout.has_mini_block() && page.buffers.size() > 1 ? 1 : 0].length;
    if (page.layout.has_mini_block())
      values = std::max<uint64_t>(page.layout.mini_block().num_items(), 1);
  }
  // Text is mostly stored at half its size.
  return offset * 256 + std::min<uint64_t>(bytes, uint64_t{1} << 48) * 2 / values * 256 + 512;
}

// Values of a page of lists; of any other page as many as it has rows.
uint64_t NumValues(const PageMetadata& page) {
  switch (page.layout.layout_case()) {
    case pb::PageLayout::kMiniBlock:
      return page.layout.mini_block().num_items();
    case pb::PageLayout::kFullZip:
      return page.layout.full_zip().num_visible_items();
    case pb::PageLayout::kConstant:
      // Levels of 16 bits where they are stored plainly.
      return std::max(
          {page.num_rows, page.layout.constant().num_rep_values(),
           page.buffers.size() > 1 ? page.buffers[page.buffers.size() - 2].length / 2 : 0});
    default:
      return page.num_rows;
  }
}

// Bytes that a row of the file takes in memory, in 1/256, by what `page` tells of one of its
// columns.
uint64_t EstimateRowSize(const PageMetadata& page, const LeafColumn& leaf) {
  const uint64_t value = EstimateValueSize(page, leaf.type);
  if (!leaf.nesting.has_lists()) {
    return CheckedMul(value, leaf.slots_per_row).value_or(uint64_t{1} << 60);
  }
  // Nothing has checked the number of values yet.
  const uint64_t values =
      std::min(NumValues(page) / std::max<uint64_t>(page.num_rows, 1), uint64_t{1} << 60) + 1;
  const uint64_t lists = leaf.nesting.num_lists() * 16 * 256;
  return CheckedMul(value + lists, values).value_or(uint64_t{1} << 60);
}

Result<uint64_t> FileReaderImpl::EstimateBytes(const Context& context,
                                               std::span<const ColumnRequest> columns,
                                               uint64_t count) {
  if (v20_ != nullptr) return v20_->EstimateBytes(context, columns, count);
  const RowSelection none;
  uint64_t total = 0;
  for (const ColumnRequest& request : columns) {
    ReadCall call(context, source_, &states_, none);
    ARROW_RETURN_NOT_OK(call.AddField(request));
    ARROW_ASSIGN_OR_RAISE(const auto metadata, LoadColumns(context, call.Columns()));
    const auto leaves = call.PresentLeaves();
    for (size_t i = 0; i < metadata.size(); ++i) {
      uint64_t largest = 0;
      for (const PageMetadata& page : metadata[i]->pages) {
        largest = std::max(largest, EstimateRowSize(page, *leaves[i]));
      }
      total += CheckedMul(largest, count).value_or(uint64_t{1} << 60) / 256;
      total = std::min(total, uint64_t{1} << 60);
    }
  }
  return total;
}

Result<std::vector<std::shared_ptr<arrow::Buffer>>> FileReaderImpl::ReadRanges(
    const Context& context, std::span<const storage::ByteRange> ranges) {
  for (const ByteRange& range : ranges) {
    if (RangeFits(range.offset, range.length, data_end_)) continue;
    return Error(ErrorCode::kCorrupt, "{} bytes at {} lie behind the data of a file, {}: '{}'",
                 range.length, range.offset, data_end_, source_.key);
  }
  if (ranges.empty()) return std::vector<std::shared_ptr<arrow::Buffer>>();
  return source_.store->GetMany(context, source_.key, ranges);
}

}  // namespace

Result<std::unique_ptr<FetchedRows>> FileReader::Fetch(const Context& context,
                                                       std::span<const ColumnRequest> columns,
                                                       const RowSelection& selection) {
  ARROW_ASSIGN_OR_RAISE(auto batch, Read(context, columns, selection));
  return std::make_unique<DecodedRows>(std::move(batch));
}

Result<std::shared_ptr<FileReader>> FileReader::Open(const Context& context,
                                                     std::shared_ptr<storage::ObjectStore> store,
                                                     const std::string& key,
                                                     std::optional<uint64_t> file_size) {
  auto reader = std::make_shared<FileReaderImpl>(FileSource{std::move(store), key, FileVersion{}});
  ARROW_RETURN_NOT_OK(reader->Load(context, file_size));
  return reader;
}

}  // namespace lake::format
