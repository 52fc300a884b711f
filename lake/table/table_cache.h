#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lake/format/file_reader.h"
#include "lake/format/lru_cache.h"
#include "lake/table/manifest.h"

namespace lake::table {

/// What this process knows of files that never change: opened data files and decoded manifests, so
/// that opening a table again reads none of them twice. Keys begin with the identity of a store
/// (ObjectStore::identity); stores without one are not cached. Bounded by bytes. Thread-safe.
class TableCache {
 public:
  TableCache(size_t max_reader_bytes, size_t max_manifest_bytes)
      : readers_(max_reader_bytes), manifests_(max_manifest_bytes) {}

  /// The one of this process.
  static TableCache* Process();

  /// A data file of `size` bytes; null if it is not here. Data files are named by UUIDs, so that
  /// name and size tell one from any other.
  std::shared_ptr<format::FileReader> FindReader(const std::string& store, const std::string& key,
                                                 uint64_t size);
  void PutReader(const std::string& store, const std::string& key, uint64_t size,
                 std::shared_ptr<format::FileReader> reader);

  /// A manifest as `info` describes its object: a version's number is used again where a table was
  /// replaced, so that size and time of change are part of what it is.
  std::shared_ptr<const Manifest> FindManifest(const std::string& store,
                                               const storage::ObjectInfo& info);
  void PutManifest(const std::string& store, const storage::ObjectInfo& info,
                   std::shared_ptr<const Manifest> manifest);

  format::CacheStats reader_stats() { return readers_.stats(); }
  format::CacheStats manifest_stats() { return manifests_.stats(); }

 private:
  format::LruCache<std::string, format::FileReader> readers_;
  format::LruCache<std::string, const Manifest> manifests_;
};

}  // namespace lake::table
