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
        CommitTurn turn("table");
        if (++inside > most) most = inside.load();
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
}

TEST(CommitTurnTest, TablesDoNotWaitForEachOtherNorStoresWithoutIdentity) {
  CommitTurn one("a");
  CommitTurn other("b");
  CommitTurn nobody("");
  CommitTurn nobody_either("");
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

}  // namespace
}  // namespace lake::table
