#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

namespace lake {

/// a + b, or nothing if it does not fit. For numbers that came from disk or wire.
template <std::integral T>
constexpr std::optional<T> CheckedAdd(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// a * b, or nothing if it does not fit.
template <std::integral T>
constexpr std::optional<T> CheckedMul(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// True if [offset, offset + length) lies in [0, size], without overflow.
constexpr bool RangeFits(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

/// ceil(a / b) without overflow. REQUIRES: b > 0.
template <std::unsigned_integral T>
constexpr T CeilDiv(T a, T b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// `value` rounded up to a multiple of `alignment`. REQUIRES: the result fits.
constexpr uint64_t RoundUp(uint64_t value, uint64_t alignment) {
  return CeilDiv(value, alignment) * alignment;
}

}  // namespace lake
