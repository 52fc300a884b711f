#include "lake/commit/lakehouse.h"

#include <algorithm>
#include <utility>

#include "lake/base/crash_point.h"
#include "lake/base/log.h"
#include "lake/base/temp_folder.h"
#include "lake/commit/change_write.h"
#include "lake/commit/data_folder.h"
#include "lake/commit/incarnation.h"
#include "lake/commit/lakehouse_impl.h"
#include "lake/commit/leftovers.h"
#include "lake/commit/maintenance.h"
#include "lake/commit/operations.h"
#include "lake/commit/recovery.h"
#include "lake/commit/table_change.h"
#include "lake/commit/table_write.h"
#include "lake/storage/put_probe.h"

namespace lake::commit {
namespace {

// How long a drop can be taken back at least.
constexpr int64_t kUndropNanos = int64_t{7} * 24 * 3600 * 1'000'000'000;

// A creation that cannot be settled keeps its name reserved, and says why to whoever wants that
// name; temporaries that cannot be removed wait for the next start. Neither is a reason to stay
// closed.
void TidyUp(const Context& context, LakehouseCore* core, const std::string& data_dir) {
  Status settled = SettleExpiredCreations(context, core);
  if (!settled.ok()) Log(LogLevel::kWarning, "creation left as it is: {}", ErrorText(settled));
  Result<TempSweep> swept = SweepTempFolders(context, data_dir);
  if (!swept.ok()) {
    Log(LogLevel::kWarning, "temporary folders not swept: {}", ErrorText(swept.status()));
    return;
  }
  for (const std::string& problem : swept->problems) {
    Log(LogLevel::kWarning, "temporary folder not removed: {}", problem);
  }
}

}  // namespace

Result<std::shared_ptr<Lakehouse>> Lakehouse::Open(const Context& context,
                                                   LakehouseOptions options) {
  ARROW_ASSIGN_OR_RAISE(DataFolder folder,
                        OpenDataFolder(context, options.data_dir, options.create_if_missing));
  ARROW_ASSIGN_OR_RAISE(auto metastore,
                        catalog::OpenSqliteMetastore(context, MetastorePath(folder.path)));
  const std::string temp_dir = folder.temp->path();
  const std::string probe_prefix = temp_dir.substr(folder.path.size() + 1);
  Status write_gate = storage::ProbeConditionalPut(context, folder.store.get(), probe_prefix);
  // Reading goes on where writing is refused.
  if (!write_gate.ok() && CodeOf(write_gate) != ErrorCode::kUnsupported) return write_gate;

  StageOpener open_stage = [path = folder.path, uri = folder.identity.stage_uri, temp_dir](
                               const Context& stage_context, const std::string& tenant) {
    return objects::OpenLocalStage(stage_context, {.root = ManagedObjectsPath(path),
                                                   .stage_uri = uri,
                                                   .tenant = tenant,
                                                   .temp_dir = temp_dir});
  };
  auto core =
      std::make_shared<LakehouseCore>(folder.store, std::move(metastore), std::move(open_stage),
                                      std::move(write_gate), std::move(folder.temp));
  // Refused at start, not at the first upload, if files cannot be published from the temporary
  // folder.
  ARROW_RETURN_NOT_OK(core->StageFor(context, catalog::Principal{}.tenant).status());
  TidyUp(context, core.get(), folder.path);
  return std::make_shared<LakehouseImpl>(std::move(core), std::move(folder.path), temp_dir);
}

Result<std::shared_ptr<objects::Stage>> LakehouseImpl::StageFor(
    const Context& context, const catalog::Principal& principal) {
  return core_->StageFor(context, principal.tenant);
}

Result<std::shared_ptr<const OpenTable>> LakehouseImpl::OpenByName(
    const Context& context, const catalog::Principal& principal, const catalog::QualifiedName& name,
    catalog::NameMatch match, const table::OpenOptions& options) {
  ARROW_ASSIGN_OR_RAISE(catalog::Entry entry,
                        metastore().ViewFor(principal)->Find(context, name, match));
  return OpenEntry(context, entry, options);
}

Result<std::shared_ptr<const OpenTable>> LakehouseImpl::OpenEntry(
    const Context& context, const catalog::Entry& entry, const table::OpenOptions& options) {
  if (entry.kind != catalog::EntryKind::kTable || entry.format != catalog::EntryFormat::kLance) {
    return Error(ErrorCode::kUnsupported, "only Lance tables can be opened: '{}'",
                 entry.name.ToString());
  }
  ARROW_ASSIGN_OR_RAISE(auto store, core_->TableStore(entry));
  table::OpenOptions wanted = options;
  wanted.open_base = core_->BaseOpenerFor(entry);
  table::OpenOptions of_newest;
  of_newest.open_base = wanted.open_base;
  Result<std::shared_ptr<table::Dataset>> newest = table::Dataset::Open(context, store, of_newest);
  if (!newest.ok()) {
    if (CodeOf(newest.status()) == ErrorCode::kNotFound) return TableMissing(entry);
    return WithContext(newest.status(), fmt::format("table '{}'", entry.name.ToString()));
  }
  ARROW_RETURN_NOT_OK(CheckIncarnation(context, entry, store.get(), (*newest)->manifest()));
  auto opened = std::make_shared<OpenTable>();
  opened->entry = entry;
  opened->dataset = *std::move(newest);
  if (options.version.has_value() || options.as_of_nanos.has_value() || options.tag.has_value() ||
      options.branch.has_value()) {
    Result<std::shared_ptr<table::Dataset>> older = table::Dataset::Open(context, store, wanted);
    if (!older.ok()) {
      return WithContext(older.status(), fmt::format("table '{}'", entry.name.ToString()));
    }
    opened->dataset = *std::move(older);
  }
  return opened;
}

Result<std::unique_ptr<TableWrite>> LakehouseImpl::Create(
    const Context& context, const catalog::Principal& principal, const catalog::QualifiedName& name,
    const arrow::Schema& schema, const std::map<std::string, std::string>& properties,
    const WriteOptions& options) {
  return StartCreate(context, core_, principal, name, schema, properties, options);
}

Result<std::unique_ptr<TableWrite>> LakehouseImpl::Append(const Context& context,
                                                          const catalog::Principal& principal,
                                                          std::shared_ptr<const OpenTable> table,
                                                          const WriteOptions& options) {
  return StartAppend(context, core_, principal, std::move(table), options);
}

Result<std::unique_ptr<TableWrite>> LakehouseImpl::Replace(const Context& context,
                                                           const catalog::Principal& principal,
                                                           std::shared_ptr<const OpenTable> table,
                                                           const arrow::Schema& schema,
                                                           const WriteOptions& options) {
  return StartReplace(context, core_, principal, std::move(table), schema, options);
}

Result<CommitOutcome> LakehouseImpl::Change(const Context& context,
                                            const catalog::Principal& principal,
                                            std::shared_ptr<const OpenTable> table,
                                            const ChangeMaker& make, const WriteOptions& options) {
  return ChangeTable(context, core_, principal, std::move(table), make, options);
}

Result<std::unique_ptr<ChangeWrite>> LakehouseImpl::ChangeRows(
    const Context& context, const catalog::Principal& principal,
    std::shared_ptr<const OpenTable> table, const std::set<std::string>& changed_columns,
    const WriteOptions& options) {
  return StartChangeRows(context, core_, principal, std::move(table), changed_columns, options);
}

Result<CommitOutcome> LakehouseImpl::Replay(const Context& context,
                                            const catalog::Principal& principal,
                                            const OperationKey& operation) {
  ARROW_RETURN_NOT_OK(CheckOperationKey(operation));
  ARROW_ASSIGN_OR_RAISE(OperationState state, ResolveOperation(context, core_.get(), operation));
  if (state.outcome.has_value()) return *state.outcome;
  return Error(ErrorCode::kNotFound, "operation has not happened, send its rows again: {}",
               operation.operation_id);
}

Result<catalog::Whereabouts> LakehouseImpl::WhereAfter(const Status& error,
                                                       const Uuid& incarnation) {
  // Only an error of the medium leaves it open whether the change happened.
  if (CodeOf(error) != ErrorCode::kIo && CodeOf(error) != ErrorCode::kOutOfSpace) return error;
  Result<catalog::Whereabouts> where = metastore().FindIncarnation(Context{}, incarnation);
  if (where.ok()) return where;
  return Error(ErrorCode::kCommitUnknown,
               "change of a name may or may not have happened, look at the name: {}; then: {}",
               ErrorText(error), ErrorText(where.status()));
}

Status LakehouseImpl::Drop(const Context& context, const catalog::Principal& principal,
                           const catalog::Entry& entry) {
  ARROW_RETURN_NOT_OK(CheckNoClones(context, core_.get(), entry));
  CrashPoint("before_drop");
  Status dropped = metastore().Drop(context, entry, context.clock->UnixNanos() + kUndropNanos);
  if (!dropped.ok()) {
    ARROW_ASSIGN_OR_RAISE(catalog::Whereabouts where, WhereAfter(dropped, entry.incarnation));
    if (!where.tombstone.has_value()) return dropped;
  }
  CrashPoint("row_dropped");
  return Status::OK();
}

Result<catalog::Entry> LakehouseImpl::Undrop(const Context& context,
                                             const catalog::Principal& principal,
                                             const catalog::QualifiedName& name,
                                             const std::optional<catalog::QualifiedName>& new_name,
                                             const std::optional<Uuid>& incarnation) {
  catalog::QualifiedName wanted;
  ARROW_ASSIGN_OR_RAISE(wanted.name_space, catalog::NormalizedName(name.name_space));
  ARROW_ASSIGN_OR_RAISE(wanted.name, catalog::NormalizedName(name.name));
  ARROW_ASSIGN_OR_RAISE(std::vector<catalog::Tombstone> tombstones,
                        metastore().ViewFor(principal)->ListTombstones(context));
  const catalog::Tombstone* latest = nullptr;
  for (const catalog::Tombstone& tombstone : tombstones) {
    if (tombstone.reason != catalog::kDropped || tombstone.entry.name != wanted) continue;
    if (incarnation.has_value() && tombstone.entry.incarnation != *incarnation) continue;
    if (latest == nullptr || tombstone.dropped_nanos >= latest->dropped_nanos) latest = &tombstone;
  }
  if (latest == nullptr) {
    return Error(ErrorCode::kNotFound, "nothing that was dropped had this name: '{}'",
                 wanted.ToString());
  }
  const Uuid dropped = latest->entry.incarnation;
  Result<catalog::Entry> undropped =
      metastore().Undrop(context, dropped, new_name.value_or(wanted));
  CrashPoint("row_undropped");
  if (undropped.ok()) return undropped;
  ARROW_ASSIGN_OR_RAISE(catalog::Whereabouts where, WhereAfter(undropped.status(), dropped));
  if (where.tombstone.has_value()) return undropped;
  return where.entry;
}

Result<catalog::Entry> LakehouseImpl::Rename(const Context& context,
                                             const catalog::Principal& principal,
                                             const catalog::Entry& entry,
                                             const catalog::QualifiedName& new_name) {
  CrashPoint("before_rename");
  Result<catalog::Entry> renamed = metastore().Rename(context, entry, new_name);
  CrashPoint("row_renamed");
  if (renamed.ok()) return renamed;
  ARROW_ASSIGN_OR_RAISE(catalog::Whereabouts where,
                        WhereAfter(renamed.status(), entry.incarnation));
  // A name in another normal form is stored as NFC, and then differs from what was asked for.
  if (where.entry.name.name_space != new_name.name_space ||
      where.entry.name.name != catalog::NormalizedName(new_name.name).ValueOr("")) {
    return renamed;
  }
  return where.entry;
}

Result<std::vector<std::string>> LakehouseImpl::FindLeftovers(const Context& context) {
  ARROW_ASSIGN_OR_RAISE(LeftoverReport report, FindLeftoverFiles(context, core_->store()));
  std::vector<std::string> lines;
  for (const Leftover& leftover : report.leftovers) {
    lines.push_back(fmt::format("{} ({} bytes{})", leftover.key, leftover.size,
                                leftover.possibly_in_use ? ", possibly in use" : ""));
  }
  for (const std::string& unreadable : report.unreadable) {
    lines.push_back("cannot be judged: " + unreadable);
  }
  return lines;
}

}  // namespace lake::commit
