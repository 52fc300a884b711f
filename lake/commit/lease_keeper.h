#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "lake/base/context.h"
#include "lake/catalog/metastore.h"

namespace lake::commit {

/// Keeps the lease of a row in state creating while its rows stream, from a thread of its own: a
/// writer may wait for its source longer than a lease lasts. Thread-safe.
class LeaseKeeper {
 public:
  static constexpr int64_t kLeaseNanos = 30'000'000'000;

  /// Starts to renew, every `interval`; `entry` was just begun.
  LeaseKeeper(const Context& context, std::shared_ptr<catalog::Metastore> metastore,
              catalog::Entry entry,
              std::chrono::nanoseconds interval = std::chrono::nanoseconds(kLeaseNanos / 3));
  /// Stops to renew.
  ~LeaseKeeper();

  /// OK if the row is still ours for at least half a lease, renewing it if need be; else why not.
  Status EnsureHeld();

  /// The row as it was renewed last.
  catalog::Entry entry();

  /// Stops to renew and gives the row as it was renewed last.
  catalog::Entry Release();

 private:
  void Run();
  Status RenewLocked();

  const Context context_;
  const std::shared_ptr<catalog::Metastore> metastore_;
  const std::chrono::nanoseconds interval_;
  // std::mutex, because the thread waits with a timeout.
  std::mutex mutex_;
  std::condition_variable stop_requested_;
  bool stopping_ = false;
  catalog::Entry entry_;
  Status lost_;
  std::thread thread_;
};

}  // namespace lake::commit
