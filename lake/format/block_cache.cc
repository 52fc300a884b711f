#include "lake/format/block_cache.h"

#include <cstdlib>
#include <vector>

#include <sys/mman.h>

#include "lake/base/mapped_block.h"
#include "lake/base/mutex.h"

namespace lake::format {
namespace {

constexpr size_t kUnit = 64 * 1024;
// Pages are smaller only under a small budget, of which half-empty huge pages would take too much.
constexpr size_t kLeastHuge = 4 << 20;

struct Block {
  void* memory;
  size_t size;
};

struct Kept {
  Mutex mutex;
  // A handful: looked through from the newest, whose memory is warm.
  std::vector<Block> blocks LAKE_GUARDED_BY(mutex);
  size_t bytes LAKE_GUARDED_BY(mutex) = 0;
  size_t bytes_in_use LAKE_GUARDED_BY(mutex) = 0;
  size_t allowed LAKE_GUARDED_BY(mutex) = 0;

  void Shrink() LAKE_REQUIRES(mutex) {
    size_t gone = 0;
    while (bytes > 0 && bytes + bytes_in_use > allowed) {
      bytes -= blocks[gone].size;
      munmap(blocks[gone].memory, blocks[gone].size);
      ++gone;
    }
    blocks.erase(blocks.begin(), blocks.begin() + static_cast<ptrdiff_t>(gone));
  }
};

Kept* TheKept() {
  // Never destroyed: threads may still free buffers while static objects go away at exit.
  static Kept* kept = new Kept;
  return kept;
}

}  // namespace

BlockCache::Lease::Lease(size_t bytes) : bytes_(bytes) {
  Kept* const kept = TheKept();
  MutexLock lock(&kept->mutex);
  kept->allowed += bytes_;
}

BlockCache::Lease::~Lease() {
  Kept* const kept = TheKept();
  MutexLock lock(&kept->mutex);
  kept->allowed -= bytes_;
  kept->Shrink();
}

void* BlockCache::Allocate(size_t* size) {
  if (*size < kSmallestBlock) return std::malloc(*size);
  *size = (*size + kUnit - 1) / kUnit * kUnit;
  Kept* const kept = TheKept();
  {
    MutexLock lock(&kept->mutex);
    for (size_t i = kept->blocks.size(); i-- != 0;) {
      const Block block = kept->blocks[i];
      if (block.size < *size || block.size / 2 > *size) continue;
      kept->blocks.erase(kept->blocks.begin() + static_cast<ptrdiff_t>(i));
      kept->bytes -= block.size;
      kept->bytes_in_use += block.size;
      *size = block.size;
      return block.memory;
    }
    kept->bytes_in_use += *size;
    kept->Shrink();
  }
  // Not from the heap, which would keep what the cache gives up, once for each thread.
  void* const block = MapBlock(*size, kLeastHuge);
  if (block == nullptr) {
    MutexLock lock(&kept->mutex);
    kept->bytes_in_use -= *size;
  }
  return block;
}

void BlockCache::Free(void* block, size_t size) {
  if (block == nullptr) return;
  if (size < kSmallestBlock) return std::free(block);
  Kept* const kept = TheKept();
  MutexLock lock(&kept->mutex);
  kept->blocks.push_back({block, size});
  kept->bytes += size;
  kept->bytes_in_use -= size;
  kept->Shrink();
}

size_t BlockCache::kept_bytes() {
  Kept* const kept = TheKept();
  MutexLock lock(&kept->mutex);
  return kept->bytes;
}

}  // namespace lake::format
