#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <thread>

#include "lake/base/mutex.h"
#include "lake/objects/sha256.h"

namespace lake::objects {

/// Hashes the blocks of a stream on a second thread, one block behind the caller, so that copying a
/// file takes the longer of hashing and copying instead of their sum. A stream of a single block
/// starts no thread. Not thread-safe.
class StreamHasher {
 public:
  StreamHasher() = default;
  ~StreamHasher();
  StreamHasher(const StreamHasher&) = delete;
  StreamHasher& operator=(const StreamHasher&) = delete;

  /// Hashes `block` behind the earlier ones. `block` must stay as it is until the next Add or
  /// Finish returns; earlier blocks are free.
  void Add(std::span<const uint8_t> block) LAKE_EXCLUDES(mutex_);

  /// The digest of all blocks in hexadecimal. Call it once, last.
  std::string Finish() LAKE_EXCLUDES(mutex_);

 private:
  void Run() LAKE_EXCLUDES(mutex_);
  void WaitUntilIdle() LAKE_EXCLUDES(mutex_);

  Sha256 sha256_;  // Touched by the thread while a block is pending, else by the caller.
  bool has_block_ = false;
  std::thread thread_;
  Mutex mutex_;
  CondVar changed_;
  bool pending_ LAKE_GUARDED_BY(mutex_) = false;
  bool stopping_ LAKE_GUARDED_BY(mutex_) = false;
  std::span<const uint8_t> block_ LAKE_GUARDED_BY(mutex_);
};

}  // namespace lake::objects
