#pragma once

#include <cstdint>

namespace lake::bench {

/// What fsync and fdatasync cost this process since the last Reset. Syncs that overlap are one
/// round and count once: what is measured is the time in which at least one was running.
struct SyncCost {
  double seconds = 0;
  uint64_t rounds = 0;
  uint64_t files = 0;
};

/// Thread-safe, but a sync that is running is counted where it ends.
void ResetSyncCost();
SyncCost CurrentSyncCost();

}  // namespace lake::bench
