#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lake/base/error.h"

namespace arrow {
class DataType;
}

namespace lake::format {

/// How the values of one leaf column lie in memory, as far as decoders and encoders care: numbers
/// are bits.
struct LeafType {
  enum class Kind {
    kFixed,     ///< item_bits each
    kVariable,  ///< offsets of offset_bits, then bytes
    kList,      ///< list_size items of item_bits each, items nullable
  };

  Kind kind = Kind::kFixed;
  /// Bits of a value, or of one item of a list. 1 for bool, else a multiple of 8.
  uint32_t item_bits = 0;
  uint32_t list_size = 1;
  /// 32 or 64 for kVariable.
  uint32_t offset_bits = 0;
  /// Values must be UTF-8.
  bool is_text = false;
  std::shared_ptr<arrow::DataType> type;

  /// True if values of both lie alike, so that a column of one can be read as the other.
  bool SameLayout(const LeafType& other) const {
    return kind == other.kind && item_bits == other.item_bits && list_size == other.list_size &&
           offset_bits == other.offset_bits && is_text == other.is_text;
  }

  uint64_t value_bits() const { return uint64_t{item_bits} * list_size; }

  /// kUnsupported, naming the type, for a type that has no leaf column in this version.
  static Result<LeafType> From(const std::shared_ptr<arrow::DataType>& type);
};

}  // namespace lake::format
