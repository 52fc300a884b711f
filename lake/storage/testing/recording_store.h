#pragma once

#include <memory>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/storage/testing/intercepted_store.h"

namespace lake::storage {

/// A store that remembers its calls, to prove how often and what is read, written and synced.
/// Thread-safe.
class RecordingStore : public InterceptedStore {
 public:
  explicit RecordingStore(std::shared_ptr<ObjectStore> inner)
      : InterceptedStore(std::move(inner)) {}

  /// In the order in which they began.
  std::vector<StoreCall> calls() const LAKE_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    return calls_;
  }

  size_t Count(StoreOperation operation) const LAKE_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    size_t count = 0;
    for (const StoreCall& call : calls_) count += call.operation == operation ? 1 : 0;
    return count;
  }

  void Clear() LAKE_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    calls_.clear();
  }

  Status Around(const Context& context, const StoreCall& call,
                const std::function<Status()>& effect) override LAKE_EXCLUDES(mutex_) {
    {
      MutexLock lock(&mutex_);
      calls_.push_back(call);
    }
    return effect();
  }

 private:
  mutable Mutex mutex_;
  std::vector<StoreCall> calls_ LAKE_GUARDED_BY(mutex_);
};

}  // namespace lake::storage
