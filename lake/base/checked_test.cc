#include "lake/base/checked.h"

#include <gtest/gtest.h>

namespace lake {
namespace {

constexpr uint64_t kMax = UINT64_MAX;

TEST(CheckedTest, AddAndMultiplyNoticeOverflow) {
  EXPECT_EQ(CheckedAdd<uint64_t>(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedAdd<uint64_t>(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedAdd<int32_t>(INT32_MIN, -1), std::nullopt);
  EXPECT_EQ(CheckedMul<uint64_t>(1ull << 32, (1ull << 32) - 1), (1ull << 32) * ((1ull << 32) - 1));
  EXPECT_EQ(CheckedMul<uint64_t>(1ull << 32, 1ull << 32), std::nullopt);
  EXPECT_EQ(CheckedMul<int64_t>(INT64_MIN, -1), std::nullopt);
}

TEST(CheckedTest, RangeFitsIsExactAtTheEdges) {
  EXPECT_TRUE(RangeFits(0, 0, 0));
  EXPECT_TRUE(RangeFits(10, 0, 10));
  EXPECT_TRUE(RangeFits(3, 7, 10));
  EXPECT_FALSE(RangeFits(3, 8, 10));
  EXPECT_FALSE(RangeFits(11, 0, 10));
  EXPECT_FALSE(RangeFits(kMax, kMax, 10));
  EXPECT_FALSE(RangeFits(1, kMax, kMax));
  EXPECT_TRUE(RangeFits(1, kMax - 1, kMax));
}

TEST(CheckedTest, RoundingUp) {
  EXPECT_EQ(CeilDiv<uint64_t>(0, 8), 0u);
  EXPECT_EQ(CeilDiv<uint64_t>(1, 8), 1u);
  EXPECT_EQ(CeilDiv<uint64_t>(8, 8), 1u);
  EXPECT_EQ(CeilDiv<uint64_t>(kMax, 2), (1ull << 63));
  EXPECT_EQ(RoundUp(0, 64), 0u);
  EXPECT_EQ(RoundUp(65, 64), 128u);
  EXPECT_EQ(RoundUp(128, 64), 128u);
}

}  // namespace
}  // namespace lake
