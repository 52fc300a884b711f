#include "lake/table/compaction.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include "lake/base/crash_point.h"
#include "lake/base/mutex.h"
#include "lake/base/thread_pool.h"
#include "lake/table/append_writer.h"
#include "lake/table/fragment_source.h"
#include "lake/table/page_copy_internal.h"
#include "lake/table/row_bytes.h"
#include "lake/table/row_id_sequence.h"

namespace lake::table {

namespace {

constexpr uint64_t kFirstReadRows = 1024;
constexpr uint64_t kMaxReadRows = 128 * 1024;
constexpr uint64_t kMaxReadBytes = 16ull << 20;
constexpr uint64_t kMinReadBytes = 1ull << 20;
constexpr uint64_t kMaxWriteBuffer = 128ull << 20;
constexpr uint64_t kMinWriteBuffer = 4ull << 20;

/// Rows of one fragment, as they lie in it.
struct Piece {
  const Fragment* fragment = nullptr;
  format::RowSelection rows;
};

/// One new file: rows of neighbouring fragments.
struct Output {
  size_t group = 0;
  std::vector<Piece> pieces;
  uint64_t num_rows = 0;
};

/// What one file became. More than one fragment only where a bound of bytes cut it.
struct Written {
  std::vector<Fragment> fragments;
  std::vector<std::string> new_objects;
  bool copied = false;
};

class Compactor {
 public:
  Compactor(const Context& context, const Dataset& dataset, const CompactionPlan& plan,
            const CompactionOptions& options,
            const std::function<void(const CompactionProgress&)>& progress)
      : context_(context),
        dataset_(dataset),
        plan_(plan),
        options_(options),
        report_(progress),
        source_(std::make_shared<FragmentSource>(dataset.bases(), dataset.shared_manifest())) {}

  Result<std::vector<CompactedGroup>> Run();

 private:
  Status PlanOutputs();
  Status PlanGroup(size_t index);
  /// Threads, and what each may hold.
  void ShareMemory();
  Status Write(const Output& output, Written* written);
  Status Rewrite(const Output& output, Written* written);
  Status WritePiece(const Piece& piece, AppendWriter* writer, uint64_t* read_rows);
  /// Gives the fragments of `written` the row ids and versions of the rows they were made from.
  Status CarryLineage(const Output& output, Written* written) const;
  void Report(uint64_t rows) LAKE_EXCLUDES(mutex_);
  std::vector<CompactedGroup> Collect(std::vector<Written> written);

  const Context& context_;
  const Dataset& dataset_;
  const CompactionPlan& plan_;
  const CompactionOptions& options_;
  const std::function<void(const CompactionProgress&)>& report_;
  const std::shared_ptr<FragmentSource> source_;
  std::vector<const format::Field*> fields_;
  bool has_blobs_ = false;
  std::vector<Output> outputs_;
  size_t threads_ = 1;
  uint64_t read_bytes_ = kMaxReadBytes;
  uint64_t write_buffer_ = kMaxWriteBuffer;
  format::FileVersion file_version_;

