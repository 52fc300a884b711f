#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/base/mutex.h"
#include "lake/storage/object_store.h"
#include "lake/table/manifest.h"

namespace lake::table {

/// Opens the folder that a manifest's base path names, for reading. The path comes from disk: the
/// opener decides what may be opened at all, and gives an error for the rest.
using BaseOpener = std::function<Result<std::shared_ptr<storage::ObjectStore>>(
    const Context& context, const std::string& path)>;

/// Where the files of a version lie: in its own folder, or in that of a base. Bases are opened at
/// first use. Thread-safe.
class BaseStores {
 public:
  struct Place {
    std::shared_ptr<storage::ObjectStore> store;
    std::string key;
  };

  /// `own` is rooted at the version's folder, `root` at the table's: they differ for a branch.
  /// Bases within the table's own folder need no opener.
  BaseStores(std::shared_ptr<storage::ObjectStore> own, std::shared_ptr<storage::ObjectStore> root,
             std::vector<BasePath> bases, BaseOpener opener);

  /// kCorrupt if the file names a base that the manifest lacks; kUnsupported, naming the path, for
  /// a base that may not be opened.
  Result<Place> Find(const Context& context, const DataFile& file) LAKE_EXCLUDES(mutex_);
  Result<Place> Find(const Context& context, uint64_t fragment_id, const DeletionFile& file)
      LAKE_EXCLUDES(mutex_);
  /// `own_key` is where a file lies below its own folder, such as "_indices/<uuid>/index.idx".
  Result<Place> FindKey(const Context& context, std::optional<uint32_t> base_id,
                        const std::string& own_key) LAKE_EXCLUDES(mutex_);
  /// The folder of a base that is no dataset's root: what external blobs lie in. `what` is for
  /// texts.
  Result<std::shared_ptr<storage::ObjectStore>> OpenBase(const Context& context, uint32_t base_id,
                                                         const std::string& what)
      LAKE_EXCLUDES(mutex_);

 private:
  Result<const BasePath*> FindBase(uint32_t base_id, const std::string& what) const;
  Result<Place> InBase(const Context& context, uint32_t base_id, const std::string& own_key)
      LAKE_EXCLUDES(mutex_);
  Result<std::shared_ptr<storage::ObjectStore>> Open(const Context& context, const BasePath& base)
      LAKE_EXCLUDES(mutex_);

  const std::shared_ptr<storage::ObjectStore> own_;
  const std::shared_ptr<storage::ObjectStore> root_;
  const std::vector<BasePath> bases_;
  const BaseOpener opener_;

  Mutex mutex_;
  std::map<uint32_t, std::shared_ptr<storage::ObjectStore>> stores_ LAKE_GUARDED_BY(mutex_);
};

}  // namespace lake::table
