#pragma once

#include <memory>
#include <string>

#include "lake/storage/object_store.h"

namespace lake::storage {

struct LocalStoreOptions {
  /// Where unpublished bytes lie until they get their name: a folder on the same file system as the
  /// root, usually the process's own temporary folder (lake/base/temp_folder.h). Empty: beside the
  /// target, under a name that starts with ".tmp".
  std::string temp_dir;
};

/// A store over the folder `root`, which is made if it is missing.
///
/// Publishing is link(2), else renameat2(RENAME_NOREPLACE), else kUnsupported: it never overwrites.
/// Folders are made 0700 and files 0600, narrowed by umask, never widened. Keys never lead out of
/// the root: a symbolic link on the way is refused. Network file systems are kUnsupported, by name.
/// Reads go by pread; descriptors of recently read files are kept open (bounded).
Result<std::shared_ptr<ObjectStore>> OpenLocalStore(const std::string& root,
                                                    LocalStoreOptions options = {});

/// kUnsupported, naming the file system, if `path` lies on a network file system.
Status RefuseNetworkFileSystem(const std::string& path);

}  // namespace lake::storage
