#include "lake/commit/operations.h"

#include "lake/commit/recovery.h"
#include "lake/table/commit.h"

namespace lake::commit {
namespace {

// Only a version 7 UUID tells when the operation began, which clean-up goes by.
constexpr int kUuidVersion = 7;

Status Unknown(const OperationKey& operation, std::string_view reason) {
  return Error(ErrorCode::kCommitUnknown,
               "operation may or may not have happened; replay it with the same operation id: {}: "
               "{}",
               operation.operation_id, reason);
}

table::OpenOptions VersionOf(uint64_t version) {
  table::OpenOptions options;
  options.version = version;
  return options;
}

CommitOutcome Outcome(uint64_t version, uint64_t rows) {
  return {.version = version, .num_rows = rows, .replayed = true};
}

// The create that made, or would have made, the incarnation of `where`.
Status ResolveCreate(const Context& context, LakehouseCore* core, const OperationKey& operation,
                     const catalog::Whereabouts& where, OperationState* state) {
  if (where.tombstone.has_value() && where.tombstone->reason == catalog::kCreateAbandoned) {
    state->buried = where.entry.incarnation;
    return Status::OK();
  }
  if (where.entry.state == catalog::EntryState::kCreating && !where.tombstone.has_value()) {
    ARROW_ASSIGN_OR_RAISE(CreationFate fate, SettleCreation(context, core, where.entry));
    if (fate == CreationFate::kBuried) {
      state->buried = where.entry.incarnation;
      return Status::OK();
    }
    if (fate == CreationFate::kPending) {
      return Unknown(operation,
                     "the first attempt may still be at work, its lease has not expired");
    }
  }
  ARROW_ASSIGN_OR_RAISE(auto store, core->TableStore(where.entry));
  // Version 1 may have been cleaned up since: then its rows can no longer be counted.
  uint64_t rows = 0;
  auto dataset = table::Dataset::Open(context, store, VersionOf(1));
  if (dataset.ok()) {
    ARROW_ASSIGN_OR_RAISE(rows, (*dataset)->CountRows(context));
  }
  state->outcome = Outcome(1, rows);
  return Status::OK();
}

Status ResolveAppend(const Context& context, LakehouseCore* core, const OperationKey& operation,
                     const catalog::Whereabouts& where, OperationState* state) {
  ARROW_ASSIGN_OR_RAISE(auto store, core->TableStore(where.entry));
  ARROW_ASSIGN_OR_RAISE(table::OperationOutcome found,
                        table::FindOperation(context, store.get(), state->record.base_version,
                                             operation.operation_id));
  switch (found.state) {
    case table::OperationOutcome::State::kAbsent:
      return Status::OK();
    case table::OperationOutcome::State::kUnknown:
      return Unknown(operation, found.reason);
    case table::OperationOutcome::State::kCommitted:
      break;
  }
  if (found.payload_digest != operation.payload_digest) {
    return Error(ErrorCode::kInvalidArgument,
                 "operation id was used before with another input; use a new one: {}",
                 operation.operation_id);
  }
  // An earlier attempt may have died between the manifest and its sync.
  ARROW_ASSIGN_OR_RAISE(auto dataset,
                        table::Dataset::Open(context, store, VersionOf(found.version)));
  const std::string keys[] = {"_versions/" + table::ManifestName(found.version, dataset->naming())};
  Status synced = store->Sync(SettlingContext(context), keys, {});
  if (!synced.ok()) return Unknown(operation, ErrorText(synced));
  state->outcome = Outcome(found.version, found.num_rows);
  return Status::OK();
}

}  // namespace

Status CheckOperationKey(const OperationKey& operation) {
  if (operation.operation_id.empty()) return Status::OK();
  Result<Uuid> uuid = Uuid::Parse(operation.operation_id);
  if (!uuid.ok() || uuid->version() != kUuidVersion || uuid->ToString() != operation.operation_id) {
    return Error(ErrorCode::kInvalidArgument,
                 "operation id is not a UUID of version 7 in lower case: '{}'",
                 operation.operation_id);
  }
  if (operation.payload_digest.empty()) {
    return Error(ErrorCode::kInvalidArgument, "operation has an id but no payload digest: {}",
                 operation.operation_id);
  }
  return Status::OK();
}

Result<OperationState> ResolveOperation(const Context& context, LakehouseCore* core,
                                        const OperationKey& operation) {
  OperationState state;
  ARROW_ASSIGN_OR_RAISE(state.record,
                        core->metastore().FindOperation(context, operation.operation_id));
  if (state.record.payload_digest != operation.payload_digest) {
    return Error(ErrorCode::kInvalidArgument,
                 "operation id was used before with another input; use a new one: {}",
                 operation.operation_id);
  }
  if (state.record.committed_version.has_value()) {
    state.outcome = Outcome(*state.record.committed_version, state.record.committed_rows);
    return state;
  }
  Result<catalog::Whereabouts> where =
      core->metastore().FindIncarnation(context, state.record.incarnation);
  if (!where.ok()) {
    if (CodeOf(where.status()) != ErrorCode::kNotFound) return where.status();
    return Unknown(operation, "the metastore knows its table no more");
  }
  ARROW_RETURN_NOT_OK(state.record.base_version == 0
                          ? ResolveCreate(context, core, operation, *where, &state)
                          : ResolveAppend(context, core, operation, *where, &state));
  if (state.outcome.has_value()) {
    // Saves the search next time; the outcome stands without it.
    core->metastore()
        .FinishOperation(context, operation.operation_id, state.outcome->version,
                         state.outcome->num_rows)
        .ok();
  }
  return state;
}

}  // namespace lake::commit
