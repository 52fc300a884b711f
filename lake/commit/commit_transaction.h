#pragma once

#include <memory>
#include <optional>

#include "lake/base/context.h"
#include "lake/commit/lakehouse.h"
#include "lake/commit/lakehouse_core.h"
#include "lake/table/commit.h"
#include "lake/table/row_change.h"

namespace lake::commit {

/// What the record of an operation on a table says at its begin.
struct BegunChange {
  /// Set if it is done already.
  std::optional<CommitOutcome> outcome;
  /// Set if an attempt of it may have been made before.
  std::optional<uint64_t> replay_base;
};

/// Writes the record of a change of `table` before its first attempt, or resolves the one there is.
/// An empty key has none. kUnsupported for a key on a branch.
Result<BegunChange> BeginChange(const Context& context, LakehouseCore* core, const OpenTable& table,
                                const OperationKey& operation);

/// The error of a step before a commit as that of the commit: whatever became of the step, nothing
/// was committed.
Status NothingCommitted(const Status& step);

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
/// without them. The hint is left as it is where it is not due (CommitResult::hint_is_due).
void PublishOutcome(const Context& context, LakehouseCore* core, const OpenTable& table,
                    const OperationKey& operation, const CommitOutcome& outcome,
                    bool hint_is_due = true);

/// Step 5 for a table that is created: version 1 stands, visible and durable; now its name does.
/// kConflict: the name went to another, the table was not created. kCommitUnknown: the next start
/// settles it.
Status PublishName(const Context& context, LakehouseCore* core, const catalog::Entry& entry,
                   const Uuid& first_transaction);

/// Commits what an operation of lake/table prepared on `base_version` of `table` (steps 3 to 5). A
/// change of nothing makes no version.
Result<CommitOutcome> CommitPrepared(const Context& context, LakehouseCore* core,
                                     const OpenTable& table, const OperationKey& operation,
                                     std::optional<uint64_t> replay_base, uint64_t base_version,
                                     table::PreparedChange change);

}  // namespace lake::commit
