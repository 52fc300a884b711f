#pragma once

#include <cstdint>

#include "lake/base/error.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/leaf_builder.h"

namespace lake::format {

/// What the definition levels of a page mean, for a leaf alone or in one struct: 0 is a value; 1 is
/// a null of the innermost layer that can be null, and so outwards.
class LevelScheme {
 public:
  /// `layers` goes from the leaf outwards. kUnsupported for layers of lists; kCorrupt if their
  /// number is not that of the field (the leaf, and the struct around it where there is one).
  static Result<LevelScheme> From(const google::protobuf::RepeatedField<int>& layers,
                                  bool in_struct);

  /// The highest level that a page with these layers may hold.
  uint16_t max_level() const { return max_level_; }
  /// True if the leaf itself can be null.
  bool leaf_nullable() const { return leaf_nullable_; }

  /// Appends the validity of `count` rows to the leaf, and to its parent where that is built.
  /// kCorrupt for a level above max_level().
  Status Append(const uint16_t* levels, uint64_t count, LeafBuilder* builder) const;
  Status AppendAllSame(uint16_t level, uint64_t count, LeafBuilder* builder) const;

 private:
  uint16_t max_level_ = 0;
  // The parent is valid below this level.
  uint16_t parent_threshold_ = 1;
  bool leaf_nullable_ = false;
};

}  // namespace lake::format
