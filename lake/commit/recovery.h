#pragma once

#include "lake/base/context.h"
#include "lake/commit/lakehouse_core.h"

namespace lake::commit {

/// What became of a creation that was looked at.
enum class CreationFate {
  kLive,     ///< Version 1 stands; the row is live.
  kBuried,   ///< Nothing stands; the row is a tombstone.
  kPending,  ///< Its owner may still be at work: the lease has not expired, or was renewed
             ///< meanwhile.
};

/// Settles the row `entry` (in state creating) by what storage says: version 1 exists -> live;
/// else, if the lease has expired -> tombstone.
Result<CreationFate> SettleCreation(const Context& context, LakehouseCore* core,
                                    const catalog::Entry& entry);

/// Settles all creations whose lease has expired. A creation whose folder cannot be read is left as
/// it is; the first such error is returned after all were tried.
Status SettleExpiredCreations(const Context& context, LakehouseCore* core);

}  // namespace lake::commit
