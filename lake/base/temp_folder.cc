#include "lake/base/temp_folder.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "lake/base/posix_error.h"
#include "lake/base/uuid.h"

namespace lake {
namespace {

constexpr mode_t kFolderMode = 0700;
// Each lost attempt means that a sweeper came in the instant between making and locking a folder.
constexpr int kAttempts = 10;

std::string TopFolder(const std::string& data_dir) { return data_dir + "/tmp"; }

Status MakeFolderIfMissing(const std::string& path) {
  if (mkdir(path.c_str(), kFolderMode) == 0 || errno == EEXIST) return Status::OK();
  return PosixError(errno, "cannot make folder", path);
}

/// Opens and locks the folder `path`; not valid if it is gone, no folder, or held by another. Only
/// who holds the lock may remove it, so it stays at its name until the lock is released.
Result<UniqueFd> LockFolder(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return UniqueFd();
    return PosixError(errno, "cannot open temporary folder", path);
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return UniqueFd();
    return PosixError(errno, "cannot lock temporary folder", path);
  }
  struct stat locked;
  struct stat named;
  if (fstat(fd.get(), &locked) != 0 || lstat(path.c_str(), &named) != 0 ||
      locked.st_dev != named.st_dev || locked.st_ino != named.st_ino) {
    return UniqueFd();
  }
  return fd;
}

}  // namespace

Result<std::unique_ptr<TempFolder>> TempFolder::Make(const Context& context,
                                                     const std::string& data_dir) {
  const std::string top = TopFolder(data_dir);
  ARROW_RETURN_NOT_OK(MakeFolderIfMissing(top));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::string path = top + "/" + Uuid::NewV7(context).ToString();
    if (mkdir(path.c_str(), kFolderMode) != 0) {
      if (errno == EEXIST) continue;
      return PosixError(errno, "cannot make temporary folder", path);
    }
    ARROW_ASSIGN_OR_RAISE(UniqueFd lock, LockFolder(path));
    if (lock.valid()) {
      return std::unique_ptr<TempFolder>(new TempFolder(std::move(path), std::move(lock)));
    }
  }
  return RetryableError(ErrorCode::kIo,
                        "cannot keep a temporary folder: each one was swept at once by another "
                        "process: '{}'",
                        top);
}

TempFolder::~TempFolder() {
  // Who sweeps next removes what stays behind.
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<TempSweep> SweepTempFolders(const Context& context, const std::string& data_dir) {
  TempSweep sweep;
  std::error_code error;
  std::filesystem::directory_iterator entries(TopFolder(data_dir), error);
  if (error == std::errc::no_such_file_or_directory) return sweep;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    ARROW_RETURN_NOT_OK(context.Check());
    const std::string path = entries->path().string();
    if (!Uuid::Parse(entries->path().filename().string()).ok()) {
      ++sweep.num_kept;
      continue;
    }
    auto lock = LockFolder(path);
    if (!lock.ok()) {
      sweep.problems.push_back(ErrorText(lock.status()));
      continue;
    }
    if (!lock->valid()) {
      ++sweep.num_kept;
      continue;
    }
    std::error_code remove_error;
    std::filesystem::remove_all(path, remove_error);
    if (remove_error) {
      sweep.problems.push_back(ErrorText(
          PosixError(remove_error.value(), "cannot remove left-over temporary folder", path)));
    } else {
      ++sweep.num_removed;
    }
  }
  if (error) return PosixError(error.value(), "cannot list folder", TopFolder(data_dir));
  return sweep;
}

}  // namespace lake
