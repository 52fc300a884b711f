#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "lake/base/context.h"

namespace lake::query {

/// Interrupts queries whose context was cancelled or ran out of time: one call into DuckDB can run
/// for seconds without looking at either. Thread-safe.
class Watchdog {
 public:
  Watchdog() = default;
  ~Watchdog();

  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Watches while it lives.
  class Guard {
   public:
    /// Calls `interrupt` from the watchdog's thread, repeatedly while `context.Check()` fails. It
    /// must be callable from any thread until this guard is gone.
    Guard(Watchdog* watchdog, Context context, std::function<void()> interrupt);
    ~Guard();

    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Watchdog* const watchdog_;
    uint64_t id_ = 0;
  };

 private:
  struct Watched {
    Context context;
    std::function<void()> interrupt;
  };

  void Run();

  // Not lake::Mutex: the wait has a time.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, Watched> watched_;
  uint64_t next_id_ = 1;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace lake::query
