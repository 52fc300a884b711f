#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/leaf_builder.h"
#include "lake/format/row_selection.h"

namespace lake::format {

/// What the levels of a page mean. Definition levels count from the leaf outwards: 0 is a value,
/// the others a null or an empty list of the innermost layer that can be so, and so on outwards.
/// Repetition levels tell which list an entry begins anew: 0 none, 1 the innermost one, and so on;
/// the highest begins a row. Facts: docs/format/encodings.md.
class LevelScheme {
 public:
  /// `layers` goes from the leaf outwards. kCorrupt if they are not those of the field: the leaf,
  /// and what is around it.
  static Result<LevelScheme> From(const google::protobuf::RepeatedField<int>& layers,
                                  const Nesting& nesting);

  /// The highest definition level that a page with these layers may hold.
  uint16_t max_level() const { return max_level_; }
  /// The highest definition level that still has a value.
  uint16_t max_visible() const { return max_visible_; }
  /// The highest repetition level, the number of lists.
  uint16_t max_repetition() const { return static_cast<uint16_t>(lists_.size()); }
  bool has_lists() const { return !lists_.empty(); }

  /// Appends the validity of `count` values, whose definition levels are given, to the leaf and to
  /// the layers inside the innermost list. kCorrupt for a level above max_visible().
  Status Append(const uint16_t* levels, uint64_t count, LeafBuilder* builder) const;
  Status AppendAllSame(uint16_t level, uint64_t count, LeafBuilder* builder) const;

  /// Appends `count` entries of whole rows, or such as continue the last row, to the lists and the
  /// layers outside of them. `levels` is null if all are 0. kCorrupt for levels that do not fit
  /// each other. REQUIRES: has_lists().
  Status AppendLists(const uint16_t* repetition, const uint16_t* levels, uint64_t count,
                     LeafBuilder* builder) const;

  /// The levels of the entries that have a value: `levels` itself, or a copy in `scratch`. Sets
  /// `num_values`. kCorrupt for a level above max_level().
  Result<const uint16_t*> Visible(const uint16_t* levels, uint64_t count,
                                  std::vector<uint16_t>* scratch, uint64_t* num_values) const;

 private:
  // A layer outside of the leaf: its slots are valid below `threshold`; a list is empty at
  // `empty_level`, unless that is 0.
  struct Layer {
    uint16_t threshold = 1;
    uint16_t empty_level = 0;
  };

  Status AppendInnerLists(const uint16_t* repetition, const uint16_t* levels, uint64_t count,
                          LeafBuilder* builder) const;
  bool MayHoldNulls(size_t layer, uint16_t highest, LeafBuilder* builder) const;

  uint16_t max_level_ = 0;
  uint16_t max_visible_ = 0;
  std::vector<Layer> layers_;
  // Which of the layers are lists, from the inside out.
  std::vector<size_t> lists_;
  // For each definition level the domain (NestingBuilder) in which an entry of it ends; 0 if it has
  // a value.
  std::vector<uint16_t> ends_in_;
};

/// The entries that belong to wanted rows, as ranges: `count` entries, of which the first belongs
/// to row `first_row`; `rows` ascends. Appends to `entries`.
void SelectEntries(const uint16_t* repetition, uint64_t count, uint16_t max_repetition,
                   uint64_t first_row, std::span<const RowRange> rows,
                   std::vector<RowRange>* entries);

}  // namespace lake::format
