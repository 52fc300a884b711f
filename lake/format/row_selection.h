#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lake::format {

/// `count` rows from row `start`.
struct RowRange {
  uint64_t start = 0;
  uint64_t count = 0;

  uint64_t end() const { return start + count; }
  bool operator==(const RowRange&) const = default;
};

/// Which rows of a file to read: ranges in ascending order that do not touch or overlap. A plain
/// value.
class RowSelection {
 public:
  RowSelection() = default;
  /// One range.
  RowSelection(uint64_t start, uint64_t count);

  /// From row numbers in strictly ascending order.
  static RowSelection FromSortedRows(std::span<const uint64_t> rows);

  /// Adds a range behind all others; merges it with the last one where they touch.
  /// REQUIRES: start >= the end of the last range.
  void Append(uint64_t start, uint64_t count);

  std::span<const RowRange> ranges() const { return ranges_; }
  uint64_t num_rows() const { return num_rows_; }
  bool empty() const { return num_rows_ == 0; }

  /// The part of this selection inside [start, start + count), in row numbers that count from
  /// `base`. REQUIRES: base <= start.
  RowSelection Slice(uint64_t start, uint64_t count, uint64_t base = 0) const;

 private:
  std::vector<RowRange> ranges_;
  uint64_t num_rows_ = 0;
};

}  // namespace lake::format
