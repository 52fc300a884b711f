#include "lake/format/page_statistics.h"

#include <algorithm>
#include <bit>

#include "lake/format/bitpacking.h"
#include "lake/format/run_length.h"

namespace lake::format {
namespace {

constexpr size_t kRunChunkValues = 4096;
// Word and padded header of a chunk with one and with two value buffers.
constexpr size_t kOneBufferOverhead = 12;
constexpr size_t kTwoBufferOverhead = 20;

template <typename T>
size_t RunBytes(std::span<const T> values) {
  size_t bytes = 0;
  for (size_t start = 0; start < values.size(); start += kRunChunkValues) {
    const size_t length = std::min(kRunChunkValues, values.size() - start);
    const size_t pieces = CountRunPieces(values.data() + start, length);
    bytes += kTwoBufferOverhead + pieces * (sizeof(T) + 1);
  }
  return bytes;
}

}  // namespace

size_t IntegerStatistics::best_bytes() const {
  return std::min({flat_bytes, bitpacked_bytes, run_bytes});
}

template <typename T>
IntegerStatistics ComputeStatistics(std::span<const T> values) {
  IntegerStatistics statistics;
  statistics.count = values.size();
  statistics.runs = values.empty() ? 0 : 1;
  size_t blocks = 0;
  for (size_t start = 0; start < values.size(); start += kBitpackBlock) {
    const size_t length = std::min(kBitpackBlock, values.size() - start);
    const T* const block = values.data() + start;
    T all = 0;
    for (size_t i = 0; i < length; ++i) all |= block[i];
    size_t changes = start == 0 ? 0 : block[0] != block[-1];
    for (size_t i = 1; i < length; ++i) changes += block[i] != block[i - 1];
    statistics.runs += changes;
    statistics.bitpacked_bytes +=
        sizeof(T) + PackedBlockBytes(static_cast<unsigned>(std::bit_width(all)));
    ++blocks;
  }
  statistics.bitpacked_bytes += blocks * kOneBufferOverhead;
  const size_t values_per_flat_chunk = 4096 / sizeof(T);
  statistics.flat_bytes = values.size_bytes() + (values.size() + values_per_flat_chunk - 1) /
                                                    values_per_flat_chunk * kOneBufferOverhead;
  // Counting pieces is slower than counting changes: only where runs can win at all.
  statistics.run_bytes = IntegerStatistics::kNever;
  if (statistics.runs * (sizeof(T) + 1) < statistics.best_bytes()) {
    statistics.run_bytes = RunBytes(values);
  }
  return statistics;
}

template IntegerStatistics ComputeStatistics(std::span<const uint8_t>);
template IntegerStatistics ComputeStatistics(std::span<const uint16_t>);
template IntegerStatistics ComputeStatistics(std::span<const uint32_t>);
template IntegerStatistics ComputeStatistics(std::span<const uint64_t>);

}  // namespace lake::format
