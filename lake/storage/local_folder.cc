#include "lake/storage/local_folder.h"

#include <atomic>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lake/base/posix_error.h"
#include "lake/storage/key.h"

namespace lake::storage {
namespace {

constexpr mode_t kFolderMode = 0700;

bool IsSymbolicLink(int folder, const std::string& name) {
  struct stat info;
  return fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
}

/// Opens `path` below `root` in one call, over no symbolic link; -1 if that fails for whatever
/// reason, or the kernel cannot do it.
int OpenAtOnce(int root, std::string_view path, uint64_t flags) {
  static std::atomic<bool> can{true};
  if (!can.load(std::memory_order_relaxed)) return -1;
  struct open_how how{};
  how.flags = flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const long fd =
      syscall(SYS_openat2, root, path.empty() ? "." : std::string(path).c_str(), &how, sizeof(how));
  // Kernels before 5.6; filters of system calls say EPERM.
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) can.store(false, std::memory_order_relaxed);
  return static_cast<int>(fd);
}

/// Opens `name` in `folder`; returns -1 and sets errno, to ELOOP for a symbolic link.
int OpenStep(int folder, const std::string& name) {
  int fd = openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  // With O_DIRECTORY the kernel reports a link as ENOTDIR.
  if (fd < 0 && errno == ENOTDIR) errno = IsSymbolicLink(folder, name) ? ELOOP : ENOTDIR;
  return fd;
}

Result<UniqueFd> Walk(int root, std::string_view folder, bool make) {
  const int at_once = OpenAtOnce(root, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at_once >= 0) return UniqueFd(at_once);
  // Step by step it can be told, or made, what is missing.
  UniqueFd at(openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at.valid()) return PosixError(errno, "cannot open the root folder", folder);
  for (size_t begin = 0; begin < folder.size();) {
    size_t end = std::min(folder.find('/', begin), folder.size());
    const std::string name(folder.substr(begin, end - begin));
    begin = end + 1;
    int next = OpenStep(at.get(), name);
    if (next < 0 && errno == ENOENT && make) {
      // Another one may have made it in between.
      if (mkdirat(at.get(), name.c_str(), kFolderMode) != 0 && errno != EEXIST) {
        return PosixError(errno, "cannot make folder", folder.substr(0, end));
      }
      next = OpenStep(at.get(), name);
    }
    if (next < 0 && errno == ENOTDIR && make) {
      return Error(ErrorCode::kInvalidArgument,
                   "cannot make folder: there is an object of that name: '{}'",
                   folder.substr(0, end));
    }
    if (next < 0) return PosixError(errno, "cannot open folder", folder.substr(0, end));
    at = UniqueFd(next);
  }
  return at;
}

}  // namespace

Result<UniqueFd> OpenFolder(int root, std::string_view folder) {
  return Walk(root, folder, /*make=*/false);
}

Result<UniqueFd> MakeFolder(int root, std::string_view folder) {
  return Walk(root, folder, /*make=*/true);
}

UniqueFd TryOpenFile(int root, std::string_view key) {
  // O_NONBLOCK: a FIFO in the folder must not hang us before it is recognised.
  return UniqueFd(OpenAtOnce(root, key, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

Result<UniqueFd> OpenFolderOf(int root, std::string_view key) {
  auto folder = OpenFolder(root, SplitKey(key).folder);
  if (folder.ok()) return folder;
  if (CodeOf(folder.status()) == ErrorCode::kNotFound) {
    return PosixError(ENOENT, "cannot open object", key);
  }
  return WithContext(folder.status(), fmt::format("cannot open object '{}'", key));
}

Result<struct stat> StatObject(int root, std::string_view key) {
  ARROW_ASSIGN_OR_RAISE(UniqueFd folder, OpenFolderOf(root, key));
  return StatObjectIn(folder.get(), key);
}

Result<struct stat> StatObjectIn(int folder, std::string_view key) {
  struct stat info;
  if (fstatat(folder, std::string(SplitKey(key).name).c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return PosixError(errno, "cannot find object", key);
  }
  if (S_ISLNK(info.st_mode)) return PosixError(ELOOP, "cannot open object", key);
  if (S_ISDIR(info.st_mode)) return PosixError(ENOENT, "cannot find object", key);
  if (!S_ISREG(info.st_mode)) {
    return Error(ErrorCode::kUnsupported, "not a regular file: '{}'", key);
  }
  return info;
}

}  // namespace lake::storage
