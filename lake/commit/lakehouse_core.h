#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lake/base/context.h"
#include "lake/base/mutex.h"
#include "lake/base/settling_context.h"
#include "lake/base/temp_folder.h"
#include "lake/catalog/metastore.h"
#include "lake/objects/stage.h"
#include "lake/storage/object_store.h"
#include "lake/table/base_stores.h"

namespace lake::commit {

/// Opens the stage of a tenant.
using StageOpener = std::function<Result<std::shared_ptr<objects::Stage>>(
    const Context& context, const std::string& tenant)>;

/// What all parts of one lakehouse share. Writes in progress keep it alive. Thread-safe.
class LakehouseCore {
 public:
  LakehouseCore(std::shared_ptr<storage::ObjectStore> store,
                std::shared_ptr<catalog::Metastore> metastore, StageOpener open_stage,
                Status write_gate, std::unique_ptr<TempFolder> temp = nullptr)
      : temp_(std::move(temp)),
        store_(std::move(store)),
        metastore_(std::move(metastore)),
        open_stage_(std::move(open_stage)),
        write_gate_(std::move(write_gate)) {}

  /// Rooted at the data folder.
  storage::ObjectStore* store() const { return store_.get(); }
  catalog::Metastore& metastore() const { return *metastore_; }
  const std::shared_ptr<catalog::Metastore>& shared_metastore() const { return metastore_; }

  /// Why nothing may be written here, or OK.
  const Status& write_gate() const { return write_gate_; }

  /// Opens the folders that versions of `entry` may name by their path: its own and those of the
  /// tables that it is a clone of, as far as they lie below `tables/` of the data folder in use,
  /// under the path of today or that of a place where the folder was before. Names of dataset
  /// folders are UUIDs, so that one is never taken for another. kPermissionDenied, naming the path,
  /// for folders of other tables, kUnsupported for all others.
  table::BaseOpener BaseOpenerFor(const catalog::Entry& entry) const;

  /// The store rooted at the entry's folder. kCorrupt for a location that is not below `tables/`.
  Result<std::shared_ptr<storage::ObjectStore>> TableStore(const catalog::Entry& entry) const;

  Result<std::shared_ptr<objects::Stage>> StageFor(const Context& context,
                                                   const std::string& tenant) LAKE_EXCLUDES(mutex_);

 private:
  // Goes after everything that may still write into it. Null over a store that needs none.
  const std::unique_ptr<TempFolder> temp_;
  const std::shared_ptr<storage::ObjectStore> store_;
  const std::shared_ptr<catalog::Metastore> metastore_;
  const StageOpener open_stage_;
  const Status write_gate_;

  Mutex mutex_;
  std::map<std::string, std::shared_ptr<objects::Stage>> stages_ LAKE_GUARDED_BY(mutex_);
};

/// The folder of all tables, and the location of a new one (DESIGN: on disk).
inline constexpr char kTablesFolder[] = "tables";
std::string NewTableLocation(const catalog::QualifiedName& name, const Uuid& incarnation);

/// As SettlingContext, for what is only a hint: it waits a short time at most.
Context HintContext(const Context& context);

}  // namespace lake::commit