  Mutex mutex_;
  CompactionProgress progress_ LAKE_GUARDED_BY(mutex_);
};

Status Compactor::PlanGroup(size_t index) {
  const CompactionGroup& group = plan_.groups[index];
  std::vector<Piece> living;
  uint64_t num_rows = 0;
  for (const Fragment& member : group.fragments) {
    const Fragment* const fragment = FindFragment(dataset_.manifest(), member.id);
    if (fragment == nullptr) {
      return Error(ErrorCode::kInvalidArgument,
                   "plan of a compaction is for another version: fragment {}", member.id);
    }
    ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows, source_->PhysicalRows(context_, *fragment));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                          source_->Deletions(context_, *fragment));
    living.push_back({fragment, deletions->Survivors(0, physical_rows)});
    num_rows += living.back().rows.num_rows();
  }
  const uint64_t num_outputs = NumOutputs(num_rows, options_.target_rows);
  if (num_outputs == 0) return Status::OK();
  const uint64_t rows_each = (num_rows + num_outputs - 1) / num_outputs;
  Output output;
  output.group = index;
  for (const Piece& piece : living) {
    for (const format::RowRange& range : piece.rows.ranges()) {
      uint64_t start = range.start;
      while (start < range.end()) {
        const uint64_t count = std::min(rows_each - output.num_rows, range.end() - start);
        if (output.pieces.empty() || output.pieces.back().fragment != piece.fragment) {
          output.pieces.push_back({piece.fragment, {}});
        }
        output.pieces.back().rows.Append(start, count);
        output.num_rows += count;
        start += count;
        if (output.num_rows < rows_each) continue;
        outputs_.push_back(std::exchange(output, {}));
        output.group = index;
      }
    }
  }
  if (output.num_rows > 0) outputs_.push_back(std::move(output));
  return Status::OK();
}

Status Compactor::PlanOutputs() {
  for (const format::Field& field : dataset_.manifest().schema().fields) {
    fields_.push_back(&field);
    has_blobs_ |= format::HoldsBlobs(field);
  }
  for (size_t i = 0; i < plan_.groups.size(); ++i) ARROW_RETURN_NOT_OK(PlanGroup(i));
  MutexLock lock(&mutex_);
  for (const Output& output : outputs_) progress_.rows_total += output.num_rows;
  progress_.bytes_total = plan_.num_bytes();
  return Status::OK();
}

void Compactor::ShareMemory() {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  threads_ = std::max<size_t>(
      1, std::min(options_.threads == 0 ? cores : options_.threads, outputs_.size()));
  const uint64_t limit = static_cast<uint64_t>(std::max<int64_t>(0, context_.memory->limit()));
  // A reader holds a batch decoded and the bytes it came from, a writer its pages twice.
  while (threads_ > 1 && limit / threads_ < 4 * (kMinReadBytes + kMinWriteBuffer)) --threads_;
  read_bytes_ = std::max(BytesPerRead(context_, kMaxReadBytes, threads_), kMinReadBytes);
  write_buffer_ = std::clamp(limit / threads_ / 8, kMinWriteBuffer, kMaxWriteBuffer);
}

void Compactor::Report(uint64_t rows) {
  MutexLock lock(&mutex_);
  progress_.rows_done += rows;
  if (report_) report_(progress_);
}

Status Compactor::WritePiece(const Piece& piece, AppendWriter* writer, uint64_t* read_rows) {
  const format::RowSelection& rows = piece.rows;
  ARROW_ASSIGN_OR_RAISE(const uint64_t physical_rows,
                        source_->PhysicalRows(context_, *piece.fragment));
  ARROW_ASSIGN_OR_RAISE(const uint64_t row_bytes,
                        source_->RowBytes(context_, *piece.fragment, physical_rows,
                                          dataset_.arrow_schema()->fields()));
  // What the rows before it were like says nothing of this fragment's.
  *read_rows = RowsPerRead(read_bytes_, row_bytes, *read_rows);
  const uint64_t end = rows.ranges().back().end();
  uint64_t start = rows.ranges().front().start;
  while (start < end) {
    ARROW_RETURN_NOT_OK(context_.Check());
    const format::RowSelection part = rows.Slice(start, std::min(*read_rows, end - start));
    start += *read_rows;
    if (part.empty()) continue;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                          source_->Read(context_, *piece.fragment, fields_, part));
    BlobOrigin origin;
    std::vector<RowAddress> addresses;
    if (has_blobs_) {
      for (const format::RowRange& range : part.ranges()) {
        for (uint64_t row = range.start; row < range.end(); ++row) {
          addresses.push_back(piece.fragment->id << 32 | row);
        }
      }
      origin = {&dataset_, addresses};
    }
    ARROW_RETURN_NOT_OK(writer->Write(*batch, origin));
    Report(part.num_rows());
    // Rows can be of any width: the next batch is as large as this one shows to be right.
    const uint64_t bytes = std::max<int64_t>(1, arrow::util::TotalBufferSize(*batch));
    const uint64_t fitting = read_bytes_ * part.num_rows() / bytes;
    *read_rows = std::clamp<uint64_t>(fitting, 1, std::min(kMaxReadRows, *read_rows * 8));
  }
  return Status::OK();
}

