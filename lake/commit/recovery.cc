#include "lake/commit/recovery.h"

#include <optional>
#include <vector>

#include "lake/table/commit.h"
#include "lake/table/version_list.h"

namespace lake::commit {

Result<CreationFate> SettleCreation(const Context& context, LakehouseCore* core,
                                    const catalog::Entry& entry) {
  ARROW_ASSIGN_OR_RAISE(auto store, core->TableStore(entry));
  // The folder is fresh and nobody but the creation writes into it before the row is live, so that
  // any version in it is the creation's.
  Result<std::shared_ptr<table::Dataset>> dataset = table::Dataset::Open(context, store);
  if (!dataset.ok() && CodeOf(dataset.status()) != ErrorCode::kNotFound) return dataset.status();
  if (dataset.ok()) {
    ARROW_ASSIGN_OR_RAISE(std::optional<Uuid> first,
                          table::FirstTransactionUuid(context, store.get()));
    if (!first.has_value()) {
      return Error(ErrorCode::kCorrupt,
                   "creation cannot be finished: version 1 does not name its transaction: {}",
                   entry.location);
    }
    // What becomes known as done must be durable.
    ARROW_ASSIGN_OR_RAISE(const table::VersionList versions,
                          table::ListVersions(context, store.get()));
    const std::string keys[] = {table::ManifestKey(versions.versions.front(), versions.naming)};
    ARROW_RETURN_NOT_OK(store->Sync(context, keys, {}));
    Status finished = core->metastore().FinishCreate(context, entry, *first);
    if (finished.ok()) return CreationFate::kLive;
    // Buried by another's hand since the row was read.
    if (CodeOf(finished) == ErrorCode::kConflict) return CreationFate::kBuried;
    return finished;
  }
  if (entry.lease_expires_nanos > context.clock->UnixNanos()) return CreationFate::kPending;
  Status buried = core->metastore().AbandonCreate(context, entry);
  if (buried.ok()) return CreationFate::kBuried;
  if (CodeOf(buried) == ErrorCode::kConflict) return CreationFate::kPending;
  return buried;
}

Status SettleExpiredCreations(const Context& context, LakehouseCore* core) {
  ARROW_ASSIGN_OR_RAISE(std::vector<catalog::Entry> expired,
                        core->metastore().ExpiredCreates(context));
  Status first_error;
  for (const catalog::Entry& entry : expired) {
    Status settled = SettleCreation(context, core, entry).status();
    if (first_error.ok() && !settled.ok()) {
      first_error = WithContext(settled, fmt::format("creation of '{}'", entry.name.ToString()));
    }
  }
  return first_error;
}

}  // namespace lake::commit
