#include "lake/format/encode_queue.h"

#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lake::format {
namespace {

constexpr uint64_t kLarge = 1 << 20;

TEST(EncodeQueueTest, FinishesInTheOrderOfSubmitWhoeverRanTheWork) {
  ThreadPool pool(3);
  EncodeQueue queue(&pool);
  std::vector<int> finished;
  std::vector<int> made(100, 0);
  for (int i = 0; i < 100; ++i) {
    // Every other task is small and stays on this thread.
    queue.Submit(
        i % 2 == 0 ? kLarge : 1,
        [&made, i] {
          made[i] = i + 1;
          return Status::OK();
        },
        [&finished, &made, i] {
          finished.push_back(made[i]);
          return Status::OK();
        });
  }
  EXPECT_EQ(queue.bytes(), 50 * kLarge + 50);
  while (!queue.empty()) ASSERT_TRUE(queue.FinishOldest().ok());
  EXPECT_EQ(queue.bytes(), 0);
  ASSERT_EQ(finished.size(), 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(finished[i], i + 1);
}

TEST(EncodeQueueTest, SaysWhetherTheOldestHasEnded) {
  ThreadPool pool(1);
  EncodeQueue queue(&pool);
  // Small tasks run in FinishOldest.
  queue.Submit(1, [] { return Status::OK(); }, [] { return Status::OK(); });
  EXPECT_FALSE(queue.oldest_has_ended());
  ASSERT_TRUE(queue.FinishOldest().ok());
  queue.Submit(kLarge, [] { return Status::OK(); }, [] { return Status::OK(); });
  while (!queue.oldest_has_ended()) std::this_thread::yield();
  ASSERT_TRUE(queue.FinishOldest().ok());
}

TEST(EncodeQueueTest, GoesOnWithoutThePoolsThreads) {
  Mutex mutex;
  CondVar released;
  bool release = false;
  ThreadPool pool(1);
  pool.Submit([&] {
    MutexLock lock(&mutex);
    while (!release) released.Wait(&mutex);
  });
  EncodeQueue queue(&pool);
  int ran = 0;
  for (int i = 0; i < 3; ++i) {
    queue.Submit(kLarge, [&ran] { return ++ran, Status::OK(); }, [] { return Status::OK(); });
  }
  while (!queue.empty()) ASSERT_TRUE(queue.FinishOldest().ok());
  EXPECT_EQ(ran, 3);
  MutexLock lock(&mutex);
  release = true;
  released.Signal();
}

TEST(EncodeQueueTest, AnErrorComesInItsTurnAndSkipsTheFinish) {
  ThreadPool pool(2);
  EncodeQueue queue(&pool);
  bool finished = false;
  queue.Submit(kLarge, [] { return Status::OK(); }, [] { return Status::OK(); });
  queue.Submit(
      kLarge, [] { return Error(ErrorCode::kInternal, "broken"); },
      [&finished] { return finished = true, Status::OK(); });
  queue.Submit(kLarge, []() -> Status { throw std::bad_alloc(); }, [] { return Status::OK(); });
  EXPECT_TRUE(queue.FinishOldest().ok());
  EXPECT_EQ(CodeOf(queue.FinishOldest()), ErrorCode::kInternal);
  EXPECT_FALSE(finished);
  EXPECT_THROW(static_cast<void>(queue.FinishOldest()), std::bad_alloc);
  EXPECT_TRUE(queue.empty());
}

TEST(EncodeQueueTest, WorkThatHasNotBegunIsDroppedAtTheEnd) {
  ThreadPool pool(1);
  int finished = 0;
  {
    EncodeQueue queue(&pool);
    for (int i = 0; i < 10; ++i) {
      queue.Submit(
          kLarge, [] { return Status::OK(); }, [&finished] { return ++finished, Status::OK(); });
    }
  }
  EXPECT_EQ(finished, 0);
}

}  // namespace
}  // namespace lake::format
