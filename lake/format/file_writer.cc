#include "lake/format/file_writer.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/thread_pool.h"
#include "lake/format/block_cache.h"
#include "lake/format/column_metadata_internal.h"
#include "lake/format/container.h"
#include "lake/format/encode_queue.h"
#include "lake/format/page_builder.h"
#include "lake/format/page_encoder_internal.h"
#include "lake/format/row_check.h"
#include "lake/format/schema_internal.h"

namespace lake::format {
namespace {

constexpr uint64_t kSmallestPage = 64 * 1024;
// Upstream's own limit; its readers were not made for larger ones.
constexpr uint64_t kLargestPage = 32ull << 20;

// What a page that waits to be written takes beside its bytes.
constexpr uint64_t kTaskBytes = 4096;

// A column of the file: one leaf of the schema.
struct LeafColumn {
  LeafColumn(std::string path_arg, const ValueShape& type)
      : path(std::move(path_arg)), builder(type) {}

  std::string path;
  size_t top_level = 0;
  // Position in the struct; -1 for a leaf at the top level.
  int child = -1;
  int32_t field_id = -1;
  PageBuilder builder;
  // The metadata of the pages so far, encoded: a message takes many times the memory.
  std::string pages;
};

// An array with its struct around it, null if there is none.
struct LeafArray {
  std::shared_ptr<arrow::Array> values;
  const arrow::StructArray* parent = nullptr;
};

std::shared_ptr<arrow::Array> StorageOf(std::shared_ptr<arrow::Array> array) {
  while (array->type_id() == arrow::Type::EXTENSION) {
    array = static_cast<const arrow::ExtensionArray&>(*array).storage();
  }
  return array;
}

Status OutOfMemory(const std::string& key) {
  return Error(ErrorCode::kOutOfMemory, "no memory left to build pages of a file: '{}'", key);
}

class FileWriterImpl final : public FileWriter {
 public:
  FileWriterImpl(const Context& context, std::shared_ptr<storage::ObjectStore> store,
                 const std::string& key, Schema schema, const FileWriterOptions& options)
      : context_(context),
        store_(std::move(store)),
        key_(key),
        schema_(std::move(schema)),
        most_queued_bytes_(options.max_buffered_bytes / 4),
        most_built_bytes_(options.max_buffered_bytes - most_queued_bytes_),
        page_bytes_(std::min({options.target_page_bytes, kLargestPage,
                              std::max(options.max_buffered_bytes / 4, kSmallestPage)})),
        blocks_(most_queued_bytes_),
        queue_(CpuThreadPool()) {}

  Status Start();

  Status Write(const arrow::RecordBatch& batch) override;
  uint64_t num_rows() const override { return num_rows_; }
  uint64_t estimated_size() const override {
    return object_->position() + built_bytes_ + queue_.bytes();
  }
  Result<WrittenFile> Finish() override;

 private:
  Status AddLeaves();
  Result<std::vector<LeafArray>> CheckBatch(const arrow::RecordBatch& batch);
  Status AppendLeaf(LeafColumn* leaf, const LeafArray& array);
  Status ClosePage(LeafColumn* leaf);
  Status WritePage(LeafColumn* leaf, PageMetadata metadata, EncodedPage* encoded);
  Status FinishQueued();
  /// Closes the largest pages until no more than `bytes` are being built.
  Status Relieve(uint64_t bytes);
  Status Reserve();
  Result<ByteRange> WriteBuffer(std::string_view bytes);
  Result<WrittenFile> WriteEnd();

