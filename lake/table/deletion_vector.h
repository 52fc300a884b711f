#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/row_selection.h"

namespace lake::table {

/// The deleted rows of one fragment. Immutable, thread-safe. Format facts: docs/format/deletion.md.
class DeletionVector {
 public:
  DeletionVector() = default;

  /// Decodes the two forms of a deletion file. kCorrupt names `key` and the reason; every row is
  /// below `physical_rows`. Memory is bounded by the size of `bytes` and by `physical_rows`.
  static Result<DeletionVector> FromArrowFile(const Context& context, std::string_view bytes,
                                              uint64_t physical_rows, const std::string& key);
  static Result<DeletionVector> FromBitmap(std::string_view bytes, uint64_t physical_rows,
                                           const std::string& key);

  uint64_t num_deleted() const { return num_deleted_; }
  bool Contains(uint64_t row) const;

  /// The rows of [start, start + count) that are not deleted.
  format::RowSelection Survivors(uint64_t start, uint64_t count) const;

 private:
  friend class BitmapDecoder;
  /// Rows `first` to `last`, both deleted.
  struct Run {
    uint32_t first;
    uint32_t last;
  };

  /// Adds rows behind all others. REQUIRES: first > the last row so far.
  void Append(uint32_t first, uint32_t last);
  /// The first run that ends at or behind `row`.
  std::vector<Run>::const_iterator FindRun(uint64_t row) const;

  /// Ascending; runs do not touch.
  std::vector<Run> runs_;
  uint64_t num_deleted_ = 0;
};

}  // namespace lake::table
