#include "lake/storage/testing/faulty_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/storage/memory_store.h"

namespace lake::storage {
namespace {

using ::testing::ElementsAre;

class FaultyStoreTest : public ::testing::Test {
 protected:
  Status Put(const std::string& key) {
    return store_.Put(context_, key, key, PutCondition::kIfAbsent);
  }
  bool Exists(const std::string& key) { return inner_->Head(context_, key).ok(); }

  std::vector<std::string> CallTexts() {
    std::vector<std::string> texts;
    for (const StoreCall& call : store_.calls()) texts.push_back(call.ToString());
    return texts;
  }

  Context context_;
  std::shared_ptr<ObjectStore> inner_ = MakeMemoryStore();
  FaultyStore store_{inner_};
};

TEST_F(FaultyStoreTest, ErrorHasNoEffectAndIsRetryable) {
  store_.FailCall(1, Fault::kError);
  EXPECT_TRUE(Put("a").ok());
  Status status = Put("b");
  EXPECT_EQ(CodeOf(status), ErrorCode::kIo);
  EXPECT_TRUE(IsRetryable(status));
  EXPECT_FALSE(Exists("b"));
  EXPECT_TRUE(Put("b").ok());
  EXPECT_EQ(store_.num_injected(), 1u);
}

TEST_F(FaultyStoreTest, EffectThenErrorHappensAndIsRetryable) {
  store_.FailCall(0, Fault::kEffectThenError);
  Status status = Put("a");
  EXPECT_EQ(CodeOf(status), ErrorCode::kIo);
  EXPECT_TRUE(IsRetryable(status));
  EXPECT_TRUE(Exists("a"));
  EXPECT_EQ(CodeOf(Put("a")), ErrorCode::kPreconditionFailed);
}

TEST_F(FaultyStoreTest, NothingWorksAfterACrash) {
  for (Fault fault : {Fault::kCrash, Fault::kEffectThenCrash}) {
    SCOPED_TRACE(std::string(FaultName(fault)));
    const std::string key(FaultName(fault));
    auto staged = store_.Stage(context_, "staged", "");
    store_.FailMatching([&](const StoreCall& call) { return call.key == key; }, fault);
    Status status = Put(key);
    EXPECT_EQ(CodeOf(status), ErrorCode::kIo);
    EXPECT_FALSE(IsRetryable(status));
    EXPECT_TRUE(store_.crashed());
    EXPECT_EQ(Exists(key), fault == Fault::kEffectThenCrash);
    EXPECT_FALSE(IsRetryable(store_.List(context_, {}).status()));
    EXPECT_FALSE(store_.Delete(context_, key).ok());
    EXPECT_FALSE((*staged)->Publish(context_, PutCondition::kNone).ok());
    EXPECT_FALSE(Exists("staged"));
    store_.Reset();
    EXPECT_TRUE(Put("after " + key).ok());
  }
}

TEST_F(FaultyStoreTest, MatchingFaultsWearOut) {
  store_.FailMatching([](const StoreCall& call) { return call.operation == StoreOperation::kPut; },
                      Fault::kError, 2);
  EXPECT_TRUE(store_.List(context_, {}).ok());
  EXPECT_FALSE(Put("a").ok());
  EXPECT_FALSE(Put("a").ok());
  EXPECT_TRUE(Put("a").ok());
  EXPECT_EQ(store_.num_injected(), 2u);
}

TEST_F(FaultyStoreTest, ARealErrorIsPassedOn) {
  ASSERT_TRUE(Put("a").ok());
  store_.FailMatching([](const StoreCall&) { return true; }, Fault::kEffectThenError);
  EXPECT_EQ(CodeOf(Put("a")), ErrorCode::kPreconditionFailed);
}

TEST_F(FaultyStoreTest, CountsCallsOfWritersAndStagedObjects) {
  auto writer = store_.OpenWriter(context_, "w", PutCondition::kNone);
  ASSERT_TRUE((*writer)->Write("12").ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  auto staged = store_.Stage(context_, "s", "345");
  StagedObject* const objects[] = {staged->get()};
  const std::string keys[] = {"w"};
  ASSERT_TRUE(store_.Sync(context_, keys, objects).ok());
  ASSERT_TRUE((*staged)->Publish(context_, PutCondition::kIfAbsent).ok());
  ASSERT_TRUE(ListAll(&store_, context_, "p/").ok());
  EXPECT_THAT(CallTexts(), ElementsAre("open_writer w", "write w", "finish w", "stage s",
                                       "sync w s", "publish s", "list p/"));
  EXPECT_EQ(store_.calls()[1].bytes, 2u);
  EXPECT_EQ(store_.calls()[3].bytes, 3u);
}

// The way in which commits are swept: each call under each fault exactly once.
TEST_F(FaultyStoreTest, EveryCallCanBeHit) {
  auto operation = [this](ObjectStore* store) -> Status {
    ARROW_ASSIGN_OR_RAISE(auto staged, store->Stage(context_, "s", "x"));
    StagedObject* const objects[] = {staged.get()};
    ARROW_RETURN_NOT_OK(store->Sync(context_, {}, objects));
    return staged->Publish(context_, PutCondition::kIfAbsent);
  };
  ASSERT_TRUE(operation(&store_).ok());
  const size_t num_calls = store_.calls().size();
  ASSERT_EQ(num_calls, 3u);
  for (size_t number = 0; number < num_calls; ++number) {
    for (Fault fault : kAllFaults) {
      FaultyStore fresh(MakeMemoryStore());
      fresh.FailCall(number, fault);
      EXPECT_FALSE(operation(&fresh).ok());
      EXPECT_EQ(fresh.num_injected(), 1u);
      EXPECT_EQ(fresh.calls().size(), number + 1);
    }
  }
}

}  // namespace
}  // namespace lake::storage
