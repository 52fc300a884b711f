#pragma once

#include <memory>
#include <string>

#include "lake/base/context.h"
#include "lake/base/temp_folder.h"
#include "lake/commit/folder_identity.h"
#include "lake/storage/object_store.h"

namespace lake::commit {

/// A data folder on a local disk, made or found, before its metastore is opened (DESIGN: on disk).
struct DataFolder {
  /// Absolute, without symbolic links.
  std::string path;
  FolderIdentity identity;
  /// This process's own; goes with this object.
  std::unique_ptr<TempFolder> temp;
  /// Rooted at the folder.
  std::shared_ptr<storage::ObjectStore> store;
};

/// Finds or makes the data folder at `path`. kNotFound if there is none and `create_if_missing` is
/// false; kUnsupported on a network file system, or if the folder is newer than this program;
/// kCorrupt if its lake.json was lost.
Result<DataFolder> OpenDataFolder(const Context& context, const std::string& path,
                                  bool create_if_missing);

/// The folder of managed objects in a data folder.
std::string ManagedObjectsPath(const std::string& data_dir);
/// The metastore's file in a data folder.
std::string MetastorePath(const std::string& data_dir);

}  // namespace lake::commit
