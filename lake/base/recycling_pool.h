#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <arrow/memory_pool.h>

#include "lake/base/mutex.h"

namespace lake {

/// A memory pool that keeps freed blocks for the next allocation of about their size, up to a
/// bound. A scan allocates the same buffers for each morsel; from the system each would be a fresh
/// mapping, whose pages the kernel clears one fault at a time, which costs more than decoding into
/// them.
///
/// Blocks of kMinBlock bytes or more are mappings of their own, of a size rounded up to a fourth of
/// a power of two; smaller ones come from Arrow's default pool. Thread-safe.
class RecyclingPool final : public arrow::MemoryPool {
 public:
  static constexpr int64_t kMinBlock = 32 << 10;
  /// Larger blocks are not kept.
  static constexpr int64_t kMaxKept = 32 << 20;

  /// Keeps at most `max_kept_bytes` of freed blocks. Without `recycles`, all blocks come from
  /// Arrow's default pool.
  explicit RecyclingPool(int64_t max_kept_bytes, bool recycles = true)
      : max_kept_bytes_(max_kept_bytes), recycles_(recycles) {}
  ~RecyclingPool() override;

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                           uint8_t** ptr) override;
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override;
  /// Gives the kept blocks back to the system.
  void ReleaseUnused() override;

  int64_t bytes_allocated() const override { return stats_.bytes_allocated(); }
  int64_t max_memory() const override { return stats_.max_memory(); }
  int64_t total_bytes_allocated() const override { return stats_.total_bytes_allocated(); }
  int64_t num_allocations() const override { return stats_.num_allocations(); }
  std::string backend_name() const override { return "recycling"; }

  /// Bytes of freed blocks that are kept now.
  int64_t kept_bytes() const { return kept_bytes_.load(std::memory_order_relaxed); }

 private:
  // Classes of block sizes: four to each power of two from kMinBlock on.
  static constexpr size_t kNumClasses = 64;

  struct Shard {
    Mutex mutex;
    /// By class; the block freed last, which is still in the caches, goes first.
    std::array<std::vector<uint8_t*>, kNumClasses> blocks LAKE_GUARDED_BY(mutex);
  };
  // A thread finds what it freed itself first.
  static constexpr size_t kNumShards = 8;

  bool IsBlock(int64_t size, int64_t alignment) const {
    return recycles_ && size >= kMinBlock && alignment <= 4096;
  }
  uint8_t* TakeKept(size_t size_class);
  bool Keep(size_t size_class, int64_t block_size, uint8_t* block);

  const int64_t max_kept_bytes_;
  const bool recycles_;
  std::array<Shard, kNumShards> shards_;
  std::atomic<int64_t> kept_bytes_{0};
  arrow::internal::MemoryPoolStats stats_;
};

/// The pool of this process, made at first use and never destroyed.
RecyclingPool* ProcessMemoryPool();

}  // namespace lake
