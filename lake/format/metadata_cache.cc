#include "lake/format/metadata_cache.h"

namespace lake::format {

namespace {

constexpr size_t kProcessBytes = 64 << 20;
// An entry is more than its value.
constexpr size_t kEntryBytes = 128;

}  // namespace

MetadataCache* MetadataCache::Process() {
  // Never destroyed: readers in other static objects may go away later.
  static auto* const cache = new MetadataCache(kProcessBytes);
  return cache;
}

FileCacheBase::~FileCacheBase() {
  MutexLock lock(&mutex_);
  for (const uint64_t key : keys_) cache_->entries_.Erase({file_, key});
}

void FileCacheBase::PutAny(uint64_t key, std::shared_ptr<const void> value, size_t bytes) {
  {
    MutexLock lock(&mutex_);
    keys_.insert(key);
  }
  cache_->entries_.Put({file_, key}, std::move(value), bytes + kEntryBytes);
}

}  // namespace lake::format
