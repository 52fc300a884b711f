#include "lake/format/page_statistics.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace lake::format {
namespace {

template <typename T>
IntegerStatistics Of(const std::vector<T>& values) {
  return ComputeStatistics(std::span<const T>(values));
}

TEST(PageStatisticsTest, RunsAcrossBlocks) {
  EXPECT_EQ(Of<uint32_t>({}).runs, 0);
  EXPECT_EQ(Of<uint32_t>({5}).runs, 1);
  EXPECT_EQ(Of<uint32_t>(std::vector<uint32_t>(5000, 5)).runs, 1);
  EXPECT_TRUE(Of<uint32_t>(std::vector<uint32_t>(5000, 5)).all_equal());
  std::vector<uint32_t> values(5000, 5);
  values[1024] = 6;
  EXPECT_EQ(Of(values).runs, 3);
  values[0] = 9;
  EXPECT_EQ(Of(values).runs, 4);
  EXPECT_FALSE(Of(values).all_equal());
}

TEST(PageStatisticsTest, SizesFollowTheValues) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> wide(10'000);
  std::vector<uint64_t> narrow(10'000);
  std::vector<uint64_t> runs(10'000);
  for (size_t i = 0; i < wide.size(); ++i) {
    wide[i] = random();
    narrow[i] = random() % 1000;
    runs[i] = random();
    if (i % 200 != 0) runs[i] = runs[i - 1];
  }
  EXPECT_EQ(Of(wide).best_bytes(), Of(wide).flat_bytes);
  EXPECT_EQ(Of(wide).run_bytes, IntegerStatistics::kNever);
  EXPECT_EQ(Of(narrow).best_bytes(), Of(narrow).bitpacked_bytes);
  EXPECT_LT(Of(narrow).bitpacked_bytes, 10'000 * 11 / 8);
  EXPECT_EQ(Of(runs).best_bytes(), Of(runs).run_bytes);
  EXPECT_LT(Of(runs).run_bytes, 60 * 9 + 5 * 40);
}

}  // namespace
}  // namespace lake::format
