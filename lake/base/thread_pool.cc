#include "lake/base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

namespace lake {

ThreadPool::ThreadPool(size_t num_threads) {
  threads_.reserve(num_threads);
  for (size_t i = 0; i < num_threads; ++i) threads_.emplace_back([this] { Run(); });
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  available_.SignalAll();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::Submit(std::function<void()> task) {
  {
    MutexLock lock(&mutex_);
    queue_.push_back(std::move(task));
  }
  available_.Signal();
}

void ThreadPool::Run() {
  while (true) {
    std::function<void()> task;
    {
      MutexLock lock(&mutex_);
      while (queue_.empty() && !stopping_) available_.Wait(&mutex_);
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task();
  }
}

ThreadPool* IoThreadPool() {
  // Never destroyed: threads may still use it while static objects go away at exit.
  static ThreadPool* pool = new ThreadPool(8);
  return pool;
}

ThreadPool* CpuThreadPool() {
  static ThreadPool* pool = new ThreadPool(std::max(1u, std::thread::hardware_concurrency()));
  return pool;
}

ThreadPool* ScanThreadPool() {
  static ThreadPool* pool = new ThreadPool(std::max(1u, std::thread::hardware_concurrency()));
  return pool;
}

namespace {

struct ParallelState {
  explicit ParallelState(size_t count) : remaining(count), statuses(count) {}

  std::atomic<size_t> next{0};
  Mutex mutex;
  CondVar done;
  size_t remaining LAKE_GUARDED_BY(mutex);
  std::vector<Status> statuses;
};

void RunTasks(ParallelState* state, size_t count, const std::function<Status(size_t)>& task) {
  for (size_t i = state->next++; i < count; i = state->next++) {
    state->statuses[i] = task(i);
    MutexLock lock(&state->mutex);
    if (--state->remaining == 0) state->done.SignalAll();
  }
}

}  // namespace

Status ParallelFor(ThreadPool* pool, size_t count, const std::function<Status(size_t)>& task) {
  if (count == 0) return Status::OK();
  auto state = std::make_shared<ParallelState>(count);
  size_t helpers = std::min(count - 1, pool->num_threads());
  for (size_t i = 0; i < helpers; ++i) {
    // A helper that starts late finds no index left and never touches `task`.
    pool->Submit([state, count, &task] { RunTasks(state.get(), count, task); });
  }
  RunTasks(state.get(), count, task);
  {
    MutexLock lock(&state->mutex);
    while (state->remaining > 0) state->done.Wait(&state->mutex);
  }
  for (Status& status : state->statuses) {
    if (!status.ok()) return std::move(status);
  }
  return Status::OK();
}

}  // namespace lake
