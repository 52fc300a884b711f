#include "lake/storage/publish_file.h"

#include <cerrno>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lake/base/posix_error.h"

namespace lake::storage {
namespace {

int Link(const FileName& from, const FileName& to) {
  return linkat(from.folder, from.name.c_str(), to.folder, to.name.c_str(), 0);
}

int RenameNoReplace(const FileName& from, const FileName& to) {
  return renameat2(from.folder, from.name.c_str(), to.folder, to.name.c_str(), RENAME_NOREPLACE);
}

int Rename(const FileName& from, const FileName& to) {
  return renameat(from.folder, from.name.c_str(), to.folder, to.name.c_str());
}

bool IsFolder(const FileName& file) {
  struct stat info;
  return fstatat(file.folder, file.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(info.st_mode);
}

Status PublishError(int error, const FileName& to, const std::string& key) {
  if ((error == EEXIST || error == EISDIR) && IsFolder(to)) {
    return Error(ErrorCode::kInvalidArgument,
                 "cannot publish object: there is a folder of that name: '{}'", key);
  }
  if (error == EEXIST) {
    return Error(ErrorCode::kPreconditionFailed, "the object exists already: '{}'", key);
  }
  if (error == EXDEV) {
    return Error(ErrorCode::kUnsupported,
                 "cannot publish object: its folder is on another file system than the temporary "
                 "files: '{}'",
                 key);
  }
  return PosixError(error, "cannot publish object", key);
}

/// Errors by which file systems say that they have no hard links.
bool LacksLinks(int error) { return error == EPERM || error == EOPNOTSUPP || error == ENOSYS; }

}  // namespace

const PublishCalls& SystemPublishCalls() {
  static constexpr PublishCalls calls = {Link, RenameNoReplace, Rename};
  return calls;
}

Status PublishFile(const PublishCalls& calls, const FileName& from, const FileName& to,
                   PutCondition condition, const std::string& key) {
  if (condition == PutCondition::kNone) {
    return calls.rename(from, to) == 0 ? Status::OK() : PublishError(errno, to, key);
  }
  if (calls.link(from, to) == 0) {
    // The object is published; a second name that stays behind is swept with the other temporaries.
    (void)unlinkat(from.folder, from.name.c_str(), 0);
    return Status::OK();
  }
  if (!LacksLinks(errno)) return PublishError(errno, to, key);
  if (calls.rename_no_replace(from, to) == 0) return Status::OK();
  if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) {
    return Error(ErrorCode::kUnsupported,
                 "cannot publish object: the file system has neither hard links nor a rename that "
                 "does not replace; use another one: '{}'",
                 key);
  }
  return PublishError(errno, to, key);
}

}  // namespace lake::storage
