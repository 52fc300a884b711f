#include "lake/format/row_selection.h"

#include <algorithm>

namespace lake::format {

RowSelection::RowSelection(uint64_t start, uint64_t count) { Append(start, count); }

RowSelection RowSelection::FromSortedRows(std::span<const uint64_t> rows) {
  RowSelection selection;
  for (uint64_t row : rows) selection.Append(row, 1);
  return selection;
}

void RowSelection::Append(uint64_t start, uint64_t count) {
  if (count == 0) return;
  num_rows_ += count;
  if (!ranges_.empty() && ranges_.back().end() == start) {
    ranges_.back().count += count;
  } else {
    ranges_.push_back({start, count});
  }
}

RowSelection RowSelection::Slice(uint64_t start, uint64_t count, uint64_t base) const {
  RowSelection slice;
  const uint64_t end = start + count;
  if (base == 0 && !ranges_.empty() && start <= ranges_.front().start &&
      ranges_.back().end() <= end) {
    return *this;
  }
  auto range = std::lower_bound(ranges_.begin(), ranges_.end(), start,
                                [](const RowRange& r, uint64_t row) { return r.end() <= row; });
  const auto behind = std::lower_bound(
      range, ranges_.end(), end, [](const RowRange& r, uint64_t row) { return r.start < row; });
  slice.ranges_.reserve(static_cast<size_t>(behind - range));
  for (; range != behind; ++range) {
    const uint64_t first = std::max(range->start, start);
    const uint64_t last = std::min(range->end(), end);
    // Ranges do not touch, so that there is nothing to merge.
    slice.ranges_.push_back({first - base, last - first});
    slice.num_rows_ += last - first;
  }
  return slice;
}

}  // namespace lake::format
