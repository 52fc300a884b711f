#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "lake/base/mutex.h"

namespace lake::format {

/// Immutable values by number, bounded by the bytes they take; the least recently used go first. A
/// value larger than the bound is not kept. Thread-safe.
template <typename Value>
class LruCache {
 public:
  explicit LruCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Null if it is not here.
  std::shared_ptr<const Value> Find(uint64_t key) LAKE_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->value;
  }

  /// Keeps `value`, in place of one that is here.
  void Put(uint64_t key, std::shared_ptr<const Value> value, size_t bytes) LAKE_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    Remove(key);
    if (bytes > max_bytes_) return;
    while (bytes_ + bytes > max_bytes_) Remove(order_.back().key);
    order_.push_front({key, std::move(value), bytes});
    entries_[key] = order_.begin();
    bytes_ += bytes;
  }

 private:
  struct Entry {
    uint64_t key;
    std::shared_ptr<const Value> value;
    size_t bytes;
  };

  void Remove(uint64_t key) LAKE_REQUIRES(mutex_) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    bytes_ -= found->second->bytes;
    order_.erase(found->second);
    entries_.erase(found);
  }

  const size_t max_bytes_;
  Mutex mutex_;
  std::list<Entry> order_ LAKE_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, typename std::list<Entry>::iterator> entries_
      LAKE_GUARDED_BY(mutex_);
  size_t bytes_ LAKE_GUARDED_BY(mutex_) = 0;
};

}  // namespace lake::format
