// Maintenance::Clone: a table that begins with the content of another.

#include <utility>

#include "lake/base/crash_point.h"
#include "lake/commit/commit_transaction.h"
#include "lake/commit/incarnation.h"
#include "lake/commit/lakehouse_core.h"
#include "lake/commit/lease_keeper.h"
#include "lake/commit/maintenance.h"
#include "lake/commit/recovery.h"
#include "lake/table/commit.h"

namespace lake::commit {
namespace {

constexpr int kNameAttempts = 3;

std::string PinName(const Uuid& clone) {
  return std::string(table::kClonePinPrefix) + clone.ToString();
}

/// The tags that keep what a clone reads. Those of a creation that failed are lifted again.
class ClonePins {
 public:
  ClonePins(const Context& context, const Uuid& clone)
      : context_(SettlingContext(context)), name_(PinName(clone)) {}

  ~ClonePins() {
    if (kept_) return;
    // What stays is lifted by a clean-up, which knows that there is no such clone.
    for (const auto& store : stores_) table::DeleteTag(context_, store, name_).ok();
  }

  Status Add(std::shared_ptr<storage::ObjectStore> store, const table::VersionRef& target) {
    ARROW_RETURN_NOT_OK(table::CreateTag(context_, store, name_, target).status());
    stores_.push_back(std::move(store));
    return Status::OK();
  }
  void Keep() { kept_ = true; }

 private:
  const Context context_;
  const std::string name_;
  std::vector<std::shared_ptr<storage::ObjectStore>> stores_;
  bool kept_ = false;
};

/// Pins what a clone of `table` will read: its version, and where the table is a clone itself, the
/// versions that its own pins keep.
Status PinSources(const Context& context, const OpenTable& table,
                  const table::BaseOpener& open_base, ClonePins* pins) {
  const table::Dataset& dataset = *table.dataset;
  ARROW_RETURN_NOT_OK(
      pins->Add(dataset.root_store(), {dataset.branch(), dataset.manifest().version()}));
  const std::string own_pin = PinName(table.entry.incarnation);
  for (const table::BasePath& base : dataset.manifest().base_paths()) {
    std::string path = base.path;
    // Branches of a table are pinned with the table's own tags.
    const size_t tree = path.rfind(".lance/tree/");
    if (tree != std::string::npos) path.resize(tree + 6);
    if (path == dataset.root_store()->description()) continue;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<storage::ObjectStore> store, open_base(context, path));
    if (store->description() == dataset.root_store()->description()) continue;
    Result<table::Tag> tag = table::ReadTag(context, store.get(), own_pin);
    if (!tag.ok()) {
      if (CodeOf(tag.status()) != ErrorCode::kNotFound) return tag.status();
      return Error(ErrorCode::kConflict,
                   "table reads files of another one that does not keep them for it; copy it "
                   "instead: '{}': {}",
                   table.entry.name.ToString(), path);
    }
    ARROW_RETURN_NOT_OK(pins->Add(std::move(store), tag->target));
  }
  return Status::OK();
}

/// What the row of a shallow clone of `source` says of whose files it reads.
std::string CloneOf(const catalog::Entry& source) {
  auto inherited = source.properties.find(kCloneOfProperty);
  return inherited == source.properties.end()
             ? source.incarnation.ToString()
             : source.incarnation.ToString() + " " + inherited->second;
}

Result<catalog::Entry> Reserve(const Context& context, LakehouseCore* core,
                               const catalog::QualifiedName& name,
                               std::map<std::string, std::string> properties) {
  catalog::Entry entry;
  entry.properties = std::move(properties);
  entry.incarnation = Uuid::NewV7(context);
  ARROW_ASSIGN_OR_RAISE(entry.name.name_space, catalog::NormalizedName(name.name_space));
  ARROW_ASSIGN_OR_RAISE(entry.name.name, catalog::CheckedName(name.name, "table"));
  entry.location = NewTableLocation(entry.name, entry.incarnation);
  for (int attempt = 1;; ++attempt) {
    Result<catalog::Entry> begun =
        core->metastore().BeginCreate(context, entry, LeaseKeeper::kLeaseNanos);
    if (begun.ok() || CodeOf(begun.status()) != ErrorCode::kConflict || attempt == kNameAttempts) {
      return begun;
    }
    ARROW_RETURN_NOT_OK(SettleExpiredCreations(context, core));
  }
}

}  // namespace

