#include "lake/base/random.h"

#include <cstdio>
#include <cstdlib>

#include <sys/random.h>

namespace lake {
namespace {

class KernelRandom : public Random {
 public:
  void Fill(std::span<uint8_t> bytes) override {
    while (!bytes.empty()) {
      ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
      if (got < 0) {
        std::perror("lake: getrandom");
        std::abort();
      }
      bytes = bytes.subspan(static_cast<size_t>(got));
    }
  }
};

}  // namespace

uint64_t Random::NextUint64() {
  uint64_t value;
  Fill({reinterpret_cast<uint8_t*>(&value), sizeof(value)});
  return value;
}

uint64_t Random::NextBelow(uint64_t bound) {
  // The bias of the multiplication is below bound / 2^64.
  return static_cast<uint64_t>((static_cast<unsigned __int128>(NextUint64()) * bound) >> 64);
}

Random* SystemRandom() {
  static KernelRandom random;
  return &random;
}

}  // namespace lake
