#include "lake/table/row_collector.h"

#include <algorithm>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::table {
namespace {

using ::testing::HasSubstr;

std::set<RowAddress> AddressesIn(const std::map<uint64_t, DeletionVector>& sets) {
  std::set<RowAddress> addresses;
  for (const auto& [fragment, rows] : sets) {
    const format::RowSelection selection = rows.Selection();
    for (const format::RowRange& range : selection.ranges()) {
      for (uint64_t row = range.start; row < range.end(); ++row) {
        addresses.insert(fragment << 32 | row);
      }
    }
  }
  return addresses;
}

TEST(RowCollectorTest, KeepsEachRowOnceWhateverTheOrder) {
  std::mt19937_64 engine(3);
  const Context context;
  for (const uint32_t most_row : {10u, 70'000u, UINT32_MAX}) {
    RowCollector collector(context, "rows");
    std::set<RowAddress> expected;
    uint64_t added = 0;
    for (int i = 0; i < 200; ++i) {
      std::vector<RowAddress> some;
      for (size_t n = engine() % 50; n > 0; --n) {
        some.push_back((engine() % 5) << 32 | engine() % (uint64_t{most_row} + 1));
      }
      added += some.size();
      expected.insert(some.begin(), some.end());
      ASSERT_TRUE(collector.Add(some).ok());
    }
    EXPECT_EQ(collector.num_added(), added);
    EXPECT_EQ(AddressesIn(collector.Take()), expected) << most_row;
    EXPECT_TRUE(collector.Take().empty());
  }
}

TEST(RowCollectorTest, TakesFromTheBudgetWhatRowsTake) {
  Context context;
  context.memory = MemoryBudget::Make(2 << 20);
  {
    // A row in ten of 5 million takes a bit for each of the ten.
    RowCollector collector(context, "rows to be deleted");
    std::vector<RowAddress> addresses;
    for (uint64_t row = 0; row < 5'000'000; row += 10) addresses.push_back(row);
    ASSERT_TRUE(collector.Add(addresses).ok());
    EXPECT_GT(context.memory->used(), 5'000'000 / 8 - 1);
  }
  EXPECT_EQ(context.memory->used(), 0);

  RowCollector collector(context, "rows to be deleted");
  Status status;
  for (uint64_t row = 0; status.ok() && row < UINT32_MAX;) {
    std::vector<RowAddress> addresses;
    for (int i = 0; i < 1000; ++i, row += 1000) addresses.push_back(7ull << 32 | row);
    status = collector.Add(addresses);
  }
  EXPECT_EQ(CodeOf(status), ErrorCode::kOutOfMemory);
  EXPECT_THAT(ErrorText(status), HasSubstr("rows to be deleted"));
  EXPECT_LE(context.memory->peak(), 2 << 20);
}

}  // namespace
}  // namespace lake::table
