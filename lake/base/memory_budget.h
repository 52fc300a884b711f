#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "lake/base/error.h"

namespace lake {

class MemoryBudget;

/// Bytes taken from a MemoryBudget; given back on destruction. Movable, not copyable. Not
/// thread-safe.
class MemoryReservation {
 public:
  MemoryReservation() = default;
  MemoryReservation(MemoryReservation&& other) noexcept;
  MemoryReservation& operator=(MemoryReservation&& other) noexcept;
  ~MemoryReservation();

  int64_t bytes() const { return bytes_; }

  /// Grows or shrinks the reservation to `bytes`. On kOutOfMemory it keeps its old size.
  Status Resize(int64_t bytes);

 private:
  friend class MemoryBudget;
  MemoryReservation(std::shared_ptr<MemoryBudget> budget, int64_t bytes)
      : budget_(std::move(budget)), bytes_(bytes) {}

  std::shared_ptr<MemoryBudget> budget_;
  int64_t bytes_ = 0;
};

/// A bound on what scans and writers hold at once (`memory_limit`). Thread-safe.
class MemoryBudget : public std::enable_shared_from_this<MemoryBudget> {
 public:
  /// A budget of `limit` bytes; INT64_MAX for none.
  static std::shared_ptr<MemoryBudget> Make(int64_t limit);

  /// Takes `bytes` for `purpose` (named in the error), or kOutOfMemory without blocking.
  Result<MemoryReservation> Reserve(int64_t bytes, const std::string& purpose);

  int64_t limit() const { return limit_; }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  friend class MemoryReservation;
  explicit MemoryBudget(int64_t limit) : limit_(limit) {}
  bool TryTake(int64_t bytes);
  void Give(int64_t bytes);

  const int64_t limit_;
  std::atomic<int64_t> used_{0};
  std::atomic<int64_t> peak_{0};
};

/// Half of the memory that this process may use: the machine's, or the cgroup's where that is less.
int64_t DefaultMemoryLimit();

}  // namespace lake
