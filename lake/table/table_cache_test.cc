#include "lake/table/table_cache.h"

#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/format/metadata_cache.h"
#include "lake/storage/local_store.h"
#include "lake/table/testing/table_fixture_internal.h"

namespace lake::table {
namespace {

class TableCacheTest : public TableFixture {
 protected:
  TableCacheTest() { store_ = storage::OpenLocalStore(folder_.path() + "/t").ValueOrDie(); }

  /// Opens the folder as another caller would.
  std::vector<int64_t> OpenAndScan() {
    store_ = storage::OpenLocalStore(folder_.path() + "/t").ValueOrDie();
    return ScanIds({});
  }

  TestFolder folder_;
};

TEST_F(TableCacheTest, ReopeningReadsNoFooterAndNoManifestAgain) {
  Create(5000, 1000);
  ASSERT_EQ(OpenAndScan(), Range(0, 5000));
  TableCache* const cache = TableCache::Process();
  const format::CacheStats readers = cache->reader_stats();
  const format::CacheStats manifests = cache->manifest_stats();
  const format::CacheStats metadata = format::MetadataCache::Process()->stats();
  ASSERT_EQ(OpenAndScan(), Range(0, 5000));
  EXPECT_EQ(cache->reader_stats().hits - readers.hits, 5u);
  EXPECT_EQ(cache->reader_stats().misses, readers.misses);
  EXPECT_EQ(cache->manifest_stats().misses, manifests.misses);
  EXPECT_GT(cache->manifest_stats().hits, manifests.hits);
  EXPECT_EQ(format::MetadataCache::Process()->stats().misses, metadata.misses);
}

TEST_F(TableCacheTest, WhatThisProcessCommittedItDoesNotRead) {
  Create(100, 100);
  const format::CacheStats before = TableCache::Process()->manifest_stats();
  for (uint64_t version = 1; version < 4; ++version) {
    ASSERT_EQ(Open()->manifest().version(), version);
    auto fragment = PutFakeFragment(context(), store_.get(), SmallSchema(), 3).ValueOrDie();
    ASSERT_TRUE(Commit(context(), store_, MakeAppend(context(), version, {fragment}), {}).ok());
  }
  // One behind others reads of theirs what their commits have put.
  auto fragment = PutFakeFragment(context(), store_.get(), SmallSchema(), 3).ValueOrDie();
  ASSERT_TRUE(Commit(context(), store_, MakeAppend(context(), 1, {fragment}), {}).ok());
  EXPECT_EQ(Open()->manifest().fragments().size(), 5u);
  EXPECT_EQ(TableCache::Process()->manifest_stats().misses, before.misses);
}

TEST_F(TableCacheTest, ANewVersionIsSeenAtOnce) {
  Create(100, 100);
  ASSERT_EQ(OpenAndScan(), Range(0, 100));
  Delete(0, {0, 1, 2});
  EXPECT_EQ(OpenAndScan(), Range(3, 100));
}

TEST_F(TableCacheTest, ATableInPlaceOfAnotherIsNotTakenForIt) {
  Create(100, 100);
  ASSERT_EQ(OpenAndScan(), Range(0, 100));
  for (const std::string& prefix : {"_versions/", "_transactions/", "data/"}) {
    for (const auto& object : storage::ListAll(store_.get(), context(), prefix).ValueOrDie()) {
      ASSERT_TRUE(store_->Delete(context(), object.key).ok());
    }
  }
  Create(70, 100);
  EXPECT_EQ(OpenAndScan(), Range(0, 70));
}

TEST_F(TableCacheTest, KeepsNoMoreThanItsBytes) {
  Create(5000, 100);
  TableCache small(/*max_reader_bytes=*/200 << 10, /*max_manifest_bytes=*/1);
  auto dataset = Open();
  for (const Fragment& fragment : dataset->manifest().fragments()) {
    const std::string key = "data/" + fragment.files[0].path;
    auto reader = format::FileReader::Open(context(), store_, key).ValueOrDie();
    small.PutReader("s", key, 1, reader);
    EXPECT_LE(small.reader_stats().bytes, size_t{200} << 10);
  }
  EXPECT_GT(small.reader_stats().entries, 0u);
  small.PutManifest("s", {.key = "m", .size = 100}, dataset->shared_manifest());
  EXPECT_EQ(small.FindManifest("s", {.key = "m", .size = 100}), nullptr);
}

TEST_F(TableCacheTest, StoresWithoutIdentityShareNothing) {
  store_ = storage::MakeMemoryStore();
  EXPECT_EQ(store_->identity(), "");
  Create(100, 100);
  ASSERT_EQ(ScanIds({}), Range(0, 100));
  const format::CacheStats before = TableCache::Process()->reader_stats();
  ASSERT_EQ(ScanIds({}), Range(0, 100));
  EXPECT_EQ(TableCache::Process()->reader_stats().hits, before.hits);
}

}  // namespace
}  // namespace lake::table
