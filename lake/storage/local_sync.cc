#include "lake/storage/local_sync.h"

#include <cerrno>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lake/base/posix_error.h"
#include "lake/base/thread_pool.h"
#include "lake/storage/key.h"
#include "lake/storage/local_file.h"
#include "lake/storage/local_folder.h"
#include "lake/storage/temporary_object.h"

namespace lake::storage {
namespace {

// Forgetting costs a few fsyncs, so the memory is bounded in the simplest way.
constexpr size_t kMaxRemembered = 4096;
// Folders of one round that stay open from the look at them until they are synced.
constexpr size_t kMaxKeptOpen = 16;

}  // namespace

Status LocalSync::SyncDescriptor(int fd, std::string_view object) const {
  if (fsync_(fd) != 0) return PosixError(errno, "cannot make durable", object);
  return Status::OK();
}

Result<LocalSync::FolderIdentity> LocalSync::Identify(int fd, std::string_view folder) {
  struct statx info;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &info) != 0) {
    return PosixError(errno, "cannot stat folder", folder);
  }
  FolderIdentity identity;
  identity.device = (dev_t{info.stx_dev_major} << 32) | info.stx_dev_minor;
  identity.inode = info.stx_ino;
  if ((info.stx_mask & STATX_BTIME) != 0) {
    identity.born = info.stx_btime.tv_sec * 1'000'000'000 + info.stx_btime.tv_nsec;
  }
  return identity;
}

Result<LocalSync::FileIdentity> LocalSync::IdentifyFile(int fd, std::string_view key) {
  struct stat info;
  if (fstat(fd, &info) != 0) return PosixError(errno, "cannot stat object", key);
  return FileIdentity{info.st_dev, info.st_ino, info.st_size, info.st_mtim};
}

void LocalSync::Published(const TemporaryObject& object) {
  if (!object.synced()) return;
  const Result<FileIdentity> identity = IdentifyFile(object.descriptor(), object.key());
  // Not remembering costs an fsync.
  if (!identity.ok()) return;
  MutexLock lock(&mutex_);
  if (published_.size() >= kMaxRemembered) published_.clear();
  published_.insert_or_assign(object.key(), *identity);
}

bool LocalSync::LacksOnlyItsName(int root, const std::string& key) {
  FileIdentity durable;
  {
    MutexLock lock(&mutex_);
    auto found = published_.find(key);
    if (found == published_.end()) return false;
    durable = found->second;
  }
  auto file = LocalFile::Open(root, key);
  if (!file.ok()) return false;
  Result<FileIdentity> identity = IdentifyFile((*file)->descriptor(), key);
  return identity.ok() && *identity == durable;
}

Status LocalSync::Collect(int root, std::string_view folder, OpenFolders* sync, Folders* named) {
  while (true) {
    const auto [place, is_new] = sync->try_emplace(std::string(folder));
    if (!is_new || folder.empty()) return Status::OK();
    ARROW_ASSIGN_OR_RAISE(UniqueFd fd, OpenFolder(root, folder));
    ARROW_ASSIGN_OR_RAISE(FolderIdentity identity, Identify(fd.get(), folder));
    if (sync->size() <= kMaxKeptOpen) place->second = std::move(fd);
    {
      MutexLock lock(&mutex_);
      auto found = durable_.find(folder);
      if (found != durable_.end() && found->second == identity) return Status::OK();
    }
    named->emplace(folder, identity);
    folder = SplitKey(folder).folder;
  }
}

Status LocalSync::Run(int root, std::span<const std::string> keys,
                      std::span<TemporaryObject* const> staged) {
  OpenFolders folders;
  // Identities are taken before the sync: what it makes durable is at least that.
  Folders named;
  for (const std::string& key : keys) {
    std::string_view folder = IsFolder(key) ? FolderName(key) : SplitKey(key).folder;
    // One that is gone itself was deleted from the folder that is left.
    while (IsFolder(key) && !folder.empty()) {
      const Status there = OpenFolder(root, folder).status();
      if (there.ok() || CodeOf(there) != ErrorCode::kNotFound) break;
      folder = SplitKey(folder).folder;
    }
    ARROW_RETURN_NOT_OK(Collect(root, folder, &folders, &named));
  }

  std::vector<std::function<Status()>> tasks;
  tasks.reserve(keys.size() + staged.size() + folders.size());
  for (const std::string& key : std::set<std::string>(keys.begin(), keys.end())) {
    if (IsFolder(key) || LacksOnlyItsName(root, key)) continue;
    tasks.push_back([this, root, key]() -> Status {
      ARROW_ASSIGN_OR_RAISE(auto file, LocalFile::Open(root, key));
      return SyncDescriptor(file->descriptor(), key);
    });
  }
  for (const TemporaryObject* object : staged) {
    tasks.push_back([this, object] { return SyncDescriptor(object->descriptor(), object->key()); });
  }
  for (auto& [folder, fd] : folders) {
    tasks.push_back([this, root, &folder, &fd]() -> Status {
      if (!fd.valid()) {
        ARROW_ASSIGN_OR_RAISE(fd, OpenFolder(root, folder));
      }
      return SyncDescriptor(fd.get(), folder.empty() ? "the root folder" : folder);
    });
  }
  ARROW_RETURN_NOT_OK(
      ParallelFor(IoThreadPool(), tasks.size(), [&](size_t i) { return tasks[i](); }));
  for (TemporaryObject* object : staged) object->MarkSynced();

  MutexLock lock(&mutex_);
  if (durable_.size() + named.size() > kMaxRemembered) durable_.clear();
  for (auto& [folder, identity] : named) durable_.insert_or_assign(folder, identity);
  for (const std::string& key : keys) published_.erase(key);
  return Status::OK();
}

}  // namespace lake::storage
