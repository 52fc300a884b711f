#pragma once

#include <cstddef>
#include <cstdint>

#include "lake/format/byte_buffer.h"

namespace lake::format {

/// A run length is one byte: longer runs become several pieces.
inline constexpr size_t kLongestRun = 255;

/// The number of (value, length) pieces that `count` values take.
template <typename T>
size_t CountRunPieces(const T* values, size_t count) {
  size_t pieces = 0;
  size_t start = 0;
  for (size_t i = 1; i <= count; ++i) {
    if (i < count && values[i] == values[start]) continue;
    pieces += (i - start + kLongestRun - 1) / kLongestRun;
    start = i;
  }
  return pieces;
}

/// Appends the pieces' values, as `Stored` words, to `out`, and their lengths to `lengths`.
template <typename Stored, typename T>
void EncodeRuns(const T* values, size_t count, ByteBuffer* out, ByteBuffer* lengths) {
  size_t start = 0;
  for (size_t i = 1; i <= count; ++i) {
    if (i < count && values[i] == values[start]) continue;
    for (size_t rest = i - start; rest != 0;) {
      const size_t length = rest < kLongestRun ? rest : kLongestRun;
      out->AppendValue<Stored>(values[start]);
      lengths->AppendValue<uint8_t>(static_cast<uint8_t>(length));
      rest -= length;
    }
    start = i;
  }
}

}  // namespace lake::format
