#include "lake/format/block_cache.h"

#include <gtest/gtest.h>

#include "lake/format/byte_buffer.h"

namespace lake::format {
namespace {

constexpr size_t kMiB = 1 << 20;

TEST(BlockCacheTest, ABlockIsUsedAgainWhileThereIsALease) {
  {
    const BlockCache::Lease lease(4 * kMiB);
    size_t size = 2 * kMiB;
    void* const block = BlockCache::Allocate(&size);
    BlockCache::Free(block, size);
    EXPECT_EQ(BlockCache::kept_bytes(), size);
    size_t smaller = kMiB + 1;
    EXPECT_EQ(BlockCache::Allocate(&smaller), block);
    EXPECT_EQ(smaller, size);
    EXPECT_EQ(BlockCache::kept_bytes(), 0);
    BlockCache::Free(block, size);
  }
  EXPECT_EQ(BlockCache::kept_bytes(), 0);
}

TEST(BlockCacheTest, NoMoreIsKeptThanTheLeaseAllows) {
  const BlockCache::Lease lease(3 * kMiB);
  for (int i = 0; i < 5; ++i) {
    ByteBuffer first, second;
    first.Extend(2 * kMiB);
    second.Extend(2 * kMiB);
  }
  EXPECT_GT(BlockCache::kept_bytes(), 0);
  EXPECT_LE(BlockCache::kept_bytes(), 3 * kMiB);
}

TEST(BlockCacheTest, WhatIsInUseLeavesLessToBeKept) {
  const BlockCache::Lease lease(4 * kMiB);
  ByteBuffer().Extend(2 * kMiB);
  EXPECT_GT(BlockCache::kept_bytes(), 0);
  size_t size = 3 * kMiB;
  void* const block = BlockCache::Allocate(&size);
  EXPECT_EQ(BlockCache::kept_bytes(), 0);
  ByteBuffer().Extend(2 * kMiB);
  EXPECT_EQ(BlockCache::kept_bytes(), 0);
  BlockCache::Free(block, size);
  EXPECT_EQ(BlockCache::kept_bytes(), size);
}

TEST(BlockCacheTest, MuchLargerBlocksAreNotGivenForSmallOnes) {
  const BlockCache::Lease lease(16 * kMiB);
  size_t size = 8 * kMiB;
  BlockCache::Free(BlockCache::Allocate(&size), size);
  size_t small = kMiB;
  void* const block = BlockCache::Allocate(&small);
  EXPECT_EQ(small, kMiB);
  BlockCache::Free(block, small);
}

TEST(ByteBufferTest, KeepsItsBytesWhenItGrows) {
  const BlockCache::Lease lease(16 * kMiB);
  for (int round = 0; round < 3; ++round) {
    ByteBuffer buffer;
    for (uint32_t i = 0; i < 300'000; ++i) buffer.AppendValue(i * 7);
    for (uint32_t i = 0; i < 300'000; ++i) ASSERT_EQ(buffer.as<uint32_t>()[i], i * 7);
  }
}

}  // namespace
}  // namespace lake::format
