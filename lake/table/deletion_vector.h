#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/row_selection.h"

namespace lake::table {

/// The deleted rows of one fragment, or other sets of 32-bit numbers. Immutable, thread-safe.
/// Format facts: docs/format/deletion.md.
class DeletionVector {
 public:
  DeletionVector() = default;

  /// From row numbers below 2^32 in ascending order.
  static DeletionVector FromSortedRows(std::span<const uint32_t> rows);
  /// The rows of ranges, all below 2^32.
  static DeletionVector FromSelection(const format::RowSelection& rows);

  /// Decodes the two forms of a deletion file. kCorrupt names `key` and the reason; every row is
  /// below `physical_rows`. Memory is bounded by the size of `bytes` and by `physical_rows`.
  static Result<DeletionVector> FromArrowFile(const Context& context, std::string_view bytes,
                                              uint64_t physical_rows, const std::string& key);
  static Result<DeletionVector> FromBitmap(std::string_view bytes, uint64_t physical_rows,
                                           const std::string& key);

  /// Rows that one or the other, or both, or only the first holds.
  static DeletionVector Union(const DeletionVector& a, const DeletionVector& b);
  static DeletionVector Intersection(const DeletionVector& a, const DeletionVector& b);
  static DeletionVector Difference(const DeletionVector& a, const DeletionVector& b);

  /// The two forms of a deletion file.
  Result<std::string> ToArrowFile(const Context& context) const;
  std::string ToBitmap() const;

  uint64_t num_deleted() const { return num_deleted_; }
  bool empty() const { return num_deleted_ == 0; }
  bool Contains(uint64_t row) const;
  /// The rows as ranges.
  format::RowSelection Selection() const;
  bool operator==(const DeletionVector& other) const { return runs_ == other.runs_; }

  /// The rows of [start, start + count) that are not deleted.
  format::RowSelection Survivors(uint64_t start, uint64_t count) const;

 private:
  friend class BitmapDecoder;
  /// Rows `first` to `last`, both deleted.
  struct Run {
    uint32_t first;
    uint32_t last;
    bool operator==(const Run&) const = default;
  };

  /// Rows where `keep(in a, in b)`.
  template <typename Keep>
  static DeletionVector Combine(const DeletionVector& a, const DeletionVector& b, Keep keep);

  /// Adds rows behind all others. REQUIRES: first > the last row so far.
  void Append(uint32_t first, uint32_t last);
  /// The first run that ends at or behind `row`.
  std::vector<Run>::const_iterator FindRun(uint64_t row) const;

  /// Ascending; runs do not touch.
  std::vector<Run> runs_;
  uint64_t num_deleted_ = 0;
};

}  // namespace lake::table
