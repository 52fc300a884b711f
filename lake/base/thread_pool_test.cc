#include "lake/base/thread_pool.h"

#include <atomic>
#include <latch>
#include <set>

#include <gtest/gtest.h>

namespace lake {
namespace {

TEST(ThreadPoolTest, DestructorRunsWhatIsQueued) {
  std::atomic<int> ran = 0;
  {
    ThreadPool pool(2);
    for (int i = 0; i < 100; ++i) pool.Submit([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 100);
}

TEST(ThreadPoolTest, TasksRunAtTheSameTime) {
  std::latch all_here(4);
  ThreadPool pool(3);
  for (int i = 0; i < 3; ++i) pool.Submit([&all_here] { all_here.arrive_and_wait(); });
  // Ends only if all three tasks are inside at once.
  all_here.arrive_and_wait();
}

TEST(ParallelForTest, RunsEachIndexOnce) {
  ThreadPool pool(3);
  for (size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> runs(count);
    ASSERT_TRUE(ParallelFor(&pool, count, [&](size_t i) {
                  ++runs[i];
                  return Status::OK();
                }).ok());
    for (auto& run : runs) ASSERT_EQ(run, 1);
  }
}

TEST(ParallelForTest, ReturnsTheErrorOfTheLowestIndexAndRunsTheRest) {
  ThreadPool pool(3);
  std::atomic<size_t> runs = 0;
  Status status = ParallelFor(&pool, 100, [&](size_t i) -> Status {
    ++runs;
    if (i % 10 == 7) return Error(ErrorCode::kIo, "index {}", i);
    return Status::OK();
  });
  EXPECT_EQ(ErrorText(status), "index 7");
  EXPECT_EQ(runs, 100u);
}

TEST(ParallelForTest, WorksWhenThePoolIsBusy) {
  std::latch release(1);
  ThreadPool pool(1);
  pool.Submit([&release] { release.wait(); });
  // The calling thread does all the work itself.
  std::atomic<int> runs = 0;
  EXPECT_TRUE(ParallelFor(&pool, 10, [&](size_t) {
                ++runs;
                return Status::OK();
              }).ok());
  EXPECT_EQ(runs, 10);
  release.count_down();
}

TEST(ParallelForTest, NestsOnTheSamePool) {
  ThreadPool pool(2);
  std::atomic<int> runs = 0;
  EXPECT_TRUE(ParallelFor(&pool, 5, [&](size_t) {
                return ParallelFor(&pool, 5, [&](size_t) {
                  ++runs;
                  return Status::OK();
                });
              }).ok());
  EXPECT_EQ(runs, 25);
}

}  // namespace
}  // namespace lake
