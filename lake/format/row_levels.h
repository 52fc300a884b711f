#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lake/format/leaf_path.h"

namespace arrow {
class Array;
}

namespace lake::format {

/// Rows of a leaf, as far as nesting is concerned: which values they have, and the levels.
struct RowLevels {
  struct Range {
    int64_t start = 0;
    int64_t count = 0;
  };
  /// The value slots, in order: ranges of the leaf's array.
  std::vector<Range> ranges;
  int64_t num_values = 0;
  /// Of each value slot its code; empty if all are valid.
  std::vector<uint8_t> states;
  /// With lists: of each slot and each null or empty list; else empty.
  std::vector<uint8_t> repetitions;
  std::vector<uint8_t> codes;

  /// Whether there are slots without a value: null and empty lists.
  bool has_specials() const {
    return !codes.empty() && codes.size() != static_cast<size_t>(num_values);
  }
};

/// A batch's arrays on the way down to one leaf. Borrows the path; keeps the arrays alive.
class LeafRows {
 public:
  /// `column` has the type that the path was made for, extension types replaced by their storage.
  LeafRows(const LeafPath& path, const std::shared_ptr<arrow::Array>& column);

  const arrow::Array& leaf() const { return *arrays_.back(); }
  /// The array that step `step` of the path goes down from; the leaf's behind the last.
  const arrow::Array& array(size_t step) const { return *arrays_[step]; }
  int64_t num_rows() const;

  /// The slots of the leaf's array below the rows [start, end): a superset where lists are null.
  RowLevels::Range LeafRange(int64_t start, int64_t end) const;

  /// The levels of `count` rows from `start`.
  RowLevels Build(int64_t start, int64_t count) const;

 private:
  RowLevels BuildFlat(int64_t start, int64_t count) const;

  const LeafPath& path_;
  // One per step, and the leaf's.
  std::vector<std::shared_ptr<arrow::Array>> arrays_;
};

}  // namespace lake::format
