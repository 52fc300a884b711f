#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lake/format/byte_buffer.h"

namespace lake::format {

/// Fixed-size lists one inside the other in one value, at most; a chunk has a buffer of validity
/// for each of them.
inline constexpr size_t kMostDimensions = 8;
/// A field of a packed struct, as a row of bytes holds it.
struct PackedField {
  /// Bytes of a value; 0 for strings and binary.
  size_t width = 0;
  /// Of strings and binary: the bits of the length in front of the bytes, 32 or 64.
  unsigned length_bits = 0;
  bool is_text = false;
  /// Of a fixed-size list, as ValueShape::dimensions. While a page is built, the validity of the
  /// items of each list, a bit each, stands in front of the value.
  std::vector<size_t> dimensions = {};

  size_t validity_width() const {
    size_t items = 1;
    size_t bytes = 0;
    for (const size_t dimension : dimensions) {
      items *= dimension;
      bytes += (items + 7) / 8;
    }
    return bytes;
  }
  size_t stored_width() const { return validity_width() + width; }
};

/// How the values of a leaf lie in memory while a page is built.
struct ValueShape {
  enum class Kind {
    kFixed,          ///< `width` bytes each; a bool is one byte of 0 or 1.
    kVariable,       ///< Strings and binary.
    kFixedSizeList,  ///< `items` items of `width` bytes each.
  };
  Kind kind = Kind::kFixed;
  /// A value, or an item of a list, is a bool.
  bool is_bool = false;
  bool is_float = false;
  /// Text, not any bytes: only this is worth a symbol table.
  bool is_text = false;
  /// Packed rows that tell where blobs lie (docs/format/blobs.md).
  bool is_blob = false;
  /// 0 for a type without values: null, a struct without fields.
  size_t width = 0;
  size_t items = 1;
  /// Of a fixed-size list, from the outermost: the items of each list; `items` is their product.
  std::vector<size_t> dimensions = {};
  /// 32 or 64, for kVariable.
  unsigned offset_bits = 32;
  /// Of a dictionary column, whose values are indices of `width` bytes: the shape of its entries.
  std::shared_ptr<const ValueShape> entries = {};
  /// Of a packed struct its fields, whose bytes in order are a value: of kFixed if all are of fixed
  /// width and none is a list, else of kVariable.
  std::vector<PackedField> packed = {};

  /// False for a type without values.
  bool has_values() const { return kind != Kind::kFixed || width != 0; }
  /// Bytes of one value, for the fixed kinds.
  size_t row_width() const { return width * items; }
};

/// The layers of nesting that end at a leaf, and how their nulls are told apart.
class LevelShape {
 public:
  enum class Layer {
    kItem,  ///< The leaf, a struct, a fixed-size list of structs.
    kList,
  };

  /// A leaf with nothing around it.
  LevelShape() : LevelShape(std::vector<Layer>{}) {}
  /// `outer` are the layers around the leaf, from the innermost. REQUIRES: at most 100.
  explicit LevelShape(const std::vector<Layer>& outer);

  /// From the innermost, the leaf's own first.
  const std::vector<Layer>& layers() const { return layers_; }
  /// The code of a null at this layer; that of an empty list is one more.
  uint8_t null_code(size_t layer) const { return null_codes_[layer]; }
  /// Slots with codes up to this one have a value, if only a filler.
  uint8_t last_value_code() const { return last_value_code_; }
  /// Bits that a repetition and a definition level take together, if every layer has nulls.
  unsigned level_bits() const;
  /// Lists around the leaf: the repetition level of a new row.
  uint8_t num_lists() const { return num_lists_; }

 private:
  std::vector<Layer> layers_;
  std::vector<uint8_t> null_codes_;
  uint8_t last_value_code_ = 0;
  uint8_t num_lists_ = 0;
};

/// The distinct values of a page and, for each value slot, which one it is.
struct Dictionary {
  /// Distinct values in order of appearance, back to back.
  ByteBuffer entries;
  /// For strings: one u32 more than entries, into `entries`.
  ByteBuffer offsets;
  uint32_t count = 0;
  /// u32, one per slot; a null repeats the index before it. Not of a dictionary column, whose
  /// indices are the page's values.
  ByteBuffer indices;
};

/// The rows of one leaf that will become one page.
struct PageData {
  /// The code of a value; LevelShape has those of nulls and empty lists.
  static constexpr uint8_t kValid = 0;

  uint64_t first_row = 0;
  size_t num_rows = 0;
  /// Value slots: as many as rows, unless there are lists, whose items they are.
  size_t num_values = 0;
  /// The values of all slots, null ones too: a null repeats the value before it (so that it breaks
  /// no run and needs no more bits), a null string is empty, a null list is zeros.
  ByteBuffer values;
  /// For kVariable: num_values + 1 u32 offsets into `values`.
  ByteBuffer offsets;
  /// For each dimension of a fixed-size list one bit per item, 1 valid; empty if all are.
  std::vector<ByteBuffer> item_validity;
  /// The code of each value slot; empty if all are valid.
  ByteBuffer states;
  size_t num_null = 0;
  /// Of kVariable.
  size_t longest_value = 0;
  /// Of a dictionary column.
  Dictionary dictionary;

  /// With lists only: repetition level and code of each value slot and of each null or empty list.
  ByteBuffer repetitions;
  ByteBuffer codes;

  size_t num_valid() const { return num_values - num_null; }
  bool IsValid(size_t value) const { return states.empty() || states.data()[value] == kValid; }
  bool has_item_nulls() const {
    for (const ByteBuffer& bits : item_validity) {
      if (!bits.empty()) return true;
    }
    return false;
  }
  /// Slots without a value: null and empty lists.
  size_t num_special() const { return codes.empty() ? 0 : codes.size() - num_values; }
  std::string_view Value(size_t value) const {
    const uint32_t* const ends = offsets.as<uint32_t>().data();
    return values.view().substr(ends[value], ends[value + 1] - ends[value]);
  }
  size_t MemoryUse() const {
    size_t bytes = values.size() + offsets.size() + states.size() + repetitions.size() +
                   codes.size() + dictionary.entries.size() + dictionary.offsets.size();
    for (const ByteBuffer& bits : item_validity) bytes += bits.size();
    return bytes;
  }
};

}  // namespace lake::format
