#include "lake/storage/testing/intercepted_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/recording_store.h"
#include "lake/storage/testing/slow_store.h"

namespace lake::storage {
namespace {

using ::testing::ElementsAre;

TEST(RecordingStoreTest, RemembersCallsWithTheirRanges) {
  Context context;
  RecordingStore store(MakeMemoryStore());
  ASSERT_TRUE(store.Put(context, "a", "0123456789", PutCondition::kNone).ok());
  ASSERT_TRUE(store.Get(context, "a", {1, 2}).ok());
  const ByteRange ranges[] = {{3, 1}, {5, 2}};
  ASSERT_TRUE(store.GetMany(context, "a", ranges).ok());
  EXPECT_FALSE(store.Head(context, "missing").ok());
  auto calls = store.calls();
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].ToString(), "put a");
  EXPECT_EQ(calls[0].bytes, 10u);
  EXPECT_THAT(calls[1].ranges, ElementsAre(ByteRange{1, 2}));
  EXPECT_THAT(calls[2].ranges, ElementsAre(ByteRange{3, 1}, ByteRange{5, 2}));
  EXPECT_EQ(calls[3].ToString(), "head missing");
  EXPECT_EQ(store.Count(StoreOperation::kGet), 1u);
  store.Clear();
  EXPECT_TRUE(store.calls().empty());
}

TEST(SlowStoreTest, EveryCallTakesItsTime) {
  FakeClock clock;
  Context context;
  context.clock = &clock;
  SlowStore store(MakeMemoryStore(), std::chrono::milliseconds(30));
  ASSERT_TRUE(store.Put(context, "a", "", PutCondition::kNone).ok());
  ASSERT_TRUE(store.Head(context, "a").ok());
  EXPECT_EQ(clock.MonotonicNanos(), 60'000'000);
}

TEST(SlowStoreTest, RunsIntoTheDeadline) {
  FakeClock clock;
  Context context;
  context.clock = &clock;
  context.deadline = 20'000'000;
  SlowStore store(MakeMemoryStore(), std::chrono::milliseconds(30));
  EXPECT_EQ(CodeOf(store.Put(context, "a", "", PutCondition::kNone)), ErrorCode::kDeadlineExceeded);
  context.deadline = INT64_MAX;
  EXPECT_EQ(CodeOf(store.Head(context, "a").status()), ErrorCode::kNotFound);
}

TEST(StoreCallTest, WritesAreToldFromReads) {
  EXPECT_FALSE(IsWrite(StoreOperation::kGetMany));
  EXPECT_FALSE(IsWrite(StoreOperation::kList));
  EXPECT_TRUE(IsWrite(StoreOperation::kFinish));
  EXPECT_TRUE(IsWrite(StoreOperation::kSync));
}

}  // namespace
}  // namespace lake::storage
