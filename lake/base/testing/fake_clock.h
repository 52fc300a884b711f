#pragma once

#include <atomic>

#include "lake/base/clock.h"

namespace lake {

/// A clock that stands still until it is moved. Sleeping moves it. Thread-safe.
class FakeClock : public Clock {
 public:
  explicit FakeClock(int64_t unix_nanos = 1'700'000'000'000'000'000) : unix_nanos_(unix_nanos) {}

  int64_t UnixNanos() const override { return unix_nanos_; }
  int64_t MonotonicNanos() const override { return monotonic_nanos_; }
  void SleepFor(std::chrono::nanoseconds duration) const override { Advance(duration); }

  void Advance(std::chrono::nanoseconds duration) const {
    unix_nanos_ += duration.count();
    monotonic_nanos_ += duration.count();
  }

 private:
  mutable std::atomic<int64_t> unix_nanos_;
  mutable std::atomic<int64_t> monotonic_nanos_{0};
};

}  // namespace lake
