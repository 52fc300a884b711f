#include "lake/objects/stream_hasher.h"

#include <system_error>

namespace lake::objects {

StreamHasher::~StreamHasher() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  thread_.join();
}

void StreamHasher::Add(std::span<const uint8_t> block) {
  if (has_block_ && !thread_.joinable()) {
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error&) {
      // Without a second thread the caller hashes: slower, and right.
    }
  }
  has_block_ = true;
  if (!thread_.joinable()) {
    sha256_.Update(block);
    return;
  }
  WaitUntilIdle();
  MutexLock lock(&mutex_);
  block_ = block;
  pending_ = true;
  changed_.SignalAll();
}

std::string StreamHasher::Finish() {
  WaitUntilIdle();
  return sha256_.Finish();
}

void StreamHasher::Run() {
  while (true) {
    std::span<const uint8_t> block;
    {
      MutexLock lock(&mutex_);
      while (!pending_ && !stopping_) changed_.Wait(&mutex_);
      if (!pending_) return;
      block = block_;
    }
    sha256_.Update(block);
    MutexLock lock(&mutex_);
    pending_ = false;
    changed_.SignalAll();
  }
}

void StreamHasher::WaitUntilIdle() {
  MutexLock lock(&mutex_);
  while (pending_) changed_.Wait(&mutex_);
}

}  // namespace lake::objects
