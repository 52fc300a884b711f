#pragma once

#include <cstdint>
#include <span>

namespace lake {

/// A source of random bytes. Thread-safe. Tests replace it by a seeded one
/// (lake/base/testing/fake_random.h).
class Random {
 public:
  virtual ~Random() = default;

  /// Fills `bytes`. The system source is good enough for keys; it aborts the process if the kernel
  /// gives none, since nothing safe could go on.
  virtual void Fill(std::span<uint8_t> bytes) = 0;

  uint64_t NextUint64();

  /// A value in [0, bound). REQUIRES: bound > 0.
  uint64_t NextBelow(uint64_t bound);
};

/// The kernel's random source. Lives as long as the process.
Random* SystemRandom();

}  // namespace lake
