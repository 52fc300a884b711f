#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "lake/base/cancel.h"
#include "lake/base/clock.h"
#include "lake/base/error.h"
#include "lake/base/memory_budget.h"
#include "lake/base/random.h"

namespace arrow {
class MemoryPool;
}

namespace lake {

/// What a call carries down: clock, random source, cancellation, deadline, memory, trace.
/// Cheap to copy; a plain value. The pointers outlive every call made with it.
/// Who is asking (the principal) is never in here: it is an argument of its own.
struct Context {
  const Clock* clock = SystemClock();
  Random* random = SystemRandom();
  CancelToken cancel;
  /// In the clock's monotonic nanoseconds; INT64_MAX for none.
  int64_t deadline = std::numeric_limits<int64_t>::max();
  /// Where Arrow buffers are allocated; null means ProcessMemoryPool().
  arrow::MemoryPool* memory_pool = nullptr;
  std::shared_ptr<MemoryBudget> memory = MemoryBudget::Make(std::numeric_limits<int64_t>::max());
  /// Shown in logs, so that the lines of one request can be found. May be empty.
  std::string trace;

  /// OK, or kCancelled / kDeadlineExceeded. Long loops call it between steps.
  Status Check() const;

  /// The pool to allocate from; never null.
  arrow::MemoryPool* pool() const;
};

}  // namespace lake
