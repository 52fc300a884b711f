#pragma once

#include <chrono>
#include <cstdint>

namespace lake {

/// The two clocks of a machine. Thread-safe. Code takes time from the Clock of its Context, never
/// from the system directly, so that tests can set it (lake/base/testing/fake_clock.h).
class Clock {
 public:
  virtual ~Clock() = default;

  /// Nanoseconds since 1970-01-01 UTC; can jump in both directions.
  virtual int64_t UnixNanos() const = 0;

  /// Nanoseconds since some fixed point; never runs backwards. For deadlines and durations.
  virtual int64_t MonotonicNanos() const = 0;

  /// Blocks for `duration`.
  virtual void SleepFor(std::chrono::nanoseconds duration) const = 0;
};

/// The machine's own clock. Lives as long as the process.
const Clock* SystemClock();

}  // namespace lake
