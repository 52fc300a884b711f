#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "lake/base/context.h"
#include "lake/base/mutex.h"
#include "lake/table/dataset.h"
#include "lake/table/fragment_source.h"

namespace lake::table {

/// Fetches the bytes of a scan's morsels ahead on the I/O pool, a bounded number of bytes at a
/// time. Whatever is not fetched when it is wanted is fetched by who wants it, so that a scan never
/// waits for a pool that is busy. Thread-safe.
class ReadAhead : public std::enable_shared_from_this<ReadAhead> {
 public:
  using Fetched = std::unique_ptr<FetchedFragment>;
  /// Fetches one morsel. Called on any thread.
  using Fetch = std::function<Result<Fetched>(const Context& context, size_t morsel)>;

  /// At most `max_bytes` are fetched and not taken, `morsel_bytes` is what one takes at most.
  ReadAhead(size_t num_morsels, Fetch fetch, Prefetch mode, uint64_t max_bytes,
            uint64_t morsel_bytes);

  /// The bytes of `morsel`, once; starts to fetch those behind it.
  Result<Fetched> Take(const Context& context, size_t morsel);

  /// Returns once no fetch runs, lets none begin and lets go of what was fetched: what their
  /// contexts point to may go away then.
  void Stop();

  /// Morsels that were fetched before they were wanted.
  uint64_t num_ahead() const { return num_ahead_.load(std::memory_order_relaxed); }

 private:
  enum class State { kIdle, kQueued, kRunning, kDone, kTaken };
  struct Slot {
    State state = State::kIdle;
    Status status;
    Fetched fetched;
  };

  Result<Fetched> FetchNow(const Context& context, size_t morsel);
  void StartBehind(const Context& context, size_t morsel);
  void Run(const Context& context, size_t morsel);

  const size_t num_morsels_;
  const Fetch fetch_;
  const Prefetch mode_;
  /// Morsels that may be fetched and not taken.
  const size_t window_;
  /// Set once reads were seen to wait.
  std::atomic<bool> waits_{false};
  std::atomic<uint64_t> num_ahead_{0};

  Mutex mutex_;
  CondVar done_;
  /// Of morsels that are not idle.
  std::unordered_map<size_t, Slot> slots_ LAKE_GUARDED_BY(mutex_);
  size_t outstanding_ LAKE_GUARDED_BY(mutex_) = 0;
  size_t num_running_ LAKE_GUARDED_BY(mutex_) = 0;
};

}  // namespace lake::table
