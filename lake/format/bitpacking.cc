#include "lake/format/bitpacking.h"

#include <cstring>

namespace lake::format {
namespace {

// A row is what one step of all lanes makes: 1024 / B values of B bits, 128 bytes for every B. So
// rows of every type are handled as 16 words of 64 bits, with masks that keep the lanes inside a
// word apart.
constexpr size_t kRowBytes = 128;
constexpr size_t kRowWords = kRowBytes / 8;
// Groups of 8 rows follow each other in this order.
constexpr unsigned kGroupOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};

template <typename T>
constexpr unsigned kBits = 8 * sizeof(T);

template <typename T>
constexpr size_t RowStart(unsigned row) {
  return kGroupOrder[row / 8] * 16 + (row % 8) * 128;
}

// The low `bits` bits of every lane of a 64-bit word.
template <typename T>
uint64_t LaneMask(unsigned bits) {
  const uint64_t lane = bits == 64 ? ~0ull : (1ull << bits) - 1;
  uint64_t mask = lane;
  for (unsigned width = kBits<T>; width < 64; width *= 2) mask |= mask << width;
  return mask;
}

inline uint64_t Load(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

inline void Store(uint8_t* at, uint64_t word) { std::memcpy(at, &word, sizeof(word)); }

}  // namespace

template <std::unsigned_integral T>
void UnpackBlock(const uint8_t* packed, unsigned width, T* values) {
  uint8_t* const out = reinterpret_cast<uint8_t*>(values);
  if (width == 0) {
    std::memset(out, 0, kBitpackBlock * sizeof(T));
    return;
  }
  for (unsigned row = 0; row < kBits<T>; ++row) {
    const unsigned start = row * width;
    const unsigned shift = start % kBits<T>;
    const uint8_t* const low = packed + start / kBits<T> * kRowBytes;
    uint8_t* const to = out + RowStart<T>(row) * sizeof(T);
    const unsigned here = kBits<T> - shift;
    if (width <= here) {
      const uint64_t mask = LaneMask<T>(width);
      for (size_t i = 0; i < kRowWords; ++i) Store(to + 8 * i, Load(low + 8 * i) >> shift & mask);
    } else {
      const uint8_t* const high = low + kRowBytes;
      const uint64_t low_mask = LaneMask<T>(here);
      const uint64_t high_mask = LaneMask<T>(width) & ~low_mask;
      for (size_t i = 0; i < kRowWords; ++i) {
        Store(to + 8 * i,
              (Load(low + 8 * i) >> shift & low_mask) | (Load(high + 8 * i) << here & high_mask));
      }
    }
  }
}

template <std::unsigned_integral T>
void UnpackValues(const uint8_t* packed, unsigned width, size_t from, size_t count, T* values) {
  if (width == 0) {
    std::memset(values, 0, count * sizeof(T));
    return;
  }
  constexpr size_t kLanes = kBitpackBlock / kBits<T>;
  const T mask = width == kBits<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << width) - 1);
  for (size_t i = 0; i < count; ++i) {
    // The order of groups is its own inverse.
    const size_t index = from + i;
    const size_t in_step = index % 128;
    const size_t group = kGroupOrder[in_step / kLanes * (kLanes / 16)];
    const size_t row = group * 8 + index / 128;
    const size_t start = row * width;
    const unsigned shift = start % kBits<T>;
    const uint8_t* const low = packed + start / kBits<T> * kRowBytes + in_step % kLanes * sizeof(T);
    T word;
    std::memcpy(&word, low, sizeof(T));
    T value = static_cast<T>(word >> shift);
    if (shift + width > kBits<T>) {
      std::memcpy(&word, low + kRowBytes, sizeof(T));
      value |= static_cast<T>(word << (kBits<T> - shift));
    }
    values[i] = value & mask;
  }
}

template <std::unsigned_integral T>
void PackBlock(const T* values, unsigned width, uint8_t* packed) {
  std::memset(packed, 0, PackedBlockBytes(width));
  if (width == 0) return;
  const uint8_t* const in = reinterpret_cast<const uint8_t*>(values);
  for (unsigned row = 0; row < kBits<T>; ++row) {
    const unsigned start = row * width;
    const unsigned shift = start % kBits<T>;
    uint8_t* const low = packed + start / kBits<T> * kRowBytes;
    const uint8_t* const from = in + RowStart<T>(row) * sizeof(T);
    const unsigned here = kBits<T> - shift;
    const uint64_t low_mask = LaneMask<T>(width < here ? width : here);
    for (size_t i = 0; i < kRowWords; ++i) {
      Store(low + 8 * i, Load(low + 8 * i) | (Load(from + 8 * i) & low_mask) << shift);
    }
    if (width <= here) continue;
    uint8_t* const high = low + kRowBytes;
    const uint64_t high_mask = LaneMask<T>(width) & ~low_mask;
    for (size_t i = 0; i < kRowWords; ++i) {
      Store(high + 8 * i, Load(high + 8 * i) | (Load(from + 8 * i) & high_mask) >> here);
    }
  }
}

template void UnpackBlock(const uint8_t*, unsigned, uint8_t*);
template void UnpackBlock(const uint8_t*, unsigned, uint16_t*);
template void UnpackBlock(const uint8_t*, unsigned, uint32_t*);
template void UnpackBlock(const uint8_t*, unsigned, uint64_t*);
template void UnpackValues(const uint8_t*, unsigned, size_t, size_t, uint8_t*);
template void UnpackValues(const uint8_t*, unsigned, size_t, size_t, uint16_t*);
template void UnpackValues(const uint8_t*, unsigned, size_t, size_t, uint32_t*);
template void UnpackValues(const uint8_t*, unsigned, size_t, size_t, uint64_t*);
template void PackBlock(const uint8_t*, unsigned, uint8_t*);
template void PackBlock(const uint16_t*, unsigned, uint8_t*);
template void PackBlock(const uint32_t*, unsigned, uint8_t*);
template void PackBlock(const uint64_t*, unsigned, uint8_t*);

}  // namespace lake::format