Status Compactor::Rewrite(const Output& output, Written* written) {
  AppendWriterOptions options;
  options.max_rows_per_file = 1ull << 31;
  options.max_buffered_bytes = write_buffer_;
  options.file_version = file_version_;
  if (options_.max_bytes) options.max_bytes_per_file = *options_.max_bytes;
  ARROW_ASSIGN_OR_RAISE(
      std::unique_ptr<AppendWriter> writer,
      AppendWriter::Open(context_, dataset_.store(), dataset_.manifest().schema(), options));
  uint64_t read_rows = kFirstReadRows;
  for (const Piece& piece : output.pieces) {
    ARROW_RETURN_NOT_OK(WritePiece(piece, writer.get(), &read_rows));
  }
  ARROW_ASSIGN_OR_RAISE(written->fragments, writer->Finish());
  written->new_objects = writer->new_objects();
  return Status::OK();
}

Status Compactor::Write(const Output& output, Written* written) {
  if (options_.copy_pages && !options_.max_bytes) {
    std::vector<const Fragment*> whole;
    uint64_t rows = 0;
    for (const Piece& piece : output.pieces) {
      // Only whole fragments can be copied.
      if (piece.rows.ranges().size() != 1 || piece.rows.ranges().front().start != 0 ||
          piece.rows.num_rows() != piece.fragment->physical_rows) {
        break;
      }
      whole.push_back(piece.fragment);
      rows += piece.rows.num_rows();
    }
    if (rows == output.num_rows) {
      ARROW_ASSIGN_OR_RAISE(std::optional<CopiedFile> copied, CopyPages(context_, dataset_, whole));
      if (copied) {
        written->fragments.push_back(std::move(copied->fragment));
        written->new_objects.push_back(std::move(copied->key));
        written->copied = true;
        Report(rows);
        return CarryLineage(output, written);
      }
    }
  }
  ARROW_RETURN_NOT_OK(Rewrite(output, written));
  return CarryLineage(output, written);
}

