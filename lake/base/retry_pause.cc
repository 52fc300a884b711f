#include "lake/base/retry_pause.h"

#include <algorithm>
#include <chrono>

namespace lake {

namespace {

constexpr int64_t kFirstNanos = 2'000'000;
constexpr int64_t kLongestNanos = 500'000'000;
constexpr int kMostDoublings = 20;

}  // namespace

void PauseBeforeRetry(const Context& context, int lost) {
  const int64_t longest =
      std::min(kLongestNanos, kFirstNanos << std::clamp(lost, 0, kMostDoublings));
  context.clock->SleepFor(
      std::chrono::nanoseconds(context.random->NextBelow(static_cast<uint64_t>(longest))));
}

}  // namespace lake
