#include "lake/commit/put_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/commit/testing/status_matchers.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"
#include "lake/storage/testing/recording_store.h"

namespace lake::commit {
namespace {

using storage::StoreOperation;

// A store that ignores the condition of a put.
class CarelessStore : public storage::RecordingStore {
 public:
  explicit CarelessStore(std::shared_ptr<ObjectStore> inner) : RecordingStore(std::move(inner)) {}
  Status Put(const Context& context, const std::string& key, std::string_view bytes,
             storage::PutCondition) override {
    return RecordingStore::Put(context, key, bytes, storage::PutCondition::kNone);
  }
};

// A store that says "exists" but overwrites all the same.
class LyingStore : public storage::RecordingStore {
 public:
  explicit LyingStore(std::shared_ptr<ObjectStore> inner) : RecordingStore(std::move(inner)) {}
  Status Put(const Context& context, const std::string& key, std::string_view bytes,
             storage::PutCondition condition) override {
    MutexLock lock(&mutex_);
    Status put = RecordingStore::Put(context, key, bytes, condition);
    if (!put.ok()) {
      ARROW_RETURN_NOT_OK(RecordingStore::Put(context, key, "x", storage::PutCondition::kNone));
    }
    return put;
  }

 private:
  Mutex mutex_;
};

TEST(PutProbeTest, AGoodStorePassesAndKeepsNothing) {
  Context context;
  auto store = std::make_shared<storage::RecordingStore>(storage::MakeMemoryStore());
  ASSERT_OK(ProbeConditionalPut(context, store.get(), "tmp/p"));
  EXPECT_EQ(store->Count(StoreOperation::kPut), 8u);
  EXPECT_TRUE(storage::ListAll(store.get(), context, "")->empty());
}

TEST(PutProbeTest, AStoreWithoutConditionalPutIsRefusedByName) {
  Context context;
  CarelessStore careless(storage::MakeMemoryStore());
  Status status = ProbeConditionalPut(context, &careless, "tmp/p");
  EXPECT_CODE(ErrorCode::kUnsupported, status);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("conditional put"));
  EXPECT_TRUE(storage::ListAll(&careless, context, "")->empty());

  LyingStore lying(storage::MakeMemoryStore());
  EXPECT_CODE(ErrorCode::kUnsupported, ProbeConditionalPut(context, &lying, "tmp/p"));
}

TEST(PutProbeTest, AFailingStoreIsAnError) {
  Context context;
  storage::FaultyStore store(storage::MakeMemoryStore());
  store.FailMatching(
      [](const storage::StoreCall& call) { return storage::IsWrite(call.operation); },
      storage::Fault::kError);
  EXPECT_CODE(ErrorCode::kIo, ProbeConditionalPut(context, &store, "tmp/p"));
}

}  // namespace
}  // namespace lake::commit
