#include "lake/format/file_writer.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/thread_pool.h"
#include "lake/format/block_cache.h"
#include "lake/format/column_metadata_internal.h"
#include "lake/format/encode_queue.h"
#include "lake/format/file_parts_internal.h"
#include "lake/format/leaf_path.h"
#include "lake/format/mini_block_encoder_internal.h"
#include "lake/format/packed_rows.h"
#include "lake/format/page_builder.h"
#include "lake/format/page_encoder_internal.h"
#include "lake/format/row_check.h"
#include "lake/format/row_levels.h"
#include "lake/format/stored_array.h"

namespace lake::format {
namespace {

constexpr uint64_t kSmallestPage = 64 * 1024;
// Upstream's own limit; its readers were not made for larger ones.
constexpr uint64_t kLargestPage = 32ull << 20;

// Fewer values are checked or copied before another thread is awake.
constexpr uint64_t kWorthThreads = 128 * 1024;
// Of fewer rows the buffers are the heap's, which keeps what is freed once for each thread that
// takes part: with thousands of columns more than the budget.
constexpr uint64_t kWorthThreadsRows = 16 * 1024;

// What a page that waits to be written takes beside its bytes.
constexpr uint64_t kTaskBytes = 4096;
// Offsets inside of a page have 32 bits.
constexpr uint64_t kMostRowBytes = (uint64_t{1} << 31) - 1;

// A column of the file: one leaf of the schema.
struct LeafColumn {
  LeafColumn(LeafPath path_arg, size_t most_levels, size_t usual_page_bytes)
      : path(std::move(path_arg)), builder(path.shape, most_levels, usual_page_bytes) {}

  const LeafPath path;
  PageBuilder builder;
  // Of rows with null or empty lists, the last time there were any; else 0.
  double levels_per_row = 0;
  // The metadata of the pages so far, encoded: a message takes many times the memory.
  std::string pages;
};

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
        version_(options.version),
        blocks_(options.max_buffered_bytes),
        queue_(CpuThreadPool()) {}

  Status Start();

  Status Write(const arrow::RecordBatch& batch) override;
  Result<uint64_t> WriteBytes(std::string_view bytes, bool continued) override;
  uint64_t num_rows() const override { return num_rows_; }
  uint64_t estimated_size() const override {
    return object_->position() + built_bytes_ + queue_.bytes();
  }
  Result<WrittenFile> Finish() override;

