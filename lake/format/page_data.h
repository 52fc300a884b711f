#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "lake/format/byte_buffer.h"

namespace lake::format {

/// How the values of a leaf lie in memory while a page is built.
struct ValueShape {
  enum class Kind {
    kFixed,          ///< `width` bytes each; a bool is one byte of 0 or 1.
    kVariable,       ///< Strings and binary.
    kFixedSizeList,  ///< `items` items of `width` bytes each.
  };
  Kind kind = Kind::kFixed;
  bool is_bool = false;
  /// Text, not any bytes: only this is worth a symbol table.
  bool is_text = false;
  size_t width = 0;
  size_t items = 1;
  /// 32 or 64, for kVariable.
  unsigned offset_bits = 32;

  /// Bytes of one row, for the fixed kinds.
  size_t row_width() const { return width * items; }
};

/// The rows of one leaf that will become one page.
struct PageData {
  /// What a row's byte in `states` says.
  static constexpr uint8_t kValid = 0;
  static constexpr uint8_t kNull = 1;
  /// The struct around the leaf is null.
  static constexpr uint8_t kStructNull = 2;

  uint64_t first_row = 0;
  size_t num_rows = 0;
  /// The values of all rows, null ones too: a null repeats the value before it (so that it breaks
  /// no run and needs no more bits), a null string is empty, a null list is zeros.
  ByteBuffer values;
  /// For kVariable: num_rows + 1 u32 offsets into `values`.
  ByteBuffer offsets;
  /// One bit per item of a fixed-size list, 1 valid; empty if all are.
  ByteBuffer item_validity;
  /// One byte per row; empty if all are valid.
  ByteBuffer states;
  size_t num_null = 0;
  size_t num_struct_null = 0;
  /// Of kVariable.
  size_t longest_value = 0;

  size_t num_valid() const { return num_rows - num_null - num_struct_null; }
  bool IsValid(size_t row) const { return states.empty() || states.data()[row] == kValid; }
  std::string_view Value(size_t row) const {
    const uint32_t* const ends = offsets.as<uint32_t>().data();
    return values.view().substr(ends[row], ends[row + 1] - ends[row]);
  }
  size_t MemoryUse() const {
    return values.size() + offsets.size() + item_validity.size() + states.size();
  }
};

}  // namespace lake::format
