#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "lake/base/error.h"
#include "lake/base/mutex.h"
#include "lake/base/thread_pool.h"

namespace lake::format {

/// Tasks of a file's writer that run on a pool and on the thread that waits for them, first in
/// first out: what is made of them comes in the order of Submit, whoever ran them. The owner is one
/// thread; the tasks are any.
class EncodeQueue {
 public:
  explicit EncodeQueue(ThreadPool* pool) : pool_(pool) {}
  /// Tasks that have not begun never do; waits for those that have.
  ~EncodeQueue();

  EncodeQueue(const EncodeQueue&) = delete;
  EncodeQueue& operator=(const EncodeQueue&) = delete;

  /// Queues `work`, which runs once, on any thread, and then `finish`, which runs in FinishOldest.
  /// Neither may throw anything but std::bad_alloc, which FinishOldest throws. `bytes` is the
  /// memory that the task holds meanwhile.
  void Submit(uint64_t bytes, std::function<Status()> work, std::function<Status()> finish);

  bool empty() const { return tasks_.empty(); }
  /// Of all tasks that are not finished.
  uint64_t bytes() const { return bytes_; }

  /// Whether FinishOldest would not wait. REQUIRES: !empty().
  bool oldest_has_ended() const;

  /// Waits for the oldest task, running others itself meanwhile, and finishes it; its error if it
  /// has one. REQUIRES: !empty().
  Status FinishOldest();

 private:
  struct Task;

  ThreadPool* const pool_;
  std::deque<std::shared_ptr<Task>> tasks_;
  uint64_t bytes_ = 0;
};

}  // namespace lake::format
