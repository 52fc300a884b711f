#include "lake/storage/coalesce.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CoalesceTest, JoinsAcrossSmallGapsOnly) {
  const ByteRange ranges[] = {{0, 10}, {20, 5}, {36, 4}};
  CoalescedReads plan = Coalesce(ranges, {.max_gap = 10, .max_read = 1000});
  EXPECT_THAT(plan.reads, ElementsAre(ByteRange{0, 25}, ByteRange{36, 4}));
  EXPECT_THAT(plan.read_of, ElementsAre(0, 0, 1));
}

TEST(CoalesceTest, TakesAnyOrderAndOverlaps) {
  const ByteRange ranges[] = {{100, 10}, {0, 50}, {105, 2}, {40, 30}, {0, 50}};
  CoalescedReads plan = Coalesce(ranges, {.max_gap = 0, .max_read = 1000});
  EXPECT_THAT(plan.reads, ElementsAre(ByteRange{0, 70}, ByteRange{100, 10}));
  EXPECT_THAT(plan.read_of, ElementsAre(1, 0, 1, 0, 0));
}

TEST(CoalesceTest, ReadsDoNotGrowWithoutBound) {
  std::vector<ByteRange> ranges;
  for (uint64_t i = 0; i < 10; ++i) ranges.push_back({i * 10, 10});
  CoalescedReads plan = Coalesce(ranges, {.max_gap = 10, .max_read = 40});
  EXPECT_THAT(plan.reads, ElementsAre(ByteRange{0, 40}, ByteRange{40, 40}, ByteRange{80, 20}));
}

TEST(CoalesceTest, ALargeRangeStaysWhole) {
  const ByteRange ranges[] = {{0, 5000}, {5000, 1}};
  CoalescedReads plan = Coalesce(ranges, {.max_gap = 10, .max_read = 40});
  EXPECT_THAT(plan.reads, ElementsAre(ByteRange{0, 5000}, ByteRange{5000, 1}));
}

TEST(CoalesceTest, NothingAndEmptyRanges) {
  EXPECT_THAT(Coalesce({}).reads, IsEmpty());
  const ByteRange ranges[] = {{7, 0}, {7, 0}};
  CoalescedReads plan = Coalesce(ranges);
  EXPECT_THAT(plan.reads, ElementsAre(ByteRange{7, 0}));
}

TEST(CoalesceTest, EachRangeLiesInItsRead) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<ByteRange> ranges;
    for (uint64_t i = random() % 30; i > 0; --i)
      ranges.push_back({random() % 5000, random() % 200});
    CoalescedReads plan = Coalesce(ranges, {.max_gap = 50, .max_read = 500});
    ASSERT_EQ(plan.read_of.size(), ranges.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
      const ByteRange read = plan.reads[plan.read_of[i]];
      ASSERT_GE(ranges[i].offset, read.offset);
      ASSERT_LE(ranges[i].end(), read.end());
      ASSERT_LE(read.length, 500u);
    }
  }
}

}  // namespace
}  // namespace lake::storage
