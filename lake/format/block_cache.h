#pragma once

#include <cstddef>

namespace lake::format {

/// Large blocks of memory that page buffers give back and take again. A fresh block costs the
/// kernel a cleared page per 4 KiB, more than encoding what goes into it. Blocks are kept only as
/// long as somebody holds a lease, and only while they and those in use are together no more bytes
/// than the leases allow. Thread-safe.
class BlockCache {
 public:
  /// Smaller blocks are the heap's: malloc, realloc and free work on them.
  static constexpr size_t kSmallestBlock = 128 * 1024;

  /// Until destruction the cache may keep blocks as long as it and the users of blocks have `bytes`
  /// more together.
  class Lease {
   public:
    explicit Lease(size_t bytes);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

   private:
    const size_t bytes_;
  };

  /// A block of at least `*size` bytes, whose size is stored there; null if there is no memory.
  static void* Allocate(size_t* size);
  /// `block` may be null. `size` is what Allocate stored.
  static void Free(void* block, size_t size);

  /// Bytes of the blocks that are kept.
  static size_t kept_bytes();
};

}  // namespace lake::format
