#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace lake::format {

/// Values in one packed block.
inline constexpr size_t kBitpackBlock = 1024;

/// Bytes of a packed block of `width`-bit values, whatever their type.
constexpr size_t PackedBlockBytes(unsigned width) { return width * (kBitpackBlock / 8); }

/// Unpacks one FastLanes block of kBitpackBlock values of `width` bits each from
/// PackedBlockBytes(width) bytes. The order of values is the transposed one of
/// docs/format/encodings.md. No alignment is needed. REQUIRES: width <= 8 * sizeof(T).
template <std::unsigned_integral T>
void UnpackBlock(const uint8_t* packed, unsigned width, T* values);

/// Unpacks values [from, from + count) of such a block one by one, which is faster for a few.
template <std::unsigned_integral T>
void UnpackValues(const uint8_t* packed, unsigned width, size_t from, size_t count, T* values);

/// The reverse. Bits of a value above `width` are dropped.
template <std::unsigned_integral T>
void PackBlock(const T* values, unsigned width, uint8_t* packed);

extern template void UnpackBlock(const uint8_t*, unsigned, uint8_t*);
extern template void UnpackBlock(const uint8_t*, unsigned, uint16_t*);
extern template void UnpackBlock(const uint8_t*, unsigned, uint32_t*);
extern template void UnpackBlock(const uint8_t*, unsigned, uint64_t*);
extern template void UnpackValues(const uint8_t*, unsigned, size_t, size_t, uint8_t*);
extern template void UnpackValues(const uint8_t*, unsigned, size_t, size_t, uint16_t*);
extern template void UnpackValues(const uint8_t*, unsigned, size_t, size_t, uint32_t*);
extern template void UnpackValues(const uint8_t*, unsigned, size_t, size_t, uint64_t*);
extern template void PackBlock(const uint8_t*, unsigned, uint8_t*);
extern template void PackBlock(const uint16_t*, unsigned, uint8_t*);
extern template void PackBlock(const uint32_t*, unsigned, uint8_t*);
extern template void PackBlock(const uint64_t*, unsigned, uint8_t*);

/// Bits that the largest of `count` values needs; 0 if all are 0.
template <std::unsigned_integral T>
unsigned BitWidth(const T* values, size_t count) {
  T all = 0;
  for (size_t i = 0; i < count; ++i) all |= values[i];
  return static_cast<unsigned>(std::bit_width(all));
}

}  // namespace lake::format
