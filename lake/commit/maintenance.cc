#include "lake/commit/maintenance.h"

#include <utility>

#include "lake/base/crash_point.h"
#include "lake/commit/incarnation.h"
#include "lake/commit/lakehouse_core.h"
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

Result<uint64_t> Maintenance::Commit(const Context& context, const OpenTable& table,
                                     const table::Transaction& transaction,
                                     std::vector<std::string> sync_keys,
                                     std::shared_ptr<const table::Manifest>* manifest) {
  ARROW_RETURN_NOT_OK(core_->write_gate());
  const std::shared_ptr<storage::ObjectStore>& store = table.dataset->store();
  table::CommitOptions options;
  options.sync_keys = std::move(sync_keys);
  options.authority = [&](const table::Dataset* newest) -> Status {
    if (newest == nullptr) return TableMissing(table.entry);
    return CheckIncarnation(context, table.entry, store.get(), newest->manifest());
  };
  ARROW_ASSIGN_OR_RAISE(table::CommitResult result,
                        table::Commit(context, store, transaction, options));
  if (manifest != nullptr) *manifest = result.manifest;
  // The hint is of the main line; only a hint: the version is visible and durable without it.
  if (!table.dataset->branch()) {
    core_->metastore()
        .AdvanceHint(HintContext(context), table.entry.incarnation, result.version)
        .ok();
  }
  CrashPoint("hint_published");
  return result.version;
}

Result<CommitOutcome> Maintenance::Restore(const Context& context, const OpenTable& table,
                                           uint64_t version) {
  const table::Dataset& dataset = *table.dataset;
  const std::shared_ptr<storage::ObjectStore>& root = dataset.root_store();
  // A clean-up that runs meanwhile sees the pin, or the pin sees that the version is gone.
  const std::string pin =
      std::string(table::kPinPrefix) + "restore-" + Uuid::NewV7(context).ToString();
  ARROW_RETURN_NOT_OK(table::CreateTag(context, root, pin, {dataset.branch(), version}).status());
  CrashPoint("restore_pinned");
  const table::Transaction transaction = table::NewTransaction(
      context, dataset.manifest().version(), table::RestoreOperation{version});
  Result<uint64_t> restored = Commit(context, table, transaction, {}, nullptr);
  if (!restored.ok() && IsCommitStateUnknown(restored.status())) return restored.status();
  Status lifted = table::DeleteTag(SettlingContext(context), root.get(), pin);
  ARROW_RETURN_NOT_OK(restored.status());
  // The version stands; a pin that stayed is lifted by the next clean-up.
  (void)lifted;
  table::OpenOptions options;
  options.version = *restored;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<table::Dataset> newest,
                        table::Dataset::Open(context, dataset.store(), options));
  CommitOutcome outcome;
  outcome.version = *restored;
  outcome.num_rows = table::KnownRows(newest->manifest());
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
  return table::DeleteTag(context, table.dataset->root_store().get(), name);
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
