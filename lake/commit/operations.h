#pragma once

#include <optional>

#include "lake/base/context.h"
#include "lake/commit/lakehouse.h"
#include "lake/commit/lakehouse_core.h"

namespace lake::commit {

/// kInvalidArgument unless the key is empty, or a UUIDv7 in its lower-case form with a digest.
Status CheckOperationKey(const OperationKey& operation);

/// What storage and metastore say of an operation that has a record.
struct OperationState {
  catalog::OperationRecord record;
  /// Set if it is done.
  std::optional<CommitOutcome> outcome;
  /// A create that did not happen: the tombstone whose place the next attempt takes.
  std::optional<Uuid> buried;
};

/// Resolves the record of `operation`. kNotFound if there is none; kInvalidArgument on another
/// digest; kCommitUnknown if it cannot be told, or if a first attempt may still be at work. Neither
/// outcome nor error of these: it did not happen.
Result<OperationState> ResolveOperation(const Context& context, LakehouseCore* core,
                                        const OperationKey& operation);

}  // namespace lake::commit
