// Maintenance::Compact: plan, rewrite, reserve ids, commit what is still as it was planned.

#include <algorithm>
#include <utility>

#include "lake/base/crash_point.h"
#include "lake/commit/lakehouse_core.h"
#include "lake/commit/maintenance.h"
#include "lake/table/commit.h"

namespace lake::commit {
namespace {

constexpr int kMaxCommits = 20;

std::vector<std::string> ObjectsOf(const std::vector<table::CompactedGroup>& groups) {
  std::vector<std::string> keys;
  for (const table::CompactedGroup& group : groups) {
    keys.insert(keys.end(), group.new_objects.begin(), group.new_objects.end());
  }
  return keys;
}

// Best effort: what stays behind is a leftover that no version names.
void Discard(const Context& context, storage::ObjectStore* store,
             const std::vector<table::CompactedGroup>& groups) {
  table::RemoveUncommitted(SettlingContext(context), store, ObjectsOf(groups)).ok();
}

// Takes out, and removes, the groups of which another commit changed something.
size_t GiveUpChanged(const Context& context, storage::ObjectStore* store,
                     const table::Manifest& newest, std::vector<table::CompactedGroup>* groups) {
  auto changed = std::stable_partition(
      groups->begin(), groups->end(),
      [&](const table::CompactedGroup& group) { return table::IsCurrent(group.group, newest); });
  const std::vector<table::CompactedGroup> lost(std::make_move_iterator(changed),
                                                std::make_move_iterator(groups->end()));
  groups->erase(changed, groups->end());
  Discard(context, store, lost);
  return lost.size();
}

}  // namespace

Result<CompactOutcome> Maintenance::Compact(
    const Context& context, const OpenTable& table, const table::CompactionOptions& options,
    const std::function<void(const table::CompactionProgress&)>& progress) {
  ARROW_RETURN_NOT_OK(core_->write_gate());
  const table::Dataset& dataset = *table.dataset;
  storage::ObjectStore* const store = dataset.store().get();
  ARROW_ASSIGN_OR_RAISE(const table::CompactionPlan plan,
                        table::PlanCompaction(context, dataset, options));
  CompactOutcome outcome;
  outcome.version = plan.read_version;
  outcome.fragments_before = outcome.fragments_after = dataset.manifest().fragments().size();
  if (plan.groups.empty()) return outcome;
  ARROW_ASSIGN_OR_RAISE(std::vector<table::CompactedGroup> groups,
                        table::RunCompaction(context, dataset, plan, options, progress));
  CrashPoint("data_written");

  uint64_t count = 0;
  for (const table::CompactedGroup& group : groups) count += group.group.new_fragments.size();
  std::shared_ptr<const table::Manifest> newest = dataset.shared_manifest();
  if (count > 0) {
    const table::Transaction reserve = table::NewTransaction(
        context, newest->version(), table::ReserveFragmentsOperation{static_cast<uint32_t>(count)});
    Result<uint64_t> reserved = Commit(context, table, reserve, {}, &newest);
    if (!reserved.ok()) {
      // Known or unknown, no version can name the files: only the rewrite would.
      Discard(context, store, groups);
      return reserved.status();
    }
    table::AssignFragmentIds(uint64_t{*newest->max_fragment_id()} + 1 - count, &groups);
    outcome.version = *reserved;
  }
  CrashPoint("fragments_reserved");

  for (int attempt = 1;; ++attempt) {
    outcome.groups_given_up += GiveUpChanged(context, store, *newest, &groups);
    if (groups.empty()) return outcome;
    table::RewriteOperation rewrite;
    for (const table::CompactedGroup& group : groups) rewrite.groups.push_back(group.group);
    const table::Transaction transaction =
        table::NewTransaction(context, newest->version(), std::move(rewrite));
    // Not the transaction's own objects: after a conflict they serve the next attempt.
    Result<uint64_t> committed = Commit(context, table, transaction, ObjectsOf(groups), &newest);
    if (committed.ok()) {
      outcome.version = *committed;
      break;
    }
    if (IsCommitStateUnknown(committed.status())) return committed.status();
    const bool again = CodeOf(committed.status()) == ErrorCode::kConflict && attempt < kMaxCommits;
    Result<std::shared_ptr<table::Dataset>> opened =
        again ? table::Dataset::Open(context, dataset.store())
              : Result<std::shared_ptr<table::Dataset>>(committed.status());
    if (!opened.ok()) {
      Discard(context, store, groups);
      return opened.status();
    }
    newest = (*opened)->shared_manifest();
  }

  outcome.changed = true;
  outcome.groups = groups.size();
  outcome.fragments_after = newest->fragments().size();
  for (const table::CompactedGroup& group : groups) {
    outcome.rows += group.rows_written;
    outcome.bytes_after += group.bytes_written;
    outcome.files_copied += group.files_copied;
    uint64_t physical_rows = 0;
    for (const table::Fragment& fragment : group.group.old_fragments) {
      physical_rows += fragment.physical_rows;
      for (const table::DataFile& file : fragment.files) outcome.bytes_before += file.size_bytes;
    }
    outcome.deleted_rows += physical_rows - std::min(physical_rows, group.rows_written);
  }
  return outcome;
}

}  // namespace lake::commit
