// Maintenance::Compact: plan, rewrite, reserve ids, commit what is still as it was planned.

#include <algorithm>
#include <utility>

#include "lake/base/crash_point.h"
#include "lake/commit/commit_transaction.h"
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

void CountRows(const std::vector<table::CompactedGroup>& groups, CompactOutcome* outcome) {
  outcome->groups = groups.size();
  for (const table::CompactedGroup& group : groups) {
    outcome->rows += group.rows_written;
    outcome->bytes_after += group.bytes_written;
    outcome->files_copied += group.files_copied;
    uint64_t physical_rows = 0;
    for (const table::Fragment& fragment : group.group.old_fragments) {
      physical_rows += fragment.physical_rows;
      for (const table::DataFile& file : fragment.files) outcome->bytes_before += file.size_bytes;
    }
    outcome->deleted_rows += physical_rows - std::min(physical_rows, group.rows_written);
  }
}

/// The commits of one compaction, from rewritten groups on.
class CompactionCommit {
 public:
  CompactionCommit(const Context& context, const OpenTable& table, const OperationKey& operation,
                   std::optional<uint64_t> replay_base, std::vector<table::CompactedGroup> groups)
      : context_(context),
        table_(table),
        store_(table.dataset->store()),
        operation_(operation),
        replay_base_(replay_base),
        groups_(std::move(groups)),
        newest_(table.dataset->shared_manifest()) {}

  /// Gives the new fragments ids that nobody else takes: a version of its own, as upstream's.
  Status Reserve(CompactOutcome* outcome) {
    uint64_t count = 0;
    for (const table::CompactedGroup& group : groups_) count += group.group.new_fragments.size();
    if (count == 0) return Status::OK();
    table::Transaction reserve =
        table::NewTransaction(context_, newest_->version(),
                              table::ReserveFragmentsOperation{static_cast<uint32_t>(count)});
    // Not the operation: it is done when the fragments are replaced.
    Result<table::CommitResult> reserved = CommitTransaction(context_, store_, std::move(reserve),
                                                             {}, OptionsFor(context_, table_, {}));
    if (!reserved.ok()) {
      // Known or unknown, no version can name the files: only the rewrite would.
      Discard(context_, store_.get(), groups_);
      return reserved.status();
    }
    outcome->version = reserved->version;
    outcome->lost_attempts += reserved->lost_attempts;
    newest_ = reserved->manifest;
    table::AssignFragmentIds(uint64_t{*newest_->max_fragment_id()} + 1 - count, &groups_);
    return Status::OK();
  }

  /// Replaces the groups that are still as they were planned. None left: nothing changes.
  Status Rewrite(CompactOutcome* outcome) {
    for (int attempt = 1;; ++attempt) {
      outcome->groups_given_up += GiveUpChanged(context_, store_.get(), *newest_, &groups_);
      if (groups_.empty()) return Status::OK();
      Result<table::CommitResult> committed = Attempt();
      if (committed.ok()) {
        outcome->changed = true;
        outcome->version = committed->version;
        outcome->lost_attempts += committed->lost_attempts;
        outcome->fragments_after = committed->manifest->fragments().size();
        // Then another run of the operation was there first: my files are leftovers.
        outcome->replayed = committed->replayed;
        if (!outcome->replayed) CountRows(groups_, outcome);
        return Status::OK();
      }
      if (IsCommitStateUnknown(committed.status())) return committed.status();
      ++outcome->lost_attempts;
      const bool again =
          CodeOf(committed.status()) == ErrorCode::kConflict && attempt < kMaxCommits;
      Result<std::shared_ptr<table::Dataset>> opened =
          again ? table_.dataset->Reopen(context_)
                : Result<std::shared_ptr<table::Dataset>>(committed.status());
      if (!opened.ok()) {
        Discard(context_, store_.get(), groups_);
        return opened.status();
      }
      newest_ = (*opened)->shared_manifest();
    }
  }

 private:
  Result<table::CommitResult> Attempt() {
    table::RewriteOperation rewrite;
    uint64_t rows = 0;
    for (const table::CompactedGroup& group : groups_) {
      rewrite.groups.push_back(group.group);
      rows += group.rows_written;
    }
    table::Transaction transaction =
        table::NewTransaction(context_, newest_->version(), std::move(rewrite));
    transaction.properties[table::kNumRowsProperty] = std::to_string(rows);
    table::CommitOptions options = OptionsFor(context_, table_, replay_base_);
    // Not the transaction's own objects: after a conflict they serve the next attempt.
    options.sync_keys = ObjectsOf(groups_);
    return CommitTransaction(context_, store_, std::move(transaction), operation_,
                             std::move(options));
  }

  const Context& context_;
  const OpenTable& table_;
  const std::shared_ptr<storage::ObjectStore> store_;
  const OperationKey& operation_;
  const std::optional<uint64_t> replay_base_;
  std::vector<table::CompactedGroup> groups_;
  std::shared_ptr<const table::Manifest> newest_;
};

}  // namespace

Result<CompactOutcome> Maintenance::Compact(
    const Context& context, const OpenTable& table, const table::CompactionOptions& options,
    const std::function<void(const table::CompactionProgress&)>& progress,
    const OperationKey& operation) {
  ARROW_ASSIGN_OR_RAISE(const OperationKey key, KeyFor(table, operation));
  ARROW_ASSIGN_OR_RAISE(const BegunChange begun, BeginChange(context, core_.get(), table, key));
  CompactOutcome outcome;
  if (begun.outcome.has_value()) {
    outcome.version = begun.outcome->version;
    outcome.rows = begun.outcome->num_rows;
    outcome.replayed = true;
    return outcome;
  }
  const table::Dataset& dataset = *table.dataset;
  ARROW_ASSIGN_OR_RAISE(const table::CompactionPlan plan,
                        table::PlanCompaction(context, dataset, options));
  outcome.version = plan.read_version;
  outcome.fragments_before = outcome.fragments_after = dataset.manifest().fragments().size();
  if (!plan.groups.empty()) {
    ARROW_ASSIGN_OR_RAISE(std::vector<table::CompactedGroup> groups,
                          table::RunCompaction(context, dataset, plan, options, progress));
    CrashPoint("data_written");
    CompactionCommit commit(context, table, key, begun.replay_base, std::move(groups));
    ARROW_RETURN_NOT_OK(commit.Reserve(&outcome));
    CrashPoint("fragments_reserved");
    ARROW_RETURN_NOT_OK(commit.Rewrite(&outcome));
    // Another commit was there first: nothing happened that a replay could be told of.
    if (!outcome.changed) return outcome;
  }
  PublishOutcome(context, core_.get(), table, key,
                 {.version = outcome.version, .num_rows = outcome.rows});
  return outcome;
}

}  // namespace lake::commit
