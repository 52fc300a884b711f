#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lake/base/error.h"
#include "lake/base/mutex.h"
#include "lake/base/unique_fd.h"

namespace lake::storage {

/// A published object, open for reading. Immutable, thread-safe.
class LocalFile {
 public:
  /// Opens `key` below `root`; errors as StatObject.
  static Result<std::shared_ptr<LocalFile>> Open(int root, const std::string& key);

  const std::string& key() const { return key_; }
  uint64_t size() const { return size_; }

  /// Fills `out` from `offset`. REQUIRES: inside the size.
  Status ReadAt(uint64_t offset, std::span<uint8_t> out) const;

  /// Fills `out` if that needs no wait because the system has the bytes in memory. False: `out` is
  /// undefined, ReadAt tells what is wrong if anything is. REQUIRES: inside the size.
  bool TryReadCached(uint64_t offset, std::span<uint8_t> out) const;

  int descriptor() const { return fd_.get(); }

  /// True if the file has exactly one name. Once false it may have been deleted or replaced, so the
  /// descriptor must not be used for new reads.
  bool HasOneName() const;

 private:
  LocalFile(std::string key, UniqueFd fd, uint64_t size)
      : key_(std::move(key)), fd_(std::move(fd)), size_(size) {}

  const std::string key_;
  const UniqueFd fd_;
  const uint64_t size_;
};

/// Keeps the most recently read files open. Thread-safe.
///
/// An object never changes in place, so an open descriptor is right as long as the name still leads
/// to it; it does not exactly if the file lost its only name, by deletion or replacement in any
/// process.
class LocalFileCache {
 public:
  /// At most `capacity` files stay open.
  explicit LocalFileCache(size_t capacity) : capacity_(capacity) {}

  Result<std::shared_ptr<LocalFile>> Open(int root, const std::string& key) LAKE_EXCLUDES(mutex_);

  size_t num_open() LAKE_EXCLUDES(mutex_);

 private:
  using FileList = std::list<std::shared_ptr<LocalFile>>;

  std::shared_ptr<LocalFile> Find(const std::string& key) LAKE_EXCLUDES(mutex_);
  void Keep(std::shared_ptr<LocalFile> file) LAKE_EXCLUDES(mutex_);

  const size_t capacity_;
  Mutex mutex_;
  /// Most recently used first.
  FileList files_ LAKE_GUARDED_BY(mutex_);
  /// Keys are views of the files' own.
  std::unordered_map<std::string_view, FileList::iterator> by_key_ LAKE_GUARDED_BY(mutex_);
};

}  // namespace lake::storage
