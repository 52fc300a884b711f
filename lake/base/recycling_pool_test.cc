#include "lake/base/recycling_pool.h"

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <arrow/buffer.h>
#include <gtest/gtest.h>

namespace lake {
namespace {

constexpr int64_t kMib = 1 << 20;

TEST(RecyclingPoolTest, GivesAFreedBlockToTheNextOfItsSize) {
  RecyclingPool pool(64 * kMib);
  uint8_t* block = nullptr;
  ASSERT_TRUE(pool.Allocate(kMib, &block).ok());
  EXPECT_EQ(pool.bytes_allocated(), kMib);
  std::memset(block, 7, kMib);
  pool.Free(block, kMib);
  EXPECT_EQ(pool.bytes_allocated(), 0);
  EXPECT_EQ(pool.kept_bytes(), kMib);
  uint8_t* again = nullptr;
  ASSERT_TRUE(pool.Allocate(kMib - 1000, &again).ok());
  EXPECT_EQ(again, block);
  pool.Free(again, kMib - 1000);
  pool.ReleaseUnused();
  EXPECT_EQ(pool.kept_bytes(), 0);
}

TEST(RecyclingPoolTest, KeepsNoMoreThanItMay) {
  RecyclingPool pool(3 * kMib);
  std::vector<uint8_t*> blocks(5);
  for (uint8_t*& block : blocks) ASSERT_TRUE(pool.Allocate(kMib, &block).ok());
  for (uint8_t* block : blocks) pool.Free(block, kMib);
  EXPECT_LE(pool.kept_bytes(), 3 * kMib);
  uint8_t* large = nullptr;
  ASSERT_TRUE(pool.Allocate(RecyclingPool::kMaxKept + 1, &large).ok());
  large[RecyclingPool::kMaxKept] = 1;
  pool.Free(large, RecyclingPool::kMaxKept + 1);
  EXPECT_LE(pool.kept_bytes(), 3 * kMib);
}

TEST(RecyclingPoolTest, BuffersGrowAndShrinkWithTheirBytes) {
  RecyclingPool pool(64 * kMib);
  std::mt19937_64 random(5);
  auto buffer = arrow::AllocateResizableBuffer(1, &pool).ValueOrDie();
  buffer->mutable_data()[0] = 1;
  for (int i = 0; i < 300; ++i) {
    // Sizes of every class, both sides of the smallest block.
    const int64_t size = static_cast<int64_t>(1 + random() % (uint64_t{1} << random() % 24));
    const int64_t kept = std::min(size, buffer->size());
    const uint8_t last = buffer->data()[kept - 1];
    ASSERT_TRUE(buffer->Resize(size, /*shrink_to_fit=*/true).ok());
    ASSERT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    ASSERT_EQ(buffer->data()[kept - 1], last);
    std::memset(buffer->mutable_data(), i % 251, static_cast<size_t>(size));
  }
  buffer.reset();
  EXPECT_EQ(pool.bytes_allocated(), 0);
}

TEST(RecyclingPoolTest, ThreadsShareItsBlocks) {
  RecyclingPool pool(16 * kMib);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 500; ++i) {
        const int64_t size = static_cast<int64_t>(1 + random() % (4 * kMib));
        auto buffer = arrow::AllocateBuffer(size, &pool).ValueOrDie();
        buffer->mutable_data()[0] = static_cast<uint8_t>(t);
        buffer->mutable_data()[size - 1] = static_cast<uint8_t>(t);
        ASSERT_EQ(buffer->data()[0], t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.bytes_allocated(), 0);
  EXPECT_LE(pool.kept_bytes(), 16 * kMib);
}

TEST(RecyclingPoolTest, RefusesWhatNobodyHas) {
  RecyclingPool pool(kMib);
  uint8_t* block = nullptr;
  EXPECT_FALSE(pool.Allocate(INT64_MAX - 5, &block).ok());
  EXPECT_FALSE(pool.Allocate(int64_t{1} << 46, &block).ok() &&
               (pool.Free(block, int64_t{1} << 46), false));
}

}  // namespace
}  // namespace lake