  const Context context_;
  // Outlives the object that is written to it.
  const std::shared_ptr<storage::ObjectStore> store_;
  const std::string key_;
  const Schema schema_;
  // Of what may be buffered, the part that is being encoded and the part still being built.
  const uint64_t most_queued_bytes_;
  const uint64_t most_built_bytes_;
  const uint64_t page_bytes_;
  std::vector<LeafColumn> leaves_;
  std::unique_ptr<storage::ObjectWriter> object_;
  MemoryReservation reservation_;
  uint64_t num_rows_ = 0;
  // What the builders hold. Counted by content, not by capacity: pages must not depend on what
  // memory happens to be recycled.
  uint64_t built_bytes_ = 0;
  // The first error after which the file cannot be completed.
  Status failed_;
  const BlockCache::Lease blocks_;
  // Last: its tasks refer to the leaves.
  EncodeQueue queue_;
};

Status FileWriterImpl::AddLeaves() {
  ARROW_RETURN_NOT_OK(CheckWritable(schema_));
  for (size_t i = 0; i < schema_.fields.size(); ++i) {
    const Field& field = schema_.fields[i];
    ARROW_ASSIGN_OR_RAISE(const auto arrow_field, ToArrow(field));
    const auto add = [&](const Field& leaf, const arrow::DataType& type, std::string path,
                         int child) {
      LeafColumn& column = leaves_.emplace_back(std::move(path), ValueShapeOf(type));
      column.top_level = i;
      column.child = child;
      column.field_id = leaf.id;
    };
    if (field.is_leaf()) {
      add(field, *arrow_field->type(), field.name, -1);
      continue;
    }
    for (size_t child = 0; child < field.children.size(); ++child) {
      const Field& leaf = field.children[child];
      add(leaf, *arrow_field->type()->field(static_cast<int>(child))->type(),
          field.name + "." + leaf.name, static_cast<int>(child));
    }
  }
  return Status::OK();
}

Status FileWriterImpl::Start() {
  ARROW_RETURN_NOT_OK(AddLeaves());
  ARROW_ASSIGN_OR_RAISE(reservation_, context_.memory->Reserve(0, "rows to be written"));
  ARROW_ASSIGN_OR_RAISE(object_,
                        store_->OpenWriter(context_, key_, storage::PutCondition::kIfAbsent));
  return Status::OK();
}

// Everything that can be wrong with the rows is found before the first of them is taken.
Result<std::vector<LeafArray>> FileWriterImpl::CheckBatch(const arrow::RecordBatch& batch) {
  if (batch.num_columns() != static_cast<int>(schema_.fields.size())) {
    return Error(ErrorCode::kInvalidArgument,
                 "rows have another number of columns than the file: {} instead of {}",
                 batch.num_columns(), schema_.fields.size());
  }
  for (int i = 0; i < batch.num_columns(); ++i) {
    const Field& field = schema_.fields[i];
    ARROW_RETURN_NOT_OK(CheckType(field, *batch.column(i)->type(), field.name));
  }
  std::vector<LeafArray> arrays;
  arrays.reserve(leaves_.size());
  for (const LeafColumn& leaf : leaves_) {
    const Field& top_level = schema_.fields[leaf.top_level];
    LeafArray array{StorageOf(batch.column(static_cast<int>(leaf.top_level)))};
    bool nullable = top_level.nullable;
    if (leaf.child >= 0) {
      ARROW_RETURN_NOT_OK(CheckRows(*array.values, nullptr, nullable, top_level.name, num_rows_));
      // The batch keeps the struct alive.
      array.parent = static_cast<const arrow::StructArray*>(array.values.get());
      array.values = StorageOf(array.parent->field(leaf.child));
      nullable = top_level.children[leaf.child].nullable;
    }
    ARROW_RETURN_NOT_OK(CheckRows(*array.values, array.parent, nullable, leaf.path, num_rows_));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

Status FileWriterImpl::AppendLeaf(LeafColumn* leaf, const LeafArray& array) {
  const int64_t end = array.values->length();
  for (int64_t start = 0; start < end;) {
    const int64_t count = leaf->builder.RowsThatFit(*array.values, start, end, page_bytes_);
    if (count == 0) {
      ARROW_RETURN_NOT_OK(ClosePage(leaf));
      continue;
    }
    const uint64_t before = leaf->builder.MemoryUse();
    leaf->builder.Append(*array.values, array.parent, start, count);
    built_bytes_ += leaf->builder.MemoryUse() - before;
    start += count;
    if (built_bytes_ >= most_built_bytes_) {
      ARROW_RETURN_NOT_OK(Relieve(most_built_bytes_ / 2));
    }
  }
  return Status::OK();
}

Result<ByteRange> FileWriterImpl::WriteBuffer(std::string_view bytes) {
  static constexpr std::string_view kPadding =
      "HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH";
  static_assert(kPadding.size() == kBufferAlignment && kPadding[0] == kPadByte);
  const uint64_t excess = object_->position() % kBufferAlignment;
  if (excess != 0) {
    ARROW_RETURN_NOT_OK(object_->Write(kPadding.substr(0, kBufferAlignment - excess)));
  }
  const ByteRange range{object_->position(), bytes.size()};
  ARROW_RETURN_NOT_OK(object_->Write(bytes));
  return range;
}

// Pages are encoded on several threads, but written in the order in which they are closed.
Status FileWriterImpl::ClosePage(LeafColumn* leaf) {
  if (leaf->builder.empty()) return Status::OK();
  ARROW_RETURN_NOT_OK(context_.Check());
  struct Work {
    PageData page;
    PageMetadata metadata;
    EncodedPage encoded;
  };
  auto work = std::make_shared<Work>();
  built_bytes_ -= leaf->builder.MemoryUse();
  const uint64_t bytes = leaf->builder.MemoryUse() + kTaskBytes;
  work->page = leaf->builder.Take();
  work->metadata.num_rows = work->page.num_rows;
  work->metadata.first_row = work->page.first_row;
  while (!queue_.empty() && queue_.bytes() + bytes > most_queued_bytes_) {
    ARROW_RETURN_NOT_OK(queue_.FinishOldest());
  }
  queue_.Submit(
      bytes,
      [work, type = leaf->builder.type(), in_struct = leaf->child >= 0] {
        ARROW_ASSIGN_OR_RAISE(work->encoded, EncodePage(type, in_struct, std::move(work->page)));
        return Status::OK();
      },
      [this, work, leaf] { return WritePage(leaf, std::move(work->metadata), &work->encoded); });
  return Status::OK();
}

Status FileWriterImpl::WritePage(LeafColumn* leaf, PageMetadata metadata, EncodedPage* encoded) {
  metadata.layout = std::move(encoded->layout);
  for (ByteBuffer& buffer : encoded->buffers) {
    ARROW_ASSIGN_OR_RAISE(const ByteRange range, WriteBuffer(buffer.view()));
    metadata.buffers.push_back(range);
    buffer = ByteBuffer();
  }
  return metadata.EncodeTo(&leaf->pages);
}

Status FileWriterImpl::Relieve(uint64_t bytes) {
  std::vector<LeafColumn*> by_size(leaves_.size());
  std::transform(leaves_.begin(), leaves_.end(), by_size.begin(),
                 [](LeafColumn& leaf) { return &leaf; });
  std::sort(by_size.begin(), by_size.end(), [](const LeafColumn* a, const LeafColumn* b) {
    return a->builder.MemoryUse() > b->builder.MemoryUse();
  });
  for (LeafColumn* leaf : by_size) {
    if (built_bytes_ <= bytes) break;
    ARROW_RETURN_NOT_OK(ClosePage(leaf));
  }
  return Status::OK();
}

Status FileWriterImpl::FinishQueued() {
  while (!queue_.empty()) ARROW_RETURN_NOT_OK(queue_.FinishOldest());
  return Status::OK();
}

Status FileWriterImpl::Reserve() {
  const Status status = reservation_.Resize(static_cast<int64_t>(built_bytes_ + queue_.bytes()));
  if (status.ok() || CodeOf(status) != ErrorCode::kOutOfMemory) return status;
  // Others need the memory more than we need large pages.
  ARROW_RETURN_NOT_OK(Relieve(0));
  ARROW_RETURN_NOT_OK(FinishQueued());
  return reservation_.Resize(static_cast<int64_t>(built_bytes_));
}

Status FileWriterImpl::Write(const arrow::RecordBatch& batch) try {
  ARROW_RETURN_NOT_OK(failed_);
  ARROW_RETURN_NOT_OK(context_.Check());
  ARROW_ASSIGN_OR_RAISE(const std::vector<LeafArray> arrays, CheckBatch(batch));
  failed_ = [&] {
    for (size_t i = 0; i < leaves_.size(); ++i) {
      ARROW_RETURN_NOT_OK(AppendLeaf(&leaves_[i], arrays[i]));
    }
    return Reserve();
  }();
  ARROW_RETURN_NOT_OK(failed_);
  num_rows_ += batch.num_rows();
  return Status::OK();
} catch (const std::bad_alloc&) {
  failed_ = OutOfMemory(key_);
  return failed_;
}

Result<WrittenFile> FileWriterImpl::WriteEnd() {
  for (LeafColumn& leaf : leaves_) ARROW_RETURN_NOT_OK(ClosePage(&leaf));
  ARROW_RETURN_NOT_OK(FinishQueued());
  ARROW_RETURN_NOT_OK(reservation_.Resize(0));

  pb::FileDescriptor descriptor;
  SchemaToMessage(schema_, descriptor.mutable_schema());
  descriptor.set_length(num_rows_);
  std::string bytes;
  if (!descriptor.AppendToString(&bytes)) {
    return Error(ErrorCode::kInvalidArgument,
                 "the schema cannot be serialized: is a name not UTF-8?, file '{}'", key_);
  }
  std::vector<ByteRange> global_buffers(1);
  ARROW_ASSIGN_OR_RAISE(global_buffers[0], WriteBuffer(bytes));

  FileFooter footer;
  footer.column_metadata_start = object_->position();
  WrittenFile file;
  std::vector<ByteRange> columns;
  for (const LeafColumn& leaf : leaves_) {
    bytes.clear();
    ARROW_RETURN_NOT_OK(ColumnMetadata::EncodeTo(leaf.pages, {}, &bytes));
    columns.push_back({object_->position(), bytes.size()});
    ARROW_RETURN_NOT_OK(object_->Write(bytes));
    file.field_ids.push_back(leaf.field_id);
    file.column_indices.push_back(static_cast<int32_t>(file.column_indices.size()));
  }
  bytes.clear();
  footer.column_table_start = object_->position();
  EncodeOffsetTable(columns, &bytes);
  footer.global_table_start = object_->position() + bytes.size();
  EncodeOffsetTable(global_buffers, &bytes);
  footer.num_global_buffers = static_cast<uint32_t>(global_buffers.size());
  footer.num_columns = static_cast<uint32_t>(columns.size());
  footer.major = kFileVersion22.major;
  footer.minor = kFileVersion22.minor;
  footer.EncodeTo(&bytes);
  ARROW_RETURN_NOT_OK(object_->Write(bytes));

  file.key = key_;
  file.num_rows = num_rows_;
  file.size_bytes = object_->position();
  file.version = kFileVersion22;
  ARROW_RETURN_NOT_OK(object_->Finish());
  return file;
}

Result<WrittenFile> FileWriterImpl::Finish() try {
  ARROW_RETURN_NOT_OK(failed_);
  Result<WrittenFile> file = WriteEnd();
  failed_ = file.ok() ? Error(ErrorCode::kInvalidArgument, "the file is finished: '{}'", key_)
                      : file.status();
  return file;
} catch (const std::bad_alloc&) {
  failed_ = OutOfMemory(key_);
  return failed_;
}

}  // namespace

Result<std::unique_ptr<FileWriter>> FileWriter::Open(const Context& context,
                                                     std::shared_ptr<storage::ObjectStore> store,
                                                     const std::string& key, Schema schema,
                                                     FileWriterOptions options) {
  auto writer =
      std::make_unique<FileWriterImpl>(context, std::move(store), key, std::move(schema), options);
  ARROW_RETURN_NOT_OK(writer->Start());
  return std::unique_ptr<FileWriter>(std::move(writer));
}

}  // namespace lake::format