Status Compactor::CarryLineage(const Output& output, Written* written) const {
  if (!dataset_.manifest().has_stable_row_ids()) return Status::OK();
  RowIdSequence ids;
  RowVersionSequence created;
  RowVersionSequence updated;
  auto add_versions = [&](const std::shared_ptr<const std::string>& bytes, const Piece& piece,
                          std::string_view what, RowVersionSequence* out) -> Status {
    const uint64_t rows = piece.fragment->physical_rows;
    if (bytes == nullptr) {
      // Upstream's word for rows of before there were such notes.
      out->Append(piece.rows.num_rows(), 1);
      return Status::OK();
    }
    const std::string name = fmt::format("{} versions of fragment {}", what, piece.fragment->id);
    ARROW_ASSIGN_OR_RAISE(RowVersionSequence all, RowVersionSequence::Decode(*bytes, rows, name));
    if (all.size() < rows) {
      return Error(ErrorCode::kCorrupt, "{} are fewer than its rows: {}, not {}", name, all.size(),
                   rows);
    }
    all.Visit(piece.rows, [&](uint64_t version, uint64_t count) { out->Append(count, version); });
    return Status::OK();
  };
  for (const Piece& piece : output.pieces) {
    const Fragment& fragment = *piece.fragment;
    if (fragment.row_ids == nullptr) {
      return Error(ErrorCode::kUnsupported,
                   "row ids of a fragment do not lie in the manifest, which is not read: fragment "
                   "{} of {}",
                   fragment.id, dataset_.store()->description());
    }
    const std::string name = fmt::format("row ids of fragment {}", fragment.id);
    ARROW_ASSIGN_OR_RAISE(RowIdSequence all,
                          RowIdSequence::Decode(*fragment.row_ids, fragment.physical_rows, name));
    if (all.size() < fragment.physical_rows) {
      return Error(ErrorCode::kCorrupt, "{} are fewer than its rows: {}, not {}", name, all.size(),
                   fragment.physical_rows);
    }
    all.Visit(piece.rows, [&](uint64_t start, uint64_t count) { ids.Append(start, count); });
    ARROW_RETURN_NOT_OK(add_versions(fragment.created_at_versions, piece, "created-at", &created));
    ARROW_RETURN_NOT_OK(
        add_versions(fragment.last_updated_at_versions, piece, "updated-at", &updated));
  }
  uint64_t row = 0;
  for (Fragment& fragment : written->fragments) {
    const format::RowSelection rows(row, fragment.physical_rows);
    row += fragment.physical_rows;
    fragment.row_ids = std::make_shared<const std::string>(ids.Select(rows).Encode());
    fragment.created_at_versions =
        std::make_shared<const std::string>(created.Select(rows).Encode());
    fragment.last_updated_at_versions =
        std::make_shared<const std::string>(updated.Select(rows).Encode());
  }
  return Status::OK();
}

std::vector<CompactedGroup> Compactor::Collect(std::vector<Written> written) {
  std::vector<CompactedGroup> groups(plan_.groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].group.old_fragments = plan_.groups[i].fragments;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    CompactedGroup& group = groups[outputs_[i].group];
    group.rows_written += outputs_[i].num_rows;
    group.files_copied += written[i].copied ? 1 : 0;
    for (Fragment& fragment : written[i].fragments) {
      for (const DataFile& file : fragment.files) group.bytes_written += file.size_bytes;
      group.group.new_fragments.push_back(std::move(fragment));
    }
    group.new_objects.insert(group.new_objects.end(), written[i].new_objects.begin(),
                             written[i].new_objects.end());
  }
  return groups;
}

Result<std::vector<CompactedGroup>> Compactor::Run() {
  if (plan_.read_version != dataset_.manifest().version()) {
    return Error(ErrorCode::kInvalidArgument,
                 "plan of a compaction is for another version: {}, not {}", plan_.read_version,
                 dataset_.manifest().version());
  }
  ARROW_ASSIGN_OR_RAISE(file_version_,
                        VersionOfNewFiles(dataset_.manifest(), dataset_.store()->description()));
  ARROW_RETURN_NOT_OK(PlanOutputs());
  ShareMemory();
  std::vector<Written> written(outputs_.size());
  ThreadPool pool(threads_ > 1 ? threads_ - 1 : 1);
  auto write = [&](size_t i) { return Write(outputs_[i], &written[i]); };
  Status status;
  if (threads_ == 1) {
    for (size_t i = 0; i < outputs_.size() && status.ok(); ++i) status = write(i);
  } else {
    status = ParallelFor(&pool, outputs_.size(), write);
  }
  CrashPoint("compaction_written");
  if (!status.ok()) {
    for (const Written& file : written) {
      // Best effort: what stays behind is a leftover that no version names.
      (void)RemoveUncommitted(context_, dataset_.store().get(), file.new_objects);
    }
    return status;
  }
  return Collect(std::move(written));
}

}  // namespace

Result<std::vector<CompactedGroup>> RunCompaction(
    const Context& context, const Dataset& dataset, const CompactionPlan& plan,
    const CompactionOptions& options,
    const std::function<void(const CompactionProgress&)>& progress) {
  return Compactor(context, dataset, plan, options, progress).Run();
}

}  // namespace lake::table
