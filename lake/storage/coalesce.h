#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lake/storage/object_store.h"

namespace lake::storage {

struct CoalesceOptions {
  /// Ranges with at most this many unwanted bytes between them are read together.
  uint64_t max_gap = 64 * 1024;
  /// A read grows by joining only up to this size; a single larger range stays whole.
  uint64_t max_read = 8 * 1024 * 1024;
};

struct CoalescedReads {
  /// In ascending order of offset.
  std::vector<ByteRange> reads;
  /// The i-th range of the input lies inside `reads[read_of[i]]`.
  std::vector<size_t> read_of;
};

/// Joins nearby ranges into few reads. REQUIRES: offset + length of each range does not overflow.
CoalescedReads Coalesce(std::span<const ByteRange> ranges, const CoalesceOptions& options = {});

}  // namespace lake::storage
