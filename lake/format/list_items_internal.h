#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/leaf_type.h"

namespace lake::format {

/// How a page of 2.1 and later holds values of fixed-size lists of numbers, which may be nested:
/// the validity of the items of each level, then the numbers.
struct ListItems {
  struct Level {
    /// Items of one value on this level.
    uint64_t count = 0;
    bool has_validity = false;

    /// Bytes of the validity in front of one value; 0 if there is none.
    uint64_t validity_width() const { return has_validity ? (count + 7) / 8 : 0; }
  };

  /// From the outside in; none for a type that is no list.
  std::vector<Level> levels;
  /// All items of a level are null, and nothing is written of them but that.
  bool all_null = false;

  /// Bytes of the validity of all levels in front of one value.
  uint64_t validity_width() const;

  /// `where` is for messages, such as "full-zip". kUnsupported, by name, for an encoding that is
  /// not read; kCorrupt where it contradicts `type`, whose items have a fixed width.
  static Result<ListItems> From(const pb::CompressiveEncoding& encoding, const LeafType& type,
                                std::string_view where);
};

}  // namespace lake::format
