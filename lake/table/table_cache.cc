#include "lake/table/table_cache.h"

#include <utility>

namespace lake::table {

namespace {

constexpr size_t kReaderBytes = 32 << 20;
constexpr size_t kManifestBytes = 32 << 20;
// A decoded manifest takes about this many times its bytes.
constexpr size_t kManifestFactor = 6;
constexpr size_t kEntryBytes = 256;

std::string ReaderKey(const std::string& store, const std::string& key, uint64_t size) {
  return fmt::format("{}\n{}\n{}", store, key, size);
}

std::string ManifestKeyOf(const std::string& store, const storage::ObjectInfo& info) {
  return fmt::format("{}\n{}\n{}\n{}", store, info.key, info.size, info.modified_nanos);
}

}  // namespace

TableCache* TableCache::Process() {
  static auto* const cache = new TableCache(kReaderBytes, kManifestBytes);
  return cache;
}

std::shared_ptr<format::FileReader> TableCache::FindReader(const std::string& store,
                                                           const std::string& key, uint64_t size) {
  return readers_.Find(ReaderKey(store, key, size));
}

void TableCache::PutReader(const std::string& store, const std::string& key, uint64_t size,
                           std::shared_ptr<format::FileReader> reader) {
  const size_t bytes = reader->MemoryUse() + kEntryBytes;
  readers_.Put(ReaderKey(store, key, size), std::move(reader), bytes);
}

std::shared_ptr<const Manifest> TableCache::FindManifest(const std::string& store,
                                                         const storage::ObjectInfo& info) {
  return manifests_.Find(ManifestKeyOf(store, info));
}

void TableCache::PutManifest(const std::string& store, const storage::ObjectInfo& info,
                             std::shared_ptr<const Manifest> manifest) {
  manifests_.Put(ManifestKeyOf(store, info), std::move(manifest),
                 info.size * kManifestFactor + kEntryBytes);
}

}  // namespace lake::table
