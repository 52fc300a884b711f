#pragma once

#include <memory>
#include <optional>

#include "lake/base/context.h"
#include "lake/commit/lakehouse.h"
#include "lake/commit/lakehouse_core.h"
#include "lake/table/commit.h"

namespace lake::commit {

/// What the record of an operation on a table says at its begin.
struct BegunChange {
  /// Set if it is done already.
  std::optional<CommitOutcome> outcome;
  /// Set if an attempt of it may have been made before.
  std::optional<uint64_t> replay_base;
};

/// Writes the record of a change of `table` before its first attempt, or resolves the one there is.
/// An empty key has none.
Result<BegunChange> BeginChange(const Context& context, LakehouseCore* core, const OpenTable& table,
                                const OperationKey& operation);

Status WrongKindOfOperation(const OperationKey& operation);

/// How a change of `table` is committed: on the table that its row means, whether or not the name
/// was dropped since.
table::CommitOptions OptionsFor(const Context& context, const OpenTable& table,
                                std::optional<uint64_t> replay_base);

/// Steps 3 and 4 of the pipeline. Once it was called, the transaction's objects are the commit's to
/// keep or remove.
Result<table::CommitResult> CommitTransaction(const Context& context,
                                              const std::shared_ptr<storage::ObjectStore>& store,
                                              table::Transaction transaction,
                                              const OperationKey& operation,
                                              table::CommitOptions options);

/// Step 5 for a table that has its name: hint and record. The version is visible and durable
/// without them.
void PublishOutcome(const Context& context, LakehouseCore* core, const OpenTable& table,
                    const OperationKey& operation, const CommitOutcome& outcome);

}  // namespace lake::commit
