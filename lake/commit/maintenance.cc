#include "lake/commit/maintenance.h"

#include <utility>

#include "lake/base/crash_point.h"
#include "lake/commit/commit_transaction.h"
#include "lake/commit/incarnation.h"
#include "lake/commit/lakehouse_core.h"
#include "lake/commit/operations.h"
#include "lake/table/commit.h"

namespace lake::commit {
namespace {

constexpr std::string_view kOwnPrefix = "lake-";

// A tag of the user's own.
Status CheckUserTag(const std::string& name) {
  if (!name.starts_with(kOwnPrefix)) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "tags that start with 'lake-' are lake's own: they keep what clones and readers "
               "need: '{}'",
               name);
}

table::VersionRef VersionOf(const OpenTable& table) {
  return {table.dataset->branch(), table.dataset->manifest().version()};
}

}  // namespace

Status Maintenance::CheckBelongs(const Context& context, const OpenTable& table) const {
  ARROW_RETURN_NOT_OK(core_->write_gate());
  const std::shared_ptr<storage::ObjectStore>& store = table.dataset->root_store();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<table::Dataset> newest,
                        table::Dataset::Open(context, store));
  return CheckIncarnation(context, table.entry, store.get(), newest->manifest());
}

Result<OperationKey> Maintenance::KeyFor(const OpenTable& table,
                                         const OperationKey& operation) const {
  ARROW_RETURN_NOT_OK(core_->write_gate());
  if (!table.dataset->branch()) {
    ARROW_RETURN_NOT_OK(CheckOperationKey(operation));
  } else if (!operation.required) {
    return OperationKey{};
  }
  // BeginChange refuses one of a branch.
  return operation;
}

Result<CommitOutcome> Maintenance::Restore(const Context& context, const OpenTable& table,
                                           uint64_t version, const OperationKey& operation) {
  const table::Dataset& dataset = *table.dataset;
  const std::shared_ptr<storage::ObjectStore>& root = dataset.root_store();
  ARROW_ASSIGN_OR_RAISE(const OperationKey key, KeyFor(table, operation));
  ARROW_ASSIGN_OR_RAISE(const BegunChange begun, BeginChange(context, core_.get(), table, key));
  if (begun.outcome.has_value()) return *begun.outcome;
  // A clean-up that runs meanwhile sees the pin, or the pin sees that the version is gone.
  const std::string pin =
      std::string(table::kPinPrefix) + "restore-" + Uuid::NewV7(context).ToString();
  ARROW_RETURN_NOT_OK(
      NothingCommitted(table::CreateTag(context, root, pin, {dataset.branch(), version}).status()));
  CrashPoint("restore_pinned");
  Result<CommitOutcome> restored = CommitRestore(context, table, version, key, begun.replay_base);
  if (!restored.ok() && IsCommitStateUnknown(restored.status())) return restored.status();
  // The version stands, or will never; a pin that stayed is lifted by the next clean-up.
  table::DeleteTag(SettlingContext(context), root, pin).ok();
  return restored;
}

Result<CommitOutcome> Maintenance::CommitRestore(const Context& context, const OpenTable& table,
                                                 uint64_t version, const OperationKey& operation,
                                                 std::optional<uint64_t> replay_base) {
  const std::shared_ptr<storage::ObjectStore>& store = table.dataset->store();
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<table::Dataset> old,
                        table.dataset->Reopen(context, version));
  CommitOutcome outcome;
  outcome.num_rows = table::KnownRows(old->manifest());
  table::Transaction transaction = table::NewTransaction(
      context, table.dataset->manifest().version(), table::RestoreOperation{version});
  transaction.properties[table::kNumRowsProperty] = std::to_string(outcome.num_rows);
  ARROW_ASSIGN_OR_RAISE(table::CommitResult result,
                        CommitTransaction(context, store, std::move(transaction), operation,
                                          OptionsFor(context, table, replay_base)));
  outcome.version = result.version;
  outcome.replayed = result.replayed;
  outcome.lost_attempts = result.lost_attempts;
  PublishOutcome(context, core_.get(), table, operation, outcome);
  return outcome;
}

Result<std::vector<table::Tag>> Maintenance::ListTags(const Context& context,
                                                      const OpenTable& table) {
  return table::ListTags(context, table.dataset->root_store().get());
}

Result<table::Tag> Maintenance::CreateTag(const Context& context, const OpenTable& table,
                                          const std::string& name) {
  ARROW_RETURN_NOT_OK(CheckUserTag(name));
  ARROW_RETURN_NOT_OK(CheckBelongs(context, table));
  return table::CreateTag(context, table.dataset->root_store(), name, VersionOf(table));
}

Result<table::Tag> Maintenance::UpdateTag(const Context& context, const OpenTable& table,
                                          const std::string& name) {
  ARROW_RETURN_NOT_OK(CheckUserTag(name));
  ARROW_RETURN_NOT_OK(CheckBelongs(context, table));
  return table::UpdateTag(context, table.dataset->root_store(), name, VersionOf(table));
}

Status Maintenance::DeleteTag(const Context& context, const OpenTable& table,
                              const std::string& name) {
  ARROW_RETURN_NOT_OK(CheckUserTag(name));
  ARROW_RETURN_NOT_OK(CheckBelongs(context, table));
  return table::DeleteTag(context, table.dataset->root_store(), name);
}

Result<std::vector<table::Branch>> Maintenance::ListBranches(const Context& context,
                                                             const OpenTable& table) {
  return table::ListBranches(context, table.dataset->root_store().get());
}

Result<table::Branch> Maintenance::CreateBranch(const Context& context, const OpenTable& table,
                                                const std::string& name) {
  ARROW_RETURN_NOT_OK(CheckBelongs(context, table));
  return table::CreateBranch(context, *table.dataset, name,
                             table.dataset->root_store()->description());
}

Status Maintenance::DeleteBranch(const Context& context, const OpenTable& table,
                                 const std::string& name) {
  ARROW_RETURN_NOT_OK(CheckBelongs(context, table));
  return table::DeleteBranch(context, table.dataset->root_store(), name);
}

}  // namespace lake::commit
