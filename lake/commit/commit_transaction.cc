#include "lake/commit/commit_transaction.h"

#include "lake/base/crash_point.h"
#include "lake/commit/incarnation.h"
#include "lake/commit/operations.h"
#include "lake/commit/reference_sets.h"

namespace lake::commit {

Result<BegunChange> BeginChange(const Context& context, LakehouseCore* core, const OpenTable& table,
                                const OperationKey& operation) {
  BegunChange change;
  if (operation.operation_id.empty()) return change;
  if (table.dataset->branch().has_value()) {
    return Error(ErrorCode::kUnsupported,
                 "a change of a branch takes no operation id, since its record does not say which "
                 "branch: '{}', branch {}",
                 table.entry.name.ToString(), *table.dataset->branch());
  }
  catalog::OperationRecord record;
  record.operation_id = operation.operation_id;
  record.payload_digest = operation.payload_digest;
  record.incarnation = table.entry.incarnation;
  record.base_version = table.dataset->manifest().version();
  ARROW_ASSIGN_OR_RAISE(catalog::BegunOperation begun,
                        core->metastore().BeginOperation(context, record));
  CrashPoint("operation_recorded");
  if (!begun.existed) return change;
  if (begun.record.base_version == 0) return WrongKindOfOperation(operation);
  ARROW_ASSIGN_OR_RAISE(OperationState state, ResolveOperation(context, core, operation));
  change.outcome = state.outcome;
  change.replay_base = begun.record.base_version;
  return change;
}

Status NothingCommitted(const Status& step) {
  if (!IsCommitStateUnknown(step)) return step;
  return RetryableError(ErrorCode::kIo, "nothing was committed: {}", ErrorText(step));
}

Status WrongKindOfOperation(const OperationKey& operation) {
  return Error(ErrorCode::kInvalidArgument,
               "operation id was used before for another kind of change; use a new one: {}",
               operation.operation_id);
}

table::CommitOptions OptionsFor(const Context& context, const OpenTable& table,
                                std::optional<uint64_t> replay_base) {
  table::CommitOptions options;
  // The row is not asked: a change that lands after a drop belongs to the dropped table.
  options.authority = [&context, &table](const table::Manifest* newest) -> Status {
    if (newest == nullptr) return TableMissing(table.entry);
    return CheckIncarnation(context, table.entry, table.dataset->store().get(), *newest);
  };
  options.replay_base = replay_base;
  return options;
}

Result<table::CommitResult> CommitTransaction(const Context& context,
                                              const std::shared_ptr<storage::ObjectStore>& store,
                                              table::Transaction transaction,
                                              const OperationKey& operation,
                                              table::CommitOptions options) {
  if (!operation.operation_id.empty()) {
    transaction.properties[table::kOperationIdProperty] = operation.operation_id;
    transaction.properties[table::kPayloadDigestProperty] = operation.payload_digest;
  }
  Result<std::vector<std::string>> sets = WriteReferenceSets(context, store.get(), transaction);
  if (!sets.ok()) {
    table::RemoveUncommitted(SettlingContext(context), store.get(), transaction.new_objects).ok();
    return sets.status();
  }
  CrashPoint("references_written");
  options.sync_keys.insert(options.sync_keys.end(), sets->begin(), sets->end());
  return table::Commit(context, store, transaction, options);
}

void PublishOutcome(const Context& context, LakehouseCore* core, const OpenTable& table,
                    const OperationKey& operation, const CommitOutcome& outcome, bool hint_is_due) {
  // The hint is of the main line.
  if (hint_is_due && !table.dataset->branch() &&
      outcome.version != table.dataset->manifest().version()) {
    core->metastore()
        .AdvanceHint(HintContext(context), table.entry.incarnation, outcome.version)
        .ok();
    CrashPoint("hint_published");
  }
  if (!operation.operation_id.empty()) {
    core->metastore()
        .FinishOperation(HintContext(context), operation.operation_id, outcome.version,
                         outcome.num_rows)
        .ok();
  }
  CrashPoint("outcome_recorded");
}

Status PublishName(const Context& context, LakehouseCore* core, const catalog::Entry& entry,
                   const Uuid& first_transaction) {
  Status published = core->metastore().FinishCreate(context, entry, first_transaction);
  if (!published.ok()) {
    if (CodeOf(published) == ErrorCode::kConflict) {
      return WithContext(published, "table was not created: its lease ran out meanwhile");
    }
    return Error(ErrorCode::kCommitUnknown,
                 "table is written but its name could not be published; it will be at the next "
                 "start, once its lease has expired: '{}': {}",
                 entry.name.ToString(), ErrorText(published));
  }
  CrashPoint("row_live");
  return Status::OK();
}

Result<CommitOutcome> CommitPrepared(const Context& context, LakehouseCore* core,
                                     const OpenTable& table, const OperationKey& operation,
                                     std::optional<uint64_t> replay_base, uint64_t base_version,
                                     table::PreparedChange change) {
  CrashPoint("data_written");
  CommitOutcome outcome{.version = base_version,
                        .num_rows = change.num_deleted + change.num_updated + change.num_inserted,
                        .replayed = false,
                        .num_deleted = change.num_deleted,
                        .num_updated = change.num_updated,
                        .num_inserted = change.num_inserted};
  bool hint_is_due = true;
  if (!change.is_empty) {
    change.transaction.properties[table::kNumRowsProperty] = std::to_string(outcome.num_rows);
    ARROW_ASSIGN_OR_RAISE(
        table::CommitResult result,
        CommitTransaction(context, table.dataset->store(), std::move(change.transaction), operation,
                          OptionsFor(context, table, replay_base)));
    outcome.version = result.version;
    outcome.replayed = result.replayed;
    outcome.lost_attempts = result.lost_attempts;
    hint_is_due = result.hint_is_due;
  }
  PublishOutcome(context, core, table, operation, outcome, hint_is_due);
  return outcome;
}

}  // namespace lake::commit
