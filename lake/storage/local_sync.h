#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>
#include <unistd.h>

#include "lake/base/error.h"
#include "lake/base/mutex.h"

namespace lake::storage {

class TemporaryObject;

/// Makes objects and the folders that lead to them durable. Thread-safe.
///
/// It remembers for which folders the name itself is durable, so that a long path costs its whole
/// chain of folders only once. A folder is known by its inode and birth time, not by its name
/// alone: one that was removed and made again is synced again.
class LocalSync {
 public:
  /// `fsync` is the system call; tests watch it.
  explicit LocalSync(int (*fsync)(int) = ::fsync) : fsync_(fsync) {}

  /// Syncs in one parallel round: the files (and folders, "a/b/") of `keys`, each of their folders
  /// once, and `staged`.
  Status Run(int root, std::span<const std::string> keys, std::span<TemporaryObject* const> staged)
      LAKE_EXCLUDES(mutex_);

 private:
  struct FolderIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    /// Nanoseconds; 0 where the file system does not tell.
    int64_t born = 0;
    bool operator==(const FolderIdentity&) const = default;
  };
  using Folders = std::map<std::string, FolderIdentity, std::less<>>;

  static Result<FolderIdentity> Identify(int root, std::string_view folder);

  /// Adds to `sync` the folders that must be synced for a new name in `folder`, and to `named`
  /// those whose names become durable by it.
  Status Collect(int root, std::string_view folder, std::set<std::string>* sync, Folders* named)
      LAKE_EXCLUDES(mutex_);

  Status SyncDescriptor(int fd, std::string_view object) const;

  int (*const fsync_)(int);
  Mutex mutex_;
  Folders durable_ LAKE_GUARDED_BY(mutex_);
};

}  // namespace lake::storage
