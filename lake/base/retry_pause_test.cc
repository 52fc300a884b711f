#include "lake/base/retry_pause.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/base/testing/fake_random.h"

namespace lake {
namespace {

TEST(RetryPauseTest, GrowsToHalfASecond) {
  const FakeClock clock;
  FakeRandom random(1);
  Context context;
  context.clock = &clock;
  context.random = &random;
  // The longest of many pauses behind the same number of losses.
  auto longest = [&](int lost) {
    int64_t longest = 0;
    for (int i = 0; i < 200; ++i) {
      const int64_t before = clock.MonotonicNanos();
      PauseBeforeRetry(context, lost);
      longest = std::max(longest, clock.MonotonicNanos() - before);
    }
    return longest;
  };
  EXPECT_LT(longest(1), 4'000'000);
  EXPECT_GT(longest(1), 2'000'000);
  EXPECT_GT(longest(4), 16'000'000);
  EXPECT_LT(longest(4), 32'000'000);
  EXPECT_GT(longest(19), 250'000'000);
  EXPECT_LT(longest(1'000'000), 500'000'000);
}

}  // namespace
}  // namespace lake
