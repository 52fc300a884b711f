#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/storage/local_store.h"
#include "lake/storage/testing/intercepted_store.h"
#include "lake/table/commit_queue_internal.h"
#include "lake/table/testing/table_fixture_internal.h"

namespace lake::table {
namespace {

TEST(CommitTurnTest, OneThreadAtATimeHasTheTurnOfATable) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const auto turn = CommitTurn::Take(Context(), "table");
        ASSERT_TRUE(turn.ok());
        if (++inside > most) most = inside.load();
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(CommitTurnTest, TablesDoNotWaitForEachOtherNorStoresWithoutIdentity) {
  std::vector<std::unique_ptr<CommitTurn>> turns;
  for (const char* identity : {"a", "b", "", ""}) {
    turns.push_back(CommitTurn::Take(Context(), identity).ValueOrDie());
  }
}

TEST(CommitTurnTest, WhoGivesUpLeavesTheTurnToOthers) {
  auto first = CommitTurn::Take(Context(), "a").ValueOrDie();
  Context cancelled;
  std::thread waiter(
      [&] { EXPECT_EQ(CodeOf(CommitTurn::Take(cancelled, "a").status()), ErrorCode::kCancelled); });
  std::thread next([] { EXPECT_TRUE(CommitTurn::Take(Context(), "a").ok()); });
  cancelled.cancel.Cancel();
  waiter.join();
  first.reset();
  next.join();
  EXPECT_TRUE(CommitTurn::Take(Context(), "a").ok());
}

TEST(HintIsDueTest, NotMoreOftenThanTenTimesASecondForEachTable) {
  constexpr int64_t kInterval = 100'000'000;
  EXPECT_TRUE(HintIsDue("hints a", 5));
  EXPECT_FALSE(HintIsDue("hints a", 5));
  EXPECT_FALSE(HintIsDue("hints a", 4 + kInterval));
  EXPECT_TRUE(HintIsDue("hints b", 6));
  EXPECT_TRUE(HintIsDue("hints a", 5 + kInterval));
  EXPECT_FALSE(HintIsDue("hints a", 6 + kInterval));
  // Of another clock.
  EXPECT_TRUE(HintIsDue("hints a", 1));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(HintIsDue("", 5));
  // What is remembered is bounded.
  for (int i = 0; i < 5000; ++i) EXPECT_TRUE(HintIsDue(std::to_string(i), 5));
}

/// Holds the first sync of a manifest's name until it is let go.
class HoldsFirstName : public storage::InterceptedStore {
 public:
  using InterceptedStore::InterceptedStore;
  std::string identity() const override { return "holds the first name"; }
  Status Around(const Context& context, const storage::StoreCall& call,
                const std::function<Status()>& effect) override {
    const bool is_name =
        call.operation == storage::StoreOperation::kSync && call.key.starts_with("_versions/");
    if (is_name && !held_.exchange(true)) {
      reached.set_value();
      let_go.get_future().wait();
    }
    return effect();
  }

  std::promise<void> reached;
  std::promise<void> let_go;

 private:
  std::atomic<bool> held_{false};
};

class CommitQueueTest : public TableFixture {};

TEST_F(CommitQueueTest, TheNextCommitDoesNotWaitForTheSyncOfAName) {
  Create(10, 10);
  auto store = std::make_shared<HoldsFirstName>(store_);
  auto append = [&](uint64_t seed) -> Result<CommitResult> {
    FakeSurroundings mine(seed);
    ARROW_ASSIGN_OR_RAISE(Fragment fragment,
                          PutFakeFragment(mine.context(), store_.get(), SmallSchema(), 3));
    Context context = mine.context();
    context.clock = SystemClock();
    context.deadline = context.clock->MonotonicNanos() + 60'000'000'000;
    return Commit(context, store, MakeAppend(context, 1, {fragment}), {});
  };
  auto first = std::async(std::launch::async, append, 100);
  store->reached.get_future().wait();
  const Result<CommitResult> second = append(101);
  store->let_go.set_value();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->version, 3u);
  const Result<CommitResult> held = first.get();
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->version, 2u);
  EXPECT_EQ(held->lost_attempts + second->lost_attempts, 0);
}

TEST_F(CommitQueueTest, ThreadsOfOneProcessLoseNoAttempts) {
  TestFolder folder;
  store_ = storage::OpenLocalStore(folder / "t").ValueOrDie();
  Create(10, 10);
  std::atomic<int> lost{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      FakeSurroundings mine(100 + t);
      for (int i = 0; i < 5; ++i) {
        auto fragment = PutFakeFragment(mine.context(), store_.get(), SmallSchema(), 3);
        ASSERT_TRUE(fragment.ok()) << fragment.status();
        auto done = Commit(mine.context(), store_, MakeAppend(mine.context(), 1, {*fragment}), {});
        ASSERT_TRUE(done.ok()) << done.status();
        lost += done->lost_attempts;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(Open()->manifest().version(), 21u);
}

TEST_F(CommitQueueTest, AHintIsNotWrittenForEachVersion) {
  TestFolder folder;
  store_ = storage::OpenLocalStore(folder / "t").ValueOrDie();
  Create(10, 10);
  for (const bool due : {true, false, false}) {
    auto fragment = PutFakeFragment(context(), store_.get(), SmallSchema(), 3).ValueOrDie();
    EXPECT_EQ(Commit(context(), store_, MakeAppend(context(), 1, {fragment}), {})->hint_is_due,
              due);
  }
  auto hint = store_->GetAll(context(), "_versions/latest_version_hint.json", 100).ValueOrDie();
  EXPECT_EQ(hint->ToString(), "{\"version\":2}");
}

TEST_F(CommitQueueTest, ACommitThatWaitsKeepsItsDeadline) {
  TestFolder folder;
  store_ = storage::OpenLocalStore(folder / "t").ValueOrDie();
  Create(10, 10);
  auto fragment = PutFakeFragment(context(), store_.get(), SmallSchema(), 3).ValueOrDie();
  Transaction append = MakeAppend(context(), 1, {fragment});
  append.new_objects = {"data/" + fragment.files[0].path};
  const auto turn = CommitTurn::Take(context(), store_->identity()).ValueOrDie();
  Context limited = context();
  limited.deadline = limited.clock->MonotonicNanos();
  CommitOptions options;
  EXPECT_EQ(CodeOf(Commit(limited, store_, append, options).status()),
            ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(CodeOf(store_->Head(context(), append.new_objects[0]).status()), ErrorCode::kNotFound);
  // A put of an attempt before may have been sent.
  options.replay_base = 1;
  EXPECT_TRUE(IsCommitStateUnknown(Commit(limited, store_, append, options).status()));
}

}  // namespace
}  // namespace lake::table
