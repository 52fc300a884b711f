#include "lake/base/clock.h"

#include <thread>

namespace lake {
namespace {

class RealClock : public Clock {
 public:
  int64_t UnixNanos() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  int64_t MonotonicNanos() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void SleepFor(std::chrono::nanoseconds duration) const override {
    std::this_thread::sleep_for(duration);
  }
};

}  // namespace

const Clock* SystemClock() {
  static const RealClock clock;
  return &clock;
}

}  // namespace lake
