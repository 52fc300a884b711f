#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "lake/base/mutex.h"

namespace lake::format {

/// How a cache was used.
struct CacheStats {
  uint64_t hits = 0;
  uint64_t misses = 0;
  /// What it holds now.
  size_t bytes = 0;
  size_t entries = 0;
};

/// Immutable values by key, bounded by the bytes they take; the least recently used go first. A
/// value larger than the bound is not kept. Thread-safe.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class LruCache {
 public:
  explicit LruCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Null if it is not here.
  std::shared_ptr<Value> Find(const Key& key) LAKE_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
      ++misses_;
      return nullptr;
    }
    ++hits_;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->value;
  }

  /// Keeps `value`, in place of one that is here.
  void Put(const Key& key, std::shared_ptr<Value> value, size_t bytes) LAKE_EXCLUDES(mutex_) {
    // What goes is destroyed after the lock is released.
    std::list<Entry> gone;
    MutexLock lock(&mutex_);
    Remove(key, &gone);
    if (bytes > max_bytes_) return;
    while (bytes_ + bytes > max_bytes_) Remove(order_.back().key, &gone);
    order_.push_front({key, std::move(value), bytes});
    entries_[key] = order_.begin();
    bytes_ += bytes;
  }

  void Erase(const Key& key) LAKE_EXCLUDES(mutex_) {
    std::list<Entry> gone;
    MutexLock lock(&mutex_);
    Remove(key, &gone);
  }

  CacheStats stats() LAKE_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    return {hits_, misses_, bytes_, entries_.size()};
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<Value> value;
    size_t bytes;
  };

  void Remove(const Key& key, std::list<Entry>* gone) LAKE_REQUIRES(mutex_) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    const typename std::list<Entry>::iterator entry = found->second;
    entries_.erase(found);
    bytes_ -= entry->bytes;
    gone->splice(gone->begin(), order_, entry);
  }

  const size_t max_bytes_;
  Mutex mutex_;
  std::list<Entry> order_ LAKE_GUARDED_BY(mutex_);
  std::unordered_map<Key, typename std::list<Entry>::iterator, Hash> entries_
      LAKE_GUARDED_BY(mutex_);
  size_t bytes_ LAKE_GUARDED_BY(mutex_) = 0;
  uint64_t hits_ LAKE_GUARDED_BY(mutex_) = 0;
  uint64_t misses_ LAKE_GUARDED_BY(mutex_) = 0;
};

}  // namespace lake::format
