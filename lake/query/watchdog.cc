#include "lake/query/watchdog.h"

#include <chrono>
#include <utility>

namespace lake::query {
namespace {

constexpr std::chrono::milliseconds kPeriod{10};

}  // namespace

Watchdog::~Watchdog() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Watchdog::Guard::Guard(Watchdog* watchdog, Context context, std::function<void()> interrupt)
    : watchdog_(watchdog) {
  {
    std::lock_guard lock(watchdog_->mutex_);
    id_ = watchdog_->next_id_++;
    watchdog_->watched_.emplace(id_, Watched{std::move(context), std::move(interrupt)});
    if (!watchdog_->thread_.joinable()) {
      watchdog_->thread_ = std::thread([watchdog = watchdog_] { watchdog->Run(); });
    }
  }
  watchdog_->changed_.notify_all();
}

Watchdog::Guard::~Guard() {
  std::lock_guard lock(watchdog_->mutex_);
  watchdog_->watched_.erase(id_);
}

void Watchdog::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (watched_.empty()) {
      changed_.wait(lock);
      continue;
    }
    // The lock is held so that a guard cannot go while its query is being interrupted.
    for (auto& [id, watched] : watched_) {
      if (!watched.context.Check().ok()) watched.interrupt();
    }
    changed_.wait_for(lock, kPeriod);
  }
}

}  // namespace lake::query