 private:
  Status AddLeaves();
  Result<std::vector<LeafRows>> CheckBatch(const arrow::RecordBatch& batch) const;
  Status ForEachLeaf(int64_t num_rows, const std::function<Status(size_t)>& task) const;
  Status AppendBatch(const std::vector<LeafRows>& rows);
  bool FitInMemory(const std::vector<LeafRows>& rows) const;
  Status AppendLeaf(LeafColumn* leaf, const LeafRows& rows, int64_t start);
  Status AppendRows(LeafColumn* leaf, const LeafRows& rows, int64_t start, int64_t* count) const;
  Status ClosePage(LeafColumn* leaf);
  Status WritePage(LeafColumn* leaf, PageMetadata metadata, EncodedPage* encoded);
  Status FinishQueued();
  /// Closes the largest pages until no more than `bytes` are being built.
  Status Relieve(uint64_t bytes);
  Status Reserve();
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
  const FileVersion version_;
  // Never moved: the tasks of the queue refer to them.
  std::deque<LeafColumn> leaves_;
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
  ARROW_ASSIGN_OR_RAISE(std::vector<LeafPath> paths, LeafPathsOf(schema_, version_));
  // Pages of very many columns are closed long before they are full.
  const uint64_t share = most_built_bytes_ / std::max<size_t>(paths.size(), 1);
  for (LeafPath& path : paths) {
    const size_t most_levels = MostChunkLevels(version_, path.levels.level_bits());
    leaves_.emplace_back(std::move(path), most_levels, std::min(page_bytes_, share));
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
Result<std::vector<LeafRows>> FileWriterImpl::CheckBatch(const arrow::RecordBatch& batch) const {
  if (batch.num_columns() != static_cast<int>(schema_.fields.size())) {
    return Error(ErrorCode::kInvalidArgument,
                 "rows have another number of columns than the file: {} instead of {}",
                 batch.num_columns(), schema_.fields.size());
  }
  arrow::ArrayVector columns;
  for (int i = 0; i < batch.num_columns(); ++i) {
    const Field& field = schema_.fields[i];
    if (batch.column(i)->length() != batch.num_rows()) {
      return Error(ErrorCode::kInvalidArgument,
                   "a column has another number of values than its batch has rows: column '{}', {} "
                   "instead of {}",
                   field.name, batch.column(i)->length(), batch.num_rows());
    }
    ARROW_RETURN_NOT_OK(CheckType(field, *batch.column(i)->type(), field.name));
    ARROW_RETURN_NOT_OK(CheckColumn(*batch.column(i), field.name));
    ARROW_ASSIGN_OR_RAISE(auto column,
                          ToStoredArray(field, batch.column(i), field.name, context_.pool()));
    columns.push_back(std::move(column));
  }
  std::vector<LeafRows> rows;
  rows.reserve(leaves_.size());
  for (const LeafColumn& leaf : leaves_) {
    rows.emplace_back(leaf.path, columns[leaf.path.top_level]);
  }
  ARROW_RETURN_NOT_OK(ForEachLeaf(batch.num_rows(), [&](size_t i) -> Status {
    const LeafPath& path = leaves_[i].path;
    ARROW_RETURN_NOT_OK(CheckLeaf(path, rows[i], num_rows_));
    if (path.shape.packed.empty()) return Status::OK();
    const LeafRows given(path, batch.column(static_cast<int>(path.top_level)));
    return CheckPackedRows(path, given, num_rows_);
  }));
  return rows;
}

// Runs `task` for the number of each leaf, on several threads if there are many rows.
Status FileWriterImpl::ForEachLeaf(int64_t num_rows,
                                   const std::function<Status(size_t)>& task) const {
  const auto rows = static_cast<uint64_t>(num_rows);
  if (rows < kWorthThreadsRows || rows < kWorthThreads / std::max<size_t>(leaves_.size(), 1)) {
    for (size_t i = 0; i < leaves_.size(); ++i) ARROW_RETURN_NOT_OK(task(i));
    return Status::OK();
  }
  return ParallelFor(CpuThreadPool(), leaves_.size(), [&](size_t i) -> Status {
    try {
      return task(i);
    } catch (const std::bad_alloc&) {
      return OutOfMemory(key_);
    }
  });
}

// Adds some of the `*count` rows from `start` to the page that is built, and says how many: 0 if
// the page has to be closed first. Touches nothing but the leaf.
Status FileWriterImpl::AppendRows(LeafColumn* leaf, const LeafRows& rows, int64_t start,
                                  int64_t* count) const {
  PageBuilder& builder = leaf->builder;
  *count = builder.RowsThatFit(rows, start, start + *count, page_bytes_);
  if (*count == 1 && builder.BytesOf(rows, start, start + 1) > kMostRowBytes) {
    return Error(ErrorCode::kUnsupported,
                 "a row of 2 GiB or more is not written: column '{}', row {}", leaf->path.path,
                 num_rows_ + start);
  }
  // What will not fit is not built only to be thrown away.
  const auto special_room = static_cast<double>(builder.LevelRoom(/*specials=*/true));
  if (leaf->levels_per_row != 0 && special_room >= leaf->levels_per_row) {
    *count = std::min(*count, static_cast<int64_t>(special_room / leaf->levels_per_row));
  }
  while (*count != 0) {
    const RowLevels levels = rows.Build(start, *count);
    if (levels.has_specials()) {
      leaf->levels_per_row = static_cast<double>(levels.codes.size()) / static_cast<double>(*count);
    }
    const size_t room = builder.LevelRoom(levels.has_specials());
    if (levels.codes.size() <= room || (*count == 1 && builder.empty())) {
      builder.Append(rows.leaf(), levels, *count);
      return Status::OK();
    }
    // As many as will probably fit, but no small rest of a page.
    const bool full = !builder.empty() && (*count == 1 || room < levels.codes.size() / 2);
    const double part = static_cast<double>(room) / static_cast<double>(levels.codes.size());
    *count =
        full ? 0
             : std::clamp<int64_t>(static_cast<int64_t>(part * 0.98 * static_cast<double>(*count)),
                                   1, *count - 1);
  }
  return Status::OK();
}

// Whether the rows leave enough room for all columns to take theirs before a page is closed.
bool FileWriterImpl::FitInMemory(const std::vector<LeafRows>& rows) const {
  uint64_t bytes = built_bytes_;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    bytes += leaves_[i].builder.BytesOf(rows[i], 0, rows[i].num_rows());
  }
  return bytes <= most_built_bytes_;
}

Status FileWriterImpl::AppendBatch(const std::vector<LeafRows>& rows) {
  // First each column takes what fits into its page, side by side; then pages are closed in turn.
  std::vector<int64_t> taken(leaves_.size(), 0);
  if (FitInMemory(rows)) {
    const int64_t num_rows = rows.empty() ? 0 : rows[0].num_rows();
    const Status status = ForEachLeaf(num_rows, [&](size_t i) -> Status {
      taken[i] = num_rows;
      return num_rows == 0 ? Status::OK() : AppendRows(&leaves_[i], rows[i], 0, &taken[i]);
    });
    built_bytes_ = 0;
    for (const LeafColumn& leaf : leaves_) built_bytes_ += leaf.builder.MemoryUse();
    ARROW_RETURN_NOT_OK(status);
  }
  for (size_t i = 0; i < leaves_.size(); ++i) {
    ARROW_RETURN_NOT_OK(AppendLeaf(&leaves_[i], rows[i], taken[i]));
  }
  return Status::OK();
}

Status FileWriterImpl::AppendLeaf(LeafColumn* leaf, const LeafRows& rows, int64_t start) {
  const int64_t end = rows.num_rows();
  while (start < end) {
    int64_t count = end - start;
    const uint64_t before = leaf->builder.MemoryUse();
    ARROW_RETURN_NOT_OK(AppendRows(leaf, rows, start, &count));
    built_bytes_ += leaf->builder.MemoryUse() - before;
    if (count == 0) {
      ARROW_RETURN_NOT_OK(ClosePage(leaf));
      continue;
    }
    start += count;
    if (built_bytes_ >= most_built_bytes_) {
      ARROW_RETURN_NOT_OK(Relieve(most_built_bytes_ / 2));
    }
  }
  return Status::OK();
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
  work->metadata.num_rows = work->page.num_rows * leaf->path.slots_per_row;
  work->metadata.first_row = work->page.first_row;
  // What has ended is written at once: the next pages take its memory while that is warm.
  while (!queue_.empty() &&
         (queue_.bytes() + bytes > most_queued_bytes_ || queue_.oldest_has_ended())) {
    ARROW_RETURN_NOT_OK(queue_.FinishOldest());
  }
  queue_.Submit(
      bytes,
      [work, &path = leaf->path] {
        auto encoded = EncodePage(path.shape, path.levels, path.encoding, std::move(work->page));
        if (!encoded.ok()) {
          return WithContext(encoded.status(), fmt::format("column '{}'", path.path));
        }
        work->encoded = *std::move(encoded);
        return Status::OK();
      },
      [this, work, leaf] { return WritePage(leaf, std::move(work->metadata), &work->encoded); });
  return Status::OK();
}

Status FileWriterImpl::WritePage(LeafColumn* leaf, PageMetadata metadata, EncodedPage* encoded) {
  metadata.layout = std::move(encoded->layout);
  for (ByteBuffer& buffer : encoded->buffers) {
    ARROW_ASSIGN_OR_RAISE(const ByteRange range, WriteBuffer(object_.get(), buffer.view()));
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
  ARROW_ASSIGN_OR_RAISE(const std::vector<LeafRows> rows, CheckBatch(batch));
  failed_ = [&] {
    ARROW_RETURN_NOT_OK(AppendBatch(rows));
    return Reserve();
  }();
  ARROW_RETURN_NOT_OK(failed_);
  num_rows_ += batch.num_rows();
  return Status::OK();
} catch (const std::bad_alloc&) {
  failed_ = OutOfMemory(key_);
  return failed_;
}

Result<uint64_t> FileWriterImpl::WriteBytes(std::string_view bytes, bool continued) {
  ARROW_RETURN_NOT_OK(failed_);
  uint64_t position = object_->position();
  if (continued) {
    failed_ = object_->Write(bytes);
  } else {
    const Result<ByteRange> range = WriteBuffer(object_.get(), bytes);
    failed_ = range.status();
    if (range.ok()) position = range->offset;
  }
  ARROW_RETURN_NOT_OK(failed_);
  return position;
}

Result<WrittenFile> FileWriterImpl::WriteEnd() {
  for (LeafColumn& leaf : leaves_) ARROW_RETURN_NOT_OK(ClosePage(&leaf));
  ARROW_RETURN_NOT_OK(FinishQueued());
  ARROW_RETURN_NOT_OK(reservation_.Resize(0));

  WrittenFile file;
  std::vector<std::string_view> encoded_pages;
  for (const LeafColumn& leaf : leaves_) {
    encoded_pages.push_back(leaf.pages);
    file.field_ids.push_back(leaf.path.field->id);
    file.column_indices.push_back(static_cast<int32_t>(file.column_indices.size()));
  }
  ARROW_RETURN_NOT_OK(
      WriteFileEnd(object_.get(), schema_, num_rows_, version_, encoded_pages, key_));

  file.key = key_;
  file.num_rows = num_rows_;
  file.size_bytes = object_->position();
  file.version = version_;
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
