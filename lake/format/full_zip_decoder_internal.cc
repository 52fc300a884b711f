#include "lake/format/full_zip_decoder_internal.h"

#include <utility>

#include <arrow/type.h>

#include "lake/base/checked.h"

namespace lake::format {
namespace {

// The index entries that a range needs are read in one piece up to this size, else only the first
// and the last one.
constexpr uint64_t kIndexReadLimit = 4096;

}  // namespace

Result<FullZipControl> FullZipControl::From(const pb::FullZipLayout& layout,
                                            const LevelScheme& levels) {
  if (layout.bits_def() > 16 || layout.bits_rep() > 16) {
    return Error(ErrorCode::kCorrupt, "levels of {} and {} bits", layout.bits_rep(),
                 layout.bits_def());
  }
  if ((layout.bits_rep() != 0) != levels.has_lists()) {
    return Error(ErrorCode::kCorrupt, "full-zip page of {} lists has repetition levels of {} bits",
                 levels.max_repetition(), layout.bits_rep());
  }
  FullZipControl control;
  control.bits_def_ = layout.bits_def();
  control.bits_rep_ = layout.bits_rep();
  const uint32_t bytes = CeilDiv<uint32_t>(layout.bits_rep() + layout.bits_def(), 8);
  control.width_ = bytes == 3 ? 4 : bytes;
  return control;
}

Status CheckFullZipCounts(const PageTask& task) {
  const pb::FullZipLayout& layout = task.page->layout.full_zip();
  const uint64_t rows = task.page->num_rows;
  const bool good = task.levels.has_lists()
                        ? layout.num_items() >= layout.num_visible_items()
                        : layout.num_items() == rows && layout.num_visible_items() == rows;
  if (good) return Status::OK();
  return Error(ErrorCode::kCorrupt, "full-zip page of {} rows has {} values, {} of them visible",
               rows, layout.num_items(), layout.num_visible_items());
}

Result<FullZipRowIndex> FullZipRowIndex::From(const PageTask& task) {
  if (task.page->buffers.size() != 2) {
    return Error(ErrorCode::kCorrupt, "full-zip page with a row index has {} buffers, not 2",
                 task.page->buffers.size());
  }
  FullZipRowIndex index;
  index.task_ = &task;
  const auto entries = CheckedAdd<uint64_t>(task.page->num_rows, 1);
  const uint64_t size = task.page->buffers[1].length;
  const uint64_t width = entries ? size / *entries : 0;
  const bool known = width == 1 || width == 2 || width == 4 || width == 8;
  if (!known || width * *entries != size) {
    return Error(ErrorCode::kCorrupt, "row index of {} bytes for {} rows", size,
                 task.page->num_rows);
  }
  index.width_ = width;
  return index;
}

uint64_t FullZipRowIndex::Entry(std::string_view entries, uint64_t i) const {
  const char* const at = entries.data() + i * width_;
  switch (width_) {
    case 1:
      return static_cast<uint8_t>(*at);
    case 2:
      return LoadLittle<uint16_t>(at);
    case 4:
      return LoadLittle<uint32_t>(at);
    default:
      return LoadLittle<uint64_t>(at);
  }
}

void FullZipRowIndex::PlanState(RangeReads* reads) {
  if (task_->whole_page()) {
    data_reads_.push_back(reads->Add(task_->page->buffers[0]));
    return;
  }
  const uint64_t index = task_->page->buffers[1].offset;
  for (const RowRange& range : task_->rows.ranges()) {
    const uint64_t size = (range.count + 1) * width_;
    if (size <= kIndexReadLimit) {
      index_reads_.push_back(reads->Add({index + range.start * width_, size}));
    } else {
      index_reads_.push_back(reads->Add({index + range.start * width_, width_}));
      reads->Add({index + range.end() * width_, width_});
    }
  }
}

Status FullZipRowIndex::PlanData(const RangeReads& state, RangeReads* reads) {
  if (task_->whole_page()) return Status::OK();
  const ByteRange& rows = task_->page->buffers[0];
  const std::span<const RowRange> ranges = task_->rows.ranges();
  for (size_t i = 0; i < ranges.size(); ++i) {
    const std::string_view entries = state.Get(index_reads_[i]);
    const uint64_t begin = Entry(entries, 0);
    const bool together = entries.size() > width_;
    const uint64_t end =
        together ? Entry(entries, ranges[i].count) : Entry(state.Get(index_reads_[i] + 1), 0);
    if (begin > end || end > rows.length) {
      return Error(ErrorCode::kCorrupt, "row index puts rows {} to {} at {} to {} of {}",
                   ranges[i].start, ranges[i].end(), begin, end, rows.length);
    }
    data_reads_.push_back(reads->Add({rows.offset + begin, end - begin}));
  }
  return Status::OK();
}

std::string_view FullZipRowIndex::Bytes(const RangeReads& state, const RangeReads& data,
                                        size_t i) const {
  return (task_->whole_page() ? state : data).Get(data_reads_[i]);
}

Result<std::unique_ptr<PageDecoder>> MakeFullZipDecoder(PageTask task) {
  const bool variable =
      task.type.kind == LeafType::Kind::kVariable || task.type.kind == LeafType::Kind::kPacked;
  const bool fixed =
      task.type.kind == LeafType::Kind::kFixed || task.type.kind == LeafType::Kind::kList;
  switch (task.page->layout.full_zip().width_case()) {
    case pb::FullZipLayout::kBitsPerValue:
      if (!fixed) break;
      return MakeFixedFullZipDecoder(std::move(task));
    case pb::FullZipLayout::kBitsPerOffset:
      if (!variable) break;
      return MakeVariableFullZipDecoder(std::move(task));
    case pb::FullZipLayout::WIDTH_NOT_SET:
      return Error(ErrorCode::kCorrupt, "full-zip page without a width");
  }
  return Error(ErrorCode::kCorrupt, "full-zip page of {} width holds a column of type {}",
               fixed ? "variable" : "fixed",
               task.type.type == nullptr ? "unknown" : task.type.type->ToString());
}

}  // namespace lake::format
