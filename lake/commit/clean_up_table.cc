// Maintenance::CleanUp and what it asks the metastore first.

#include <algorithm>
#include <utility>

#include "lake/base/log.h"
#include "lake/commit/incarnation.h"
#include "lake/commit/lakehouse_core.h"
#include "lake/commit/maintenance.h"
#include "lake/commit/operations.h"
#include "lake/table/version_list.h"

namespace lake::commit {
namespace {

// A pin of a restore that died.
constexpr std::string_view kRestorePin = "lake-pin-restore-";

// True if the clone that `tag` keeps versions for provably never came to be.
Result<bool> IsStale(const Context& context, LakehouseCore* core, const table::Tag& tag) {
  if (tag.name.starts_with(kRestorePin)) {
    return tag.created_nanos.value_or(0) < context.clock->UnixNanos() - table::kDayNanos;
  }
  if (!tag.name.starts_with(table::kClonePinPrefix)) return false;
  Result<Uuid> clone = Uuid::Parse(tag.name.substr(table::kClonePinPrefix.size()));
  if (!clone.ok()) return false;
  Result<catalog::Whereabouts> where = core->metastore().FindIncarnation(context, *clone);
  if (!where.ok()) {
    if (CodeOf(where.status()) != ErrorCode::kNotFound) return where.status();
    // Its row was made before its pin: a metastore that does not know it is an older copy.
    Log(LogLevel::kWarning, "pin of a clone that the metastore does not know stays: {}", tag.name);
    return false;
  }
  if (!where->tombstone.has_value() || where->tombstone->reason != catalog::kCreateAbandoned) {
    return false;
  }
  ARROW_ASSIGN_OR_RAISE(auto store, core->TableStore(where->entry));
  ARROW_ASSIGN_OR_RAISE(table::VersionList versions, table::ListVersions(context, store.get()));
  return versions.empty();
}

// The lowest version that an operation without a known outcome started from. Operations of which
// storage tells the outcome get it recorded here.
Result<std::optional<uint64_t>> ReplayBase(const Context& context, LakehouseCore* core,
                                           const catalog::Entry& entry, int64_t retention_nanos) {
  ARROW_ASSIGN_OR_RAISE(std::vector<catalog::OperationRecord> open,
                        core->metastore().OpenOperations(context, entry.incarnation));
  std::optional<uint64_t> base;
  for (const catalog::OperationRecord& record : open) {
    if (record.created_nanos < context.clock->UnixNanos() - retention_nanos) continue;
    Result<OperationState> state =
        ResolveOperation(context, core, {record.operation_id, record.payload_digest});
    if (state.ok() && state->outcome.has_value()) continue;
    base = std::min(base.value_or(record.base_version), record.base_version);
  }
  return base;
}

}  // namespace

Result<table::CleanupReport> Maintenance::CleanUp(const Context& context, const OpenTable& table,
                                                  table::CleanupOptions options) {
  if (!options.dry_run) ARROW_RETURN_NOT_OK(core_->write_gate());
  const std::shared_ptr<storage::ObjectStore>& store = table.dataset->root_store();
  ARROW_RETURN_NOT_OK(CheckBelongs(context, table));
  if (!options.dry_run) {
    ARROW_ASSIGN_OR_RAISE(std::vector<table::Tag> tags, table::ListTags(context, store.get()));
    for (const table::Tag& tag : tags) {
      ARROW_ASSIGN_OR_RAISE(bool stale, IsStale(context, core_.get(), tag));
      if (stale) ARROW_RETURN_NOT_OK(table::DeleteTag(context, store, tag.name));
    }
  }
  ARROW_ASSIGN_OR_RAISE(options.replay_base, ReplayBase(context, core_.get(), table.entry,
                                                        options.replay_retention_nanos));
  options.authority = [&] { return CheckBelongs(context, table); };
  return table::CleanUp(context, store, options);
}

}  // namespace lake::commit
