#include "lake/format/encode_queue.h"

#include <atomic>
#include <exception>
#include <utility>

namespace lake::format {
namespace {

constexpr uint64_t kWorthAThread = 64 * 1024;

}  // namespace

struct EncodeQueue::Task {
  std::function<Status()> work;
  std::function<Status()> finish;
  uint64_t bytes = 0;
  std::atomic<bool> begun{false};

  Mutex mutex;
  CondVar ended_signal;
  bool ended LAKE_GUARDED_BY(mutex) = false;
  Status status;
  std::exception_ptr exception;

  /// True if this call ran it: a task runs once.
  bool RunIfNew() {
    if (begun.exchange(true)) return false;
    try {
      status = work();
    } catch (...) {
      exception = std::current_exception();
    }
    work = nullptr;
    MutexLock lock(&mutex);
    ended = true;
    ended_signal.SignalAll();
    return true;
  }

  void Wait() {
    MutexLock lock(&mutex);
    while (!ended) ended_signal.Wait(&mutex);
  }
};

EncodeQueue::~EncodeQueue() {
  for (const auto& task : tasks_) {
    if (task->begun.exchange(true)) task->Wait();
  }
}

void EncodeQueue::Submit(uint64_t bytes, std::function<Status()> work,
                         std::function<Status()> finish) {
  auto task = std::make_shared<Task>();
  task->work = std::move(work);
  task->finish = std::move(finish);
  task->bytes = bytes;
  tasks_.push_back(task);
  bytes_ += bytes;
  // A small task is over before another thread is awake.
  if (bytes >= kWorthAThread) pool_->Submit([task] { task->RunIfNew(); });
}

bool EncodeQueue::oldest_has_ended() const {
  const std::shared_ptr<Task>& oldest = tasks_.front();
  MutexLock lock(&oldest->mutex);
  return oldest->ended;
}

Status EncodeQueue::FinishOldest() {
  const std::shared_ptr<Task> oldest = tasks_.front();
  if (!oldest->RunIfNew()) {
    // Somebody else runs it: help with the others, as long as there are any.
    for (size_t i = 1; i < tasks_.size(); ++i) {
      {
        MutexLock lock(&oldest->mutex);
        if (oldest->ended) break;
      }
      tasks_[i]->RunIfNew();
    }
    oldest->Wait();
  }
  tasks_.pop_front();
  bytes_ -= oldest->bytes;
  if (oldest->exception) std::rethrow_exception(oldest->exception);
  ARROW_RETURN_NOT_OK(oldest->status);
  return oldest->finish();
}

}  // namespace lake::format
