#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lake::format {

/// What one pass over the integers of a page tells about the size of each encoding.
struct IntegerStatistics {
  size_t count = 0;
  /// Changes of value, plus one.
  size_t runs = 0;
  /// Bytes of each encoding with its chunks' headers, without levels. kNever where it is not worth
  /// it.
  size_t flat_bytes = 0;
  size_t bitpacked_bytes = 0;
  size_t run_bytes = 0;

  static constexpr size_t kNever = SIZE_MAX;

  bool all_equal() const { return runs <= 1; }
  size_t best_bytes() const;
};

/// T: uint8_t, uint16_t, uint32_t or uint64_t.
template <typename T>
IntegerStatistics ComputeStatistics(std::span<const T> values);

}  // namespace lake::format
