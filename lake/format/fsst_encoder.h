#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lake/format/byte_buffer.h"

namespace lake::format {

/// Text shorter than this in a page is not worth a symbol table.
inline constexpr size_t kFsstFewestBytes = 32 * 1024;
/// Nor is text whose longest value is shorter than this.
inline constexpr size_t kFsstShortestLongest = 5;

/// Strings as codes of a symbol table: each byte stands for 1 to 8 bytes of text. Every value is
/// encoded on its own.
struct FsstText {
  std::string symbol_table;
  ByteBuffer codes;
  /// count + 1 u32 offsets into `codes`.
  ByteBuffer offsets;
};

/// Builds a symbol table for the strings (count + 1 `offsets` into `bytes`) and encodes them.
/// Nothing where that does not make them smaller. `bytes` must have ByteBuffer::kSlack readable
/// bytes behind it.
std::optional<FsstText> EncodeFsst(std::span<const uint32_t> offsets,
                                   std::span<const uint8_t> bytes);

}  // namespace lake::format
