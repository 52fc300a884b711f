#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/storage/local_store.h"
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

class CommitQueueTest : public TableFixture {};

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
