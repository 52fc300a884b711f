#pragma once

#include <random>

#include "lake/base/mutex.h"
#include "lake/base/random.h"

namespace lake {

/// A repeatable source: the same seed gives the same bytes. Thread-safe.
class FakeRandom : public Random {
 public:
  explicit FakeRandom(uint64_t seed) : engine_(seed) {}

  void Fill(std::span<uint8_t> bytes) override {
    MutexLock lock(&mutex_);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(engine_());
  }

 private:
  Mutex mutex_;
  std::mt19937_64 engine_ LAKE_GUARDED_BY(mutex_);
};

}  // namespace lake
