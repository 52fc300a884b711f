#include "lake/storage/local_file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "lake/base/posix_error.h"
#include "lake/storage/key.h"
#include "lake/storage/local_folder.h"

namespace lake::storage {

Result<std::shared_ptr<LocalFile>> LocalFile::Open(int root, const std::string& key) {
  UniqueFd fd = TryOpenFile(root, key);
  if (!fd.valid()) {
    ARROW_ASSIGN_OR_RAISE(UniqueFd folder, OpenFolderOf(root, key));
    fd = UniqueFd(openat(folder.get(), std::string(SplitKey(key).name).c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  }
  if (!fd.valid()) return PosixError(errno, "cannot open object", key);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return PosixError(errno, "cannot stat object", key);
  if (S_ISDIR(info.st_mode)) return PosixError(ENOENT, "cannot open object", key);
  if (!S_ISREG(info.st_mode)) {
    return Error(ErrorCode::kUnsupported, "not a regular file: '{}'", key);
  }
  return std::shared_ptr<LocalFile>(
      new LocalFile(key, std::move(fd), static_cast<uint64_t>(info.st_size)));
}

Status LocalFile::ReadAt(uint64_t offset, std::span<uint8_t> out) const {
  while (!out.empty()) {
    ssize_t got = pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      return PosixError(errno, "cannot read object", key_);
    }
    if (got == 0) {
      return Error(ErrorCode::kIo,
                   "object became shorter while it was read: at {} of {} bytes: '{}'", offset,
                   size_, key_);
    }
    offset += static_cast<uint64_t>(got);
    out = out.subspan(static_cast<size_t>(got));
  }
  return Status::OK();
}

bool LocalFile::TryReadCached(uint64_t offset, std::span<uint8_t> out) const {
  iovec vector{out.data(), out.size()};
  return preadv2(fd_.get(), &vector, 1, static_cast<off_t>(offset), RWF_NOWAIT) ==
         static_cast<ssize_t>(out.size());
}

bool LocalFile::HasOneName() const {
  struct stat info;
  return fstat(fd_.get(), &info) == 0 && info.st_nlink == 1;
}

Result<std::shared_ptr<LocalFile>> LocalFileCache::Open(int root, const std::string& key) {
  if (auto file = Find(key)) return file;
  ARROW_ASSIGN_OR_RAISE(auto file, LocalFile::Open(root, key));
  if (file->HasOneName()) Keep(file);
  return file;
}

size_t LocalFileCache::num_open() {
  MutexLock lock(&mutex_);
  return files_.size();
}

std::shared_ptr<LocalFile> LocalFileCache::Find(const std::string& key) {
  std::shared_ptr<LocalFile> stale;  // closed after the lock is released
  MutexLock lock(&mutex_);
  auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  FileList::iterator at = found->second;
  if ((*at)->HasOneName()) {
    files_.splice(files_.begin(), files_, at);
    return *at;
  }
  stale = *at;
  by_key_.erase(found);
  files_.erase(at);
  return nullptr;
}

void LocalFileCache::Keep(std::shared_ptr<LocalFile> file) {
  std::shared_ptr<LocalFile> evicted;
  MutexLock lock(&mutex_);
  // Another thread may have opened it, too.
  if (by_key_.contains(file->key())) return;
  files_.push_front(std::move(file));
  by_key_.emplace(files_.front()->key(), files_.begin());
  if (files_.size() > capacity_) {
    evicted = files_.back();
    by_key_.erase(evicted->key());
    files_.pop_back();
  }
}

}  // namespace lake::storage
