#include "lake/commit/lease_keeper.h"

#include <limits>
#include <utility>

namespace lake::commit {
namespace {

Context WithoutCancel(Context context) {
  // The lease is kept until the writer lets go of it, which it does soon after a cancellation.
  context.cancel = CancelToken();
  context.deadline = std::numeric_limits<int64_t>::max();
  return context;
}

}  // namespace

LeaseKeeper::LeaseKeeper(const Context& context, std::shared_ptr<catalog::Metastore> metastore,
                         catalog::Entry entry, std::chrono::nanoseconds interval)
    : context_(WithoutCancel(context)),
      metastore_(std::move(metastore)),
      interval_(interval),
      entry_(std::move(entry)),
      thread_([this] { Run(); }) {}

LeaseKeeper::~LeaseKeeper() { Release(); }

void LeaseKeeper::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_requested_.wait_for(lock, interval_, [this] { return stopping_; })) {
    // A lost row stays lost; another error may pass before the lease ends.
    RenewLocked().ok();
  }
}

Status LeaseKeeper::RenewLocked() {
  if (!lost_.ok()) return lost_;
  Result<catalog::Entry> renewed = metastore_->RenewCreate(context_, entry_, kLeaseNanos);
  if (renewed.ok()) {
    entry_ = *std::move(renewed);
    return Status::OK();
  }
  if (CodeOf(renewed.status()) == ErrorCode::kConflict) lost_ = renewed.status();
  return renewed.status();
}

Status LeaseKeeper::EnsureHeld() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!lost_.ok()) return lost_;
  const int64_t left = entry_.lease_expires_nanos - context_.clock->UnixNanos();
  if (left >= kLeaseNanos / 2) return Status::OK();
  return RenewLocked();
}

catalog::Entry LeaseKeeper::entry() {
  std::lock_guard<std::mutex> lock(mutex_);
  return entry_;
}

catalog::Entry LeaseKeeper::Release() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  stop_requested_.notify_all();
  if (thread_.joinable()) thread_.join();
  return entry_;
}

}  // namespace lake::commit
