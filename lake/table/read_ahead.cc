#include <algorithm>
#include <utility>

#include "lake/base/thread_pool.h"
#include "lake/table/read_ahead_internal.h"

namespace lake::table {

namespace {

// Reads slower than this wait for something; from the system's memory they are several times as
// fast, and another thread would only make the bytes travel between cores.
constexpr double kBytesPerNano = 1.0;
// A wait that is shorter is not worth another thread.
constexpr int64_t kMinWaitNanos = 500'000;

}  // namespace

ReadAhead::ReadAhead(size_t num_morsels, Fetch fetch, Prefetch mode, uint64_t max_bytes,
                     uint64_t morsel_bytes)
    : num_morsels_(num_morsels),
      fetch_(std::move(fetch)),
      mode_(mode),
      window_(static_cast<size_t>(max_bytes / std::max<uint64_t>(morsel_bytes, 1))) {}

Result<ReadAhead::Fetched> ReadAhead::FetchNow(const Context& context, size_t morsel) {
  const int64_t begin = context.clock->MonotonicNanos();
  ARROW_ASSIGN_OR_RAISE(Fetched fetched, fetch_(context, morsel));
  const int64_t nanos = context.clock->MonotonicNanos() - begin;
  if (nanos > kMinWaitNanos &&
      static_cast<double>(fetched->bytes()) < static_cast<double>(nanos) * kBytesPerNano) {
    waits_.store(true, std::memory_order_relaxed);
  }
  return fetched;
}

void ReadAhead::Run(const Context& context, size_t morsel) {
  {
    MutexLock lock(&mutex_);
    // Somebody wanted it before this pool came to it.
    if (slots_[morsel].state != State::kQueued) return;
    slots_[morsel].state = State::kRunning;
    ++num_running_;
  }
  Result<Fetched> fetched = FetchNow(context, morsel);
  MutexLock lock(&mutex_);
  Slot& slot = slots_[morsel];
  --num_running_;
  slot.state = State::kDone;
  slot.status = fetched.status();
  if (fetched.ok()) slot.fetched = *std::move(fetched);
  done_.SignalAll();
}

void ReadAhead::StartBehind(const Context& context, size_t morsel) {
  if (mode_ == Prefetch::kNever) return;
  if (mode_ == Prefetch::kAuto && !waits_.load(std::memory_order_relaxed)) return;
  std::vector<size_t> started;
  {
    MutexLock lock(&mutex_);
    for (size_t next = morsel + 1; next < num_morsels_ && outstanding_ < window_; ++next) {
      if (next - morsel > window_) break;
      Slot& slot = slots_[next];
      if (slot.state != State::kIdle) continue;
      slot.state = State::kQueued;
      ++outstanding_;
      started.push_back(next);
    }
  }
  for (const size_t next : started) {
    IoThreadPool()->Submit(
        [self = shared_from_this(), context, next] { self->Run(context, next); });
  }
}

void ReadAhead::Stop() {
  MutexLock lock(&mutex_);
  for (auto& [morsel, slot] : slots_) {
    if (slot.state == State::kQueued) slot.state = State::kTaken;
  }
  while (num_running_ > 0) done_.Wait(&mutex_);
  // Tasks that are still queued keep this object: what was fetched must not wait for them.
  for (auto& [morsel, slot] : slots_) {
    slot.state = State::kTaken;
    slot.fetched.reset();
  }
}

Result<ReadAhead::Fetched> ReadAhead::Take(const Context& context, size_t morsel) {
  StartBehind(context, morsel);
  {
    MutexLock lock(&mutex_);
    Slot& slot = slots_[morsel];
    if (slot.state == State::kRunning || slot.state == State::kDone) {
      num_ahead_.fetch_add(1, std::memory_order_relaxed);
      while (slot.state != State::kDone) done_.Wait(&mutex_);
      slot.state = State::kTaken;
      --outstanding_;
      ARROW_RETURN_NOT_OK(slot.status);
      return std::move(slot.fetched);
    }
    if (slot.state == State::kQueued) --outstanding_;
    // Also one that is read a second time.
    slot.state = State::kTaken;
  }
  return FetchNow(context, morsel);
}

}  // namespace lake::table
