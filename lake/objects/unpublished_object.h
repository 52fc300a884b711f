#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lake/base/context.h"
#include "lake/base/unique_fd.h"
#include "lake/objects/posix_calls.h"

namespace lake::objects {

/// A folder that is held open, and its path for error texts.
struct OpenFolder {
  UniqueFd fd;
  std::string path;
};

/// The bytes of an object before it has its name: a file in the process's temporary folder.
/// Destruction closes and removes it unless it was published; a published object is never touched
/// again. The folders outlive it. Not thread-safe.
class UnpublishedObject {
 public:
  /// Creates the file (0600 narrowed by umask, O_EXCL) under a fresh name in `temp_folder`.
  static Result<std::unique_ptr<UnpublishedObject>> Create(const Context& context,
                                                           PosixCalls* calls,
                                                           const OpenFolder* temp_folder);
  ~UnpublishedObject();

  /// Appends `bytes`. Starts to write them back now and then, so that the sync at the end is short.
  Status Write(std::span<const uint8_t> bytes);

  /// Makes the file read-only and durable, gives it `name` in `folder` without ever replacing
  /// anything, and syncs both folders. kAlreadyExists if the name is taken (another may be tried).
  /// If a folder cannot be synced after the object got its name, the object is removed again.
  Status Publish(const OpenFolder& folder, const std::string& name);

 private:
  UnpublishedObject(PosixCalls* calls, const OpenFolder* temp_folder, std::string name);

  Status Seal();
  Status GiveName(const OpenFolder& folder, const std::string& name);
  void RemoveIfMine(const OpenFolder& folder, const std::string& name);
  std::string path() const { return temp_folder_->path + "/" + name_; }

  PosixCalls* const calls_;
  const OpenFolder* const temp_folder_;
  const std::string name_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  uint64_t written_back_ = 0;
  bool sealed_ = false;
  bool exists_ = false;
};

}  // namespace lake::objects
