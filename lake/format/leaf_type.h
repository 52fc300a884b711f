#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/error.h"

namespace arrow {
class DataType;
}

namespace lake::format {

/// How the values of one leaf column lie in memory, as far as decoders care: numbers are bits.
struct LeafType {
  enum class Kind {
    kFixed,       ///< item_bits each
    kVariable,    ///< offsets of offset_bits, then bytes
    kList,        ///< items of item_bits each, lists of equal size, may be nested; items nullable
    kDictionary,  ///< keys of item_bits each, and the values that they name
    kPacked,      ///< one value of each part, the parts stored together
    kBlob,        ///< as kPacked, in a page layout of its own
    kNothing,     ///< the null type, or a struct without fields
  };

  Kind kind = Kind::kFixed;
  /// Bits of a value, of an item of a list, of a key. 1 for bool, else a multiple of 8.
  uint32_t item_bits = 0;
  /// Items of one value.
  uint32_t list_size = 1;
  /// Of a kList: how many each list holds, from the outside in.
  std::vector<uint32_t> list_sizes;
  /// 32 or 64 for kVariable.
  uint32_t offset_bits = 0;
  /// Values must be UTF-8.
  bool is_text = false;
  /// Of a kPacked or kBlob its fields, of a kDictionary what its keys name.
  std::vector<LeafType> parts;
  std::shared_ptr<arrow::DataType> type;

  /// True if values of both lie alike, so that a column of one can be read as the other.
  bool SameLayout(const LeafType& other) const;

  uint64_t value_bits() const { return uint64_t{item_bits} * list_size; }
  /// Of a kDictionary.
  const LeafType& value_type() const { return parts[0]; }
  bool is_packed() const { return kind == Kind::kPacked || kind == Kind::kBlob; }

  /// kUnsupported, naming the type, for a type that has no leaf column.
  static Result<LeafType> From(const std::shared_ptr<arrow::DataType>& type);
  /// A struct whose fields are stored together. kUnsupported, by name, for fields that cannot be.
  static Result<LeafType> Packed(const std::shared_ptr<arrow::DataType>& type);
};

}  // namespace lake::format
