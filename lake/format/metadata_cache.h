#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "lake/base/mutex.h"
#include "lake/format/lru_cache.h"

namespace lake::format {

/// What the file readers of a process keep between reads: column metadata, and what pages need in
/// memory before rows can be found in them (tables of chunks, dictionaries). One bound for all
/// files. Thread-safe.
class MetadataCache {
 public:
  explicit MetadataCache(size_t max_bytes) : entries_(max_bytes) {}

  /// The one of this process.
  static MetadataCache* Process();

  CacheStats stats() { return entries_.stats(); }

 private:
  friend class FileCacheBase;

  using Key = std::pair<uint64_t, uint64_t>;
  struct Hash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>((key.first * 0x9E3779B97F4A7C15ull) ^
                                 (key.second * 0xC2B2AE3D27D4EB4Full));
    }
  };

  LruCache<Key, const void, Hash> entries_;
  std::atomic<uint64_t> next_file_{0};
};

/// The part of the cache that belongs to one reader and one kind of value: what it put goes with
/// it. Thread-safe.
class FileCacheBase {
 protected:
  FileCacheBase() : cache_(MetadataCache::Process()), file_(cache_->next_file_.fetch_add(1)) {}
  ~FileCacheBase();

  std::shared_ptr<const void> FindAny(uint64_t key) { return cache_->entries_.Find({file_, key}); }
  void PutAny(uint64_t key, std::shared_ptr<const void> value, size_t bytes);

 private:
  MetadataCache* const cache_;
  const uint64_t file_;
  Mutex mutex_;
  /// What was put, some of it gone by now.
  std::set<uint64_t> keys_ LAKE_GUARDED_BY(mutex_);
};

template <typename Value>
class FileCache : private FileCacheBase {
 public:
  /// Null if it is not here.
  std::shared_ptr<const Value> Find(uint64_t key) {
    return std::static_pointer_cast<const Value>(FindAny(key));
  }
  /// Keeps `value`, in place of one that is here.
  void Put(uint64_t key, std::shared_ptr<const Value> value, size_t bytes) {
    PutAny(key, std::move(value), bytes);
  }
};

}  // namespace lake::format
