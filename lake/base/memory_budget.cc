#include "lake/base/memory_budget.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>

#include <unistd.h>

namespace lake {

MemoryReservation::MemoryReservation(MemoryReservation&& other) noexcept
    : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryReservation& MemoryReservation::operator=(MemoryReservation&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryReservation::~MemoryReservation() {
  if (budget_ != nullptr) budget_->Give(bytes_);
}

Status MemoryReservation::Resize(int64_t bytes) {
  if (budget_ == nullptr) return Status::OK();
  if (bytes > bytes_ && !budget_->TryTake(bytes - bytes_)) {
    return Error(ErrorCode::kOutOfMemory,
                 "memory limit reached: {} bytes more are needed, {} of {} are in use; raise "
                 "memory_limit or read less at once",
                 bytes - bytes_, budget_->used(), budget_->limit());
  }
  if (bytes < bytes_) budget_->Give(bytes_ - bytes);
  bytes_ = bytes;
  return Status::OK();
}

std::shared_ptr<MemoryBudget> MemoryBudget::Make(int64_t limit) {
  return std::shared_ptr<MemoryBudget>(new MemoryBudget(limit));
}

Result<MemoryReservation> MemoryBudget::Reserve(int64_t bytes, const std::string& purpose) {
  if (!TryTake(bytes)) {
    return Error(ErrorCode::kOutOfMemory,
                 "memory limit reached by {}: {} bytes are needed, {} of {} are in use; raise "
                 "memory_limit or read less at once",
                 purpose, bytes, used(), limit_);
  }
  return MemoryReservation(shared_from_this(), bytes);
}

bool MemoryBudget::TryTake(int64_t bytes) {
  int64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < used + bytes &&
         !peak_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

void MemoryBudget::Give(int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

int64_t DefaultMemoryLimit() {
  int64_t total = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    int64_t limit = 0;
    // cgroup v2 says "max" for no limit, which fails to parse.
    if (file >> limit && limit > 0) total = std::min(total, limit);
  }
  return total / 2;
}

}  // namespace lake
