#include "lake/base/context.h"

#include <arrow/memory_pool.h>
#include <gtest/gtest.h>

#include "lake/base/recycling_pool.h"
#include "lake/base/testing/fake_clock.h"

namespace lake {
namespace {

TEST(ContextTest, DefaultNeverStops) {
  Context context;
  EXPECT_TRUE(context.Check().ok());
  EXPECT_EQ(context.pool(), ProcessMemoryPool());
  EXPECT_EQ(context.memory->limit(), INT64_MAX);
}

TEST(ContextTest, CopiesShareTheCancelToken) {
  Context context;
  Context copy = context;
  context.cancel.Cancel();
  EXPECT_EQ(CodeOf(copy.Check()), ErrorCode::kCancelled);
  EXPECT_TRUE(Context().Check().ok());
}

TEST(ContextTest, DeadlineIsOnTheClockOfTheContext) {
  FakeClock clock;
  Context context;
  context.clock = &clock;
  context.deadline = 1000;
  EXPECT_TRUE(context.Check().ok());
  clock.Advance(std::chrono::nanoseconds(999));
  EXPECT_TRUE(context.Check().ok());
  clock.Advance(std::chrono::nanoseconds(1));
  EXPECT_EQ(CodeOf(context.Check()), ErrorCode::kDeadlineExceeded);
}

TEST(ContextTest, OwnMemoryPoolIsUsed) {
  auto pool = arrow::MemoryPool::CreateDefault();
  Context context;
  context.memory_pool = pool.get();
  EXPECT_EQ(context.pool(), pool.get());
}

}  // namespace
}  // namespace lake
