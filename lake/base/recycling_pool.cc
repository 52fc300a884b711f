#include "lake/base/recycling_pool.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <sys/mman.h>

#include "lake/base/mapped_block.h"

namespace lake {

namespace {

constexpr int64_t kProcessKeptBytes = 64 << 20;

#if defined(LAKE_ADDRESS_SANITIZER)
// The sanitizer sees an access behind a block's end only where the block is not rounded up.
constexpr bool kRecycles = false;
#else
constexpr bool kRecycles = true;
#endif

/// A fourth of the power of two below `size`.
int64_t StepOf(int64_t size) {
  return int64_t{1} << (std::bit_width(static_cast<uint64_t>(size - 1)) - 3);
}

int64_t BlockSize(int64_t size) {
  const int64_t step = StepOf(size);
  return (size + step - 1) / step * step;
}

/// The number of a block size that is kept. REQUIRES: kMinBlock <= size <= kMaxKept.
size_t ClassOf(int64_t block_size) {
  const int64_t step = StepOf(block_size);
  return static_cast<size_t>((std::bit_width(static_cast<uint64_t>(step)) -
                              std::bit_width(static_cast<uint64_t>(RecyclingPool::kMinBlock) / 8)) *
                                 4 +
                             (block_size / step - 5));
}

size_t ShardOfThread() {
  static std::atomic<size_t> next{0};
  thread_local const size_t shard = next.fetch_add(1, std::memory_order_relaxed);
  return shard;
}

}  // namespace

RecyclingPool::~RecyclingPool() { ReleaseUnused(); }

uint8_t* RecyclingPool::TakeKept(size_t size_class) {
  if (kept_bytes() == 0) return nullptr;
  const size_t first = ShardOfThread();
  for (size_t i = 0; i < kNumShards; ++i) {
    Shard& shard = shards_[(first + i) % kNumShards];
    MutexLock lock(&shard.mutex);
    std::vector<uint8_t*>& blocks = shard.blocks[size_class];
    if (blocks.empty()) continue;
    uint8_t* const block = blocks.back();
    blocks.pop_back();
    return block;
  }
  return nullptr;
}

bool RecyclingPool::Keep(size_t size_class, int64_t block_size, uint8_t* block) {
  const int64_t kept = kept_bytes_.fetch_add(block_size, std::memory_order_relaxed);
  if (kept + block_size > max_kept_bytes_) {
    kept_bytes_.fetch_sub(block_size, std::memory_order_relaxed);
    return false;
  }
  Shard& shard = shards_[ShardOfThread() % kNumShards];
  MutexLock lock(&shard.mutex);
  shard.blocks[size_class].push_back(block);
  return true;
}

arrow::Status RecyclingPool::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  if (!IsBlock(size, alignment)) {
    ARROW_RETURN_NOT_OK(arrow::default_memory_pool()->Allocate(size, alignment, out));
    stats_.DidAllocateBytes(size);
    return arrow::Status::OK();
  }
  // Beyond what an address can say; also keeps the rounding from overflowing.
  if (size > int64_t{1} << 46) {
    return arrow::Status::OutOfMemory("cannot allocate ", size, " bytes");
  }
  const int64_t block_size = BlockSize(size);
  uint8_t* block = nullptr;
  if (block_size <= kMaxKept) {
    block = TakeKept(ClassOf(block_size));
    if (block != nullptr) kept_bytes_.fetch_sub(block_size, std::memory_order_relaxed);
  }
  if (block == nullptr) block = MapBlock(static_cast<size_t>(block_size));
  if (block == nullptr) {
    return arrow::Status::OutOfMemory("cannot allocate ", size, " bytes");
  }
  *out = block;
  stats_.DidAllocateBytes(size);
  return arrow::Status::OK();
}

arrow::Status RecyclingPool::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                                        uint8_t** ptr) {
  const bool was_block = IsBlock(old_size, alignment);
  const bool becomes_block = IsBlock(new_size, alignment);
  if (!was_block && !becomes_block) {
    ARROW_RETURN_NOT_OK(
        arrow::default_memory_pool()->Reallocate(old_size, new_size, alignment, ptr));
    stats_.DidReallocateBytes(old_size, new_size);
    return arrow::Status::OK();
  }
  if (was_block && becomes_block && new_size <= int64_t{1} << 46 &&
      BlockSize(old_size) == BlockSize(new_size)) {
    stats_.DidReallocateBytes(old_size, new_size);
    return arrow::Status::OK();
  }
  uint8_t* moved = nullptr;
  ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &moved));
  std::memcpy(moved, *ptr, static_cast<size_t>(std::min(old_size, new_size)));
  Free(*ptr, old_size, alignment);
  *ptr = moved;
  return arrow::Status::OK();
}

void RecyclingPool::Free(uint8_t* buffer, int64_t size, int64_t alignment) {
  stats_.DidFreeBytes(size);
  if (!IsBlock(size, alignment)) {
    arrow::default_memory_pool()->Free(buffer, size, alignment);
    return;
  }
  const int64_t block_size = BlockSize(size);
  if (block_size <= kMaxKept && Keep(ClassOf(block_size), block_size, buffer)) return;
  munmap(buffer, static_cast<size_t>(block_size));
}

void RecyclingPool::ReleaseUnused() {
  for (Shard& shard : shards_) {
    MutexLock lock(&shard.mutex);
    for (size_t i = 0; i < kNumClasses; ++i) {
      const int64_t step = (kMinBlock / 8) << (i / 4);
      const int64_t block_size = step * static_cast<int64_t>(5 + i % 4);
      for (uint8_t* block : shard.blocks[i]) {
        kept_bytes_.fetch_sub(block_size, std::memory_order_relaxed);
        munmap(block, static_cast<size_t>(block_size));
      }
      shard.blocks[i].clear();
    }
  }
}

RecyclingPool* ProcessMemoryPool() {
  static auto* const pool = new RecyclingPool(kProcessKeptBytes, kRecycles);
  return pool;
}

}  // namespace lake
