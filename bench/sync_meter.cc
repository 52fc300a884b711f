#include "bench/sync_meter.h"

#include <chrono>
#include <mutex>

#include <dlfcn.h>
#include <unistd.h>

namespace lake::bench {

namespace {

using Clock = std::chrono::steady_clock;

std::mutex mutex;
SyncCost cost;
int running = 0;
Clock::time_point round_start;

int Measured(int (*sync)(int), int fd) {
  {
    std::lock_guard lock(mutex);
    ++cost.files;
    if (running++ == 0) {
      ++cost.rounds;
      round_start = Clock::now();
    }
  }
  const int result = sync(fd);
  std::lock_guard lock(mutex);
  if (--running == 0) {
    cost.seconds += std::chrono::duration<double>(Clock::now() - round_start).count();
  }
  return result;
}

using SyncCall = int (*)(int);

SyncCall Real(const char* name) { return reinterpret_cast<SyncCall>(dlsym(RTLD_NEXT, name)); }

}  // namespace

void ResetSyncCost() {
  std::lock_guard lock(mutex);
  cost = {};
}

SyncCost CurrentSyncCost() {
  std::lock_guard lock(mutex);
  return cost;
}

}  // namespace lake::bench

// In front of the C library's: every sync of this process is made, and measured.
extern "C" int fsync(int fd) {
  static const auto real = lake::bench::Real("fsync");
  return lake::bench::Measured(real, fd);
}

extern "C" int fdatasync(int fd) {
  static const auto real = lake::bench::Real("fdatasync");
  return lake::bench::Measured(real, fd);
}
