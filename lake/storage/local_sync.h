#pragma once

#include <ctime>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>
#include <unistd.h>

#include "lake/base/error.h"
#include "lake/base/mutex.h"
#include "lake/base/unique_fd.h"

namespace lake::storage {

class TemporaryObject;

/// Makes objects and the folders that lead to them durable. Thread-safe.
///
/// It remembers for which folders the name itself is durable, so that a long path costs its whole
/// chain of folders only once. A folder is known by its inode and birth time, not by its name
/// alone: one that was removed and made again is synced again.
///
/// It also remembers objects that were synced before they got their name: of them the name is all
/// that is left to be made durable, which the sync of their folder does.
class LocalSync {
 public:
  /// `fsync` is the system call; tests watch it.
  explicit LocalSync(int (*fsync)(int) = ::fsync) : fsync_(fsync) {}

  /// Syncs in one parallel round: the files (and folders, "a/b/") of `keys`, each of their folders
  /// once, and `staged`.
  Status Run(int root, std::span<const std::string> keys, std::span<TemporaryObject* const> staged)
      LAKE_EXCLUDES(mutex_);

  /// Says that `object` has its name now. If a Run made its bytes durable before, the next one need
  /// not.
  void Published(const TemporaryObject& object) LAKE_EXCLUDES(mutex_);

 private:
  /// A file whose bytes are durable. Another one under its name, or one that was written to,
  /// differs.
  struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec changed{};
    bool operator==(const FileIdentity& other) const {
      return device == other.device && inode == other.inode && size == other.size &&
             changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
    }
  };
  struct FolderIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    /// Nanoseconds; 0 where the file system does not tell.
    int64_t born = 0;
    bool operator==(const FolderIdentity&) const = default;
  };
  using Folders = std::map<std::string, FolderIdentity, std::less<>>;
  /// Folders to be synced; those that are not open here are opened once more.
  using OpenFolders = std::map<std::string, UniqueFd, std::less<>>;

  static Result<FolderIdentity> Identify(int fd, std::string_view folder);
  static Result<FileIdentity> IdentifyFile(int fd, std::string_view key);

  /// True if the bytes of the object `key` are known to be durable. False where that cannot be
  /// told.
  bool LacksOnlyItsName(int root, const std::string& key) LAKE_EXCLUDES(mutex_);

  /// Adds to `sync` the folders that must be synced for a new name in `folder`, and to `named`
  /// those whose names become durable by it.
  Status Collect(int root, std::string_view folder, OpenFolders* sync, Folders* named)
      LAKE_EXCLUDES(mutex_);

  Status SyncDescriptor(int fd, std::string_view object) const;

  int (*const fsync_)(int);
  Mutex mutex_;
  Folders durable_ LAKE_GUARDED_BY(mutex_);
  /// By key, until the name is synced, too.
  std::map<std::string, FileIdentity, std::less<>> published_ LAKE_GUARDED_BY(mutex_);
};

}  // namespace lake::storage
