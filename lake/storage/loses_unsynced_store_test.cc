#include "lake/storage/testing/loses_unsynced_store.h"

#include <arrow/buffer.h>
#include <gtest/gtest.h>

namespace lake::storage {
namespace {

class LosesUnsyncedStoreTest : public ::testing::Test {
 protected:
  void Put(const std::string& key, const std::string& bytes) {
    ASSERT_TRUE(store_.Put(context_, key, bytes, PutCondition::kNone).ok());
  }
  void Sync(const std::string& key) { ASSERT_TRUE(store_.Sync(context_, {&key, 1}, {}).ok()); }
  std::string Read(const std::string& key) {
    auto bytes = store_.GetAll(context_, key, 1000);
    return bytes.ok() ? (*bytes)->ToString() : std::string(ErrorCodeName(CodeOf(bytes.status())));
  }

  Context context_;
  LosesUnsyncedStore store_;
};

TEST_F(LosesUnsyncedStoreTest, KeepsOnlyWhatWasSynced) {
  Put("synced", "1");
  Put("not synced", "2");
  Sync("synced");
  EXPECT_EQ(Read("not synced"), "2");
  store_.Crash();
  EXPECT_EQ(Read("synced"), "1");
  EXPECT_EQ(Read("not synced"), "not_found");
  store_.Crash();
  EXPECT_EQ(Read("synced"), "1");
}

TEST_F(LosesUnsyncedStoreTest, ReplacingAndDeletingIsNotDurable) {
  Put("replaced", "old");
  Put("deleted", "old");
  Sync("replaced");
  Sync("deleted");
  Put("replaced", "new");
  ASSERT_TRUE(store_.Delete(context_, "deleted").ok());
  store_.Crash();
  EXPECT_EQ(Read("replaced"), "old");
  EXPECT_EQ(Read("deleted"), "old");
  Put("replaced", "new");
  Sync("replaced");
  store_.Crash();
  EXPECT_EQ(Read("replaced"), "new");
}

TEST_F(LosesUnsyncedStoreTest, ADeletionIsDurableOnceItIsSynced) {
  for (const char* key : {"f/a", "f/b", "g/a"}) {
    Put(key, "old");
    Sync(key);
  }
  for (const char* key : {"f/a", "g/a"}) ASSERT_TRUE(store_.Delete(context_, key).ok());
  Sync("f/");
  store_.Crash();
  EXPECT_EQ(Read("f/a"), "not_found");
  EXPECT_EQ(Read("f/b"), "old");
  EXPECT_EQ(Read("g/a"), "old");
}

TEST_F(LosesUnsyncedStoreTest, APublishedNameNeedsItsOwnSync) {
  for (bool sync_name : {false, true}) {
    auto staged = store_.Stage(context_, "s", "bytes");
    ASSERT_TRUE(staged.ok());
    StagedObject* const objects[] = {staged->get()};
    ASSERT_TRUE(store_.Sync(context_, {}, objects).ok());
    ASSERT_TRUE((*staged)->Publish(context_, PutCondition::kIfAbsent).ok());
    if (sync_name) Sync("s");
    store_.Crash();
    EXPECT_EQ(Read("s"), sync_name ? "bytes" : "not_found");
  }
}

TEST_F(LosesUnsyncedStoreTest, WritersFromBeforeTheCrashHaveNoEffect) {
  auto writer = store_.OpenWriter(context_, "w", PutCondition::kNone);
  auto staged = store_.Stage(context_, "s", "");
  store_.Crash();
  (void)(*writer)->Finish();
  (void)(*staged)->Publish(context_, PutCondition::kNone);
  EXPECT_EQ(Read("w"), "not_found");
  EXPECT_EQ(Read("s"), "not_found");
}

TEST_F(LosesUnsyncedStoreTest, AFailedSyncCoversNothing) {
  Put("a", "1");
  const std::string keys[] = {"a", "missing"};
  EXPECT_EQ(CodeOf(store_.Sync(context_, keys, {})), ErrorCode::kNotFound);
  store_.Crash();
  EXPECT_EQ(Read("a"), "not_found");
}

}  // namespace
}  // namespace lake::storage
