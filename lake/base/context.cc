#include "lake/base/context.h"

#include "lake/base/recycling_pool.h"

namespace lake {

Status Context::Check() const {
  if (cancel.cancelled()) return MakeError(ErrorCode::kCancelled, "cancelled");
  if (deadline != std::numeric_limits<int64_t>::max() && clock->MonotonicNanos() >= deadline) {
    return MakeError(ErrorCode::kDeadlineExceeded, "deadline exceeded", /*retryable=*/true);
  }
  return Status::OK();
}

arrow::MemoryPool* Context::pool() const {
  return memory_pool != nullptr ? memory_pool : ProcessMemoryPool();
}

}  // namespace lake
