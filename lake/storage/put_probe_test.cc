#include "lake/storage/put_probe.h"

#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/storage/local_store.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"

namespace lake::storage {
namespace {

/// A store that forgets to look, as some S3 servers do.
class CarelessStore : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  Status Put(const Context& context, const std::string& key, std::string_view bytes,
             PutCondition) override {
    return FaultyStore::Put(context, key, bytes, PutCondition::kNone);
  }
};

/// A store that says "exists", but has overwritten all the same.
class LyingStore : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  Status Put(const Context& context, const std::string& key, std::string_view bytes,
             PutCondition condition) override {
    MutexLock lock(&put_mutex_);
    Status status = FaultyStore::Put(context, key, bytes, condition);
    if (!status.ok()) {
      ARROW_RETURN_NOT_OK(FaultyStore::Put(context, key, bytes, PutCondition::kNone));
    }
    return status;
  }

 private:
  Mutex put_mutex_;
};

TEST(PutProbeTest, GoodStoresPassAndStayEmpty) {
  Context context;
  TestFolder folder;
  for (const auto& store : {MakeMemoryStore(), *OpenLocalStore(folder / "root")}) {
    Status status = ProbeConditionalPut(context, store.get(), "tables");
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(ListAll(store.get(), context, "")->empty());
  }
}

TEST(PutProbeTest, AStoreWithSeveralWinnersIsRefused) {
  Context context;
  CarelessStore store(MakeMemoryStore());
  Status status = ProbeConditionalPut(context, &store, "tables");
  EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported);
  EXPECT_NE(status.message().find("8 of 8"), std::string::npos) << status.message();
  EXPECT_TRUE(ListAll(&store, context, "")->empty());
}

TEST(PutProbeTest, AStoreWhereTheLastOneWinsIsRefused) {
  Context context;
  LyingStore store(MakeMemoryStore());
  EXPECT_EQ(CodeOf(ProbeConditionalPut(context, &store, "tables")), ErrorCode::kUnsupported);
}

TEST(PutProbeTest, AnErrorIsNoVerdict) {
  Context context;
  FaultyStore store(MakeMemoryStore());
  store.FailMatching([](const StoreCall&) { return true; }, Fault::kError);
  Status status = ProbeConditionalPut(context, &store, "tables");
  EXPECT_EQ(CodeOf(status), ErrorCode::kIo);
  EXPECT_TRUE(IsRetryable(status));
}

}  // namespace
}  // namespace lake::storage
