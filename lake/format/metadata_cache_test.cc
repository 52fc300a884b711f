#include "lake/format/metadata_cache.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace lake::format {
namespace {

std::shared_ptr<const std::string> Text(const char* text) {
  return std::make_shared<const std::string>(text);
}

TEST(LruCacheTest, TheLeastRecentlyUsedGoFirst) {
  LruCache<int, const std::string> cache(100);
  cache.Put(1, Text("a"), 40);
  cache.Put(2, Text("b"), 40);
  EXPECT_EQ(*cache.Find(1), "a");
  cache.Put(3, Text("c"), 40);
  EXPECT_EQ(cache.Find(2), nullptr);
  EXPECT_EQ(*cache.Find(1), "a");
  EXPECT_EQ(*cache.Find(3), "c");
  EXPECT_EQ(cache.stats().bytes, 80u);
  EXPECT_EQ(cache.stats().entries, 2u);
  EXPECT_EQ(cache.stats().hits, 3u);
  EXPECT_EQ(cache.stats().misses, 1u);
}

TEST(LruCacheTest, WhatIsLargerThanTheBoundIsNotKept) {
  LruCache<int, const std::string> cache(100);
  cache.Put(1, Text("a"), 40);
  cache.Put(1, Text("b"), 101);
  EXPECT_EQ(cache.Find(1), nullptr);
  EXPECT_EQ(cache.stats().bytes, 0u);
}

TEST(LruCacheTest, AValueIsReplacedWithItsBytes) {
  LruCache<int, const std::string> cache(100);
  cache.Put(1, Text("a"), 70);
  cache.Put(1, Text("b"), 60);
  EXPECT_EQ(*cache.Find(1), "b");
  EXPECT_EQ(cache.stats().bytes, 60u);
  cache.Erase(1);
  EXPECT_EQ(cache.Find(1), nullptr);
  EXPECT_EQ(cache.stats().bytes, 0u);
}

TEST(FileCacheTest, FilesAndKindsDoNotMixAndLeaveWithTheirReader) {
  const CacheStats before = MetadataCache::Process()->stats();
  {
    FileCache<std::string> one;
    FileCache<int> other;
    one.Put(7, Text("seven"), 10);
    EXPECT_EQ(other.Find(7), nullptr);
    other.Put(7, std::make_shared<const int>(7), 10);
    EXPECT_EQ(*one.Find(7), "seven");
    EXPECT_EQ(*other.Find(7), 7);
    EXPECT_EQ(MetadataCache::Process()->stats().entries, before.entries + 2);
  }
  EXPECT_EQ(MetadataCache::Process()->stats().entries, before.entries);
  EXPECT_EQ(MetadataCache::Process()->stats().bytes, before.bytes);
}

}  // namespace
}  // namespace lake::format
