#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "lake/base/error.h"
#include "lake/base/mutex.h"

namespace lake {

/// A fixed set of threads that run tasks first-in first-out. Thread-safe.
/// The destructor runs what is still queued and joins.
class ThreadPool {
 public:
  explicit ThreadPool(size_t num_threads);
  ~ThreadPool();

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Queues `task`, which must not throw.
  void Submit(std::function<void()> task) LAKE_EXCLUDES(mutex_);

  size_t num_threads() const { return threads_.size(); }

 private:
  void Run() LAKE_EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar available_;
  std::deque<std::function<void()>> queue_ LAKE_GUARDED_BY(mutex_);
  bool stopping_ LAKE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

/// The pool for blocking storage calls, made at first use, sized for latency rather than cores.
/// Tasks on it never wait for other tasks on it.
ThreadPool* IoThreadPool();

/// The pool for computing, one thread per core, made at first use. Tasks on it never wait for other
/// tasks on it, nor for storage.
ThreadPool* CpuThreadPool();

/// The pool for tasks that read storage and compute with what they read, such as the morsels of a
/// scan: one thread per core, made at first use. Tasks on it never wait for other tasks on it, and
/// what only computes is not behind them.
ThreadPool* ScanThreadPool();

/// Runs `task(0)` .. `task(count - 1)`, on `pool` where it has room and on the calling thread, and
/// returns when all have ended: OK, or the error of the lowest index. All tasks run even if one
/// fails.
Status ParallelFor(ThreadPool* pool, size_t count, const std::function<Status(size_t)>& task);

}  // namespace lake