Status CheckNoClones(const Context& context, LakehouseCore* core, const catalog::Entry& entry) {
  const std::string incarnation = entry.incarnation.ToString();
  std::unique_ptr<catalog::View> view = core->metastore().ViewFor(catalog::Principal{});
  ARROW_ASSIGN_OR_RAISE(std::vector<std::string> name_spaces, view->ListNamespaces(context));
  for (const std::string& name_space : name_spaces) {
    ARROW_ASSIGN_OR_RAISE(std::vector<catalog::Entry> entries,
                          view->ListEntries(context, name_space));
    for (const catalog::Entry& other : entries) {
      auto sources = other.properties.find(kCloneOfProperty);
      if (sources == other.properties.end() ||
          sources->second.find(incarnation) == std::string::npos) {
        continue;
      }
      return Error(ErrorCode::kConflict,
                   "table has a shallow clone that reads its files; drop that first, or copy it "
                   "and then drop it: '{}' is read by '{}'",
                   entry.name.ToString(), other.name.ToString());
    }
  }
  return Status::OK();
}

Result<catalog::Entry> Maintenance::Clone(const Context& context, const OpenTable& table,
                                          const catalog::QualifiedName& name,
                                          const CloneOptions& options) {
  ARROW_RETURN_NOT_OK(CheckBelongs(context, table));
  const table::Dataset& source = *table.dataset;
  std::map<std::string, std::string> properties;
  if (!options.deep) properties[kCloneOfProperty] = CloneOf(table.entry);
  ARROW_ASSIGN_OR_RAISE(catalog::Entry reserved,
                        Reserve(context, core_.get(), name, std::move(properties)));
  CrashPoint("row_creating");
  LeaseKeeper keeper(context, core_->shared_metastore(), reserved);
  const Context settling = SettlingContext(context);
  auto abandon = [&](const Status& failure) {
    // Left to recovery if it fails.
    core_->metastore().AbandonCreate(settling, keeper.Release()).ok();
    return failure;
  };
  Result<std::shared_ptr<storage::ObjectStore>> store = core_->TableStore(reserved);
  if (!store.ok()) return abandon(store.status());
  const std::map<std::string, std::string> metadata = {
      {kIncarnationKey, reserved.incarnation.ToString()}};
  const std::string& path = source.root_store()->description();
  // Both kinds: a copy must not lose its source half way.
  ClonePins pins(context, reserved.incarnation);
  Status pinned = PinSources(context, table, core_->BaseOpenerFor(table.entry), &pins);
  if (!pinned.ok()) return abandon(NothingCommitted(pinned));
  CrashPoint("clone_pinned");
  Result<table::Transaction> transaction =
      options.deep ? table::MakeDeepCopy(context, source, *store, path, metadata, options.progress)
                   : table::MakeShallowClone(context, source, path, metadata);
  if (!transaction.ok()) return abandon(transaction.status());
  CrashPoint("data_written");
  table::CommitOptions commit_options;
  commit_options.authority = [&](const table::Manifest*) { return keeper.EnsureHeld(); };
  Result<table::CommitResult> committed =
      table::Commit(context, *store, *transaction, commit_options);
  if (!committed.ok()) {
    if (IsCommitStateUnknown(committed.status())) {
      if (!options.deep) pins.Keep();
      return committed.status();
    }
    return abandon(committed.status());
  }
  if (!options.deep) pins.Keep();
  const catalog::Entry entry = keeper.entry();
  ARROW_RETURN_NOT_OK(PublishName(settling, core_.get(), entry, transaction->uuid));
  const auto where = core_->metastore().FindIncarnation(settling, entry.incarnation);
  if (where.ok()) return where->entry;
  // It stands whether or not its row can be read again.
  catalog::Entry live = entry;
  live.state = catalog::EntryState::kLive;
  live.first_transaction = transaction->uuid;
  return live;
}

}  // namespace lake::commit
