#include "lake/base/memory_budget.h"

#include <atomic>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace lake {
namespace {

TEST(MemoryBudgetTest, GivesUpToTheLimitAndNamesWhoAskedForMore) {
  auto budget = MemoryBudget::Make(100);
  auto first = budget->Reserve(60, "scan");
  ASSERT_TRUE(first.ok());
  auto second = budget->Reserve(41, "writer of 'a'");
  EXPECT_EQ(CodeOf(second.status()), ErrorCode::kOutOfMemory);
  EXPECT_NE(second.status().message().find("writer of 'a'"), std::string::npos);
  EXPECT_NE(second.status().message().find("memory_limit"), std::string::npos);
  EXPECT_EQ(budget->used(), 60);
  EXPECT_TRUE(budget->Reserve(40, "writer").ok());
}

TEST(MemoryBudgetTest, DestructionGivesBack) {
  auto budget = MemoryBudget::Make(100);
  {
    auto reservation = budget->Reserve(100, "x");
    MemoryReservation moved = *std::move(reservation);
    EXPECT_EQ(moved.bytes(), 100);
    EXPECT_EQ(budget->used(), 100);
  }
  EXPECT_EQ(budget->used(), 0);
  EXPECT_EQ(budget->peak(), 100);
}

TEST(MemoryBudgetTest, MoveAssignmentGivesBackTheOldOne) {
  auto budget = MemoryBudget::Make(100);
  MemoryReservation reservation = *budget->Reserve(30, "x");
  reservation = *budget->Reserve(50, "y");
  EXPECT_EQ(reservation.bytes(), 50);
  EXPECT_EQ(budget->used(), 50);
}

TEST(MemoryBudgetTest, ResizeKeepsTheOldSizeWhenItFails) {
  auto budget = MemoryBudget::Make(100);
  MemoryReservation reservation = *budget->Reserve(30, "x");
  EXPECT_TRUE(reservation.Resize(90).ok());
  EXPECT_EQ(CodeOf(reservation.Resize(101)), ErrorCode::kOutOfMemory);
  EXPECT_EQ(reservation.bytes(), 90);
  EXPECT_EQ(budget->used(), 90);
  EXPECT_TRUE(reservation.Resize(10).ok());
  EXPECT_EQ(budget->used(), 10);
}

TEST(MemoryBudgetTest, HugeRequestsDoNotOverflow) {
  auto budget = MemoryBudget::Make(std::numeric_limits<int64_t>::max());
  MemoryReservation reservation = *budget->Reserve(1000, "x");
  EXPECT_FALSE(budget->Reserve(std::numeric_limits<int64_t>::max(), "y").ok());
  EXPECT_TRUE(budget->Reserve(std::numeric_limits<int64_t>::max() - 1000, "z").ok());
}

TEST(MemoryBudgetTest, ManyThreadsNeverExceedTheLimit) {
  auto budget = MemoryBudget::Make(1000);
  std::atomic<int> granted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        if (budget->Reserve(300 + i % 5, "x").ok()) ++granted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(granted, 0);
  EXPECT_LE(budget->peak(), 1000);
  EXPECT_EQ(budget->used(), 0);
}

TEST(MemoryBudgetTest, DefaultIsSomethingReal) { EXPECT_GT(DefaultMemoryLimit(), 16 << 20); }

}  // namespace
}  // namespace lake
