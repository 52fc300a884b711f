#include "lake/service/folder_walk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>

#include "lake/base/posix_error.h"
#include "lake/base/utf8.h"

namespace lake::service {
namespace {

// Each level holds a descriptor.
constexpr size_t kMaxDepth = 256;
constexpr int64_t kReservedPerName = 64;

int64_t UnixNanos(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

const char* WhatItIs(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISBLK(mode) || S_ISCHR(mode)) return "a device";
  return "no regular file";
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// True for a folder, by the entry's type where the file system tells it.
bool IsFolder(int folder, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat state;
  return ::fstatat(folder, entry.d_name, &state, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(state.st_mode);
}

// The length of the well-formed UTF-8 character at the start of `text`, or 0.
size_t CharacterLength(std::string_view text) {
  for (size_t length = 1; length <= std::min<size_t>(4, text.size()); ++length) {
    if (IsValidUtf8(text.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

std::string DisplayName(const std::string& bytes) {
  std::string shown;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    size_t length = CharacterLength(rest);
    auto byte = static_cast<uint8_t>(rest.front());
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      shown += fmt::format("\\x{:02X}", byte);
      rest.remove_prefix(1);
    } else {
      shown.append(rest.substr(0, length));
      rest.remove_prefix(length);
    }
  }
  return shown;
}

FolderWalk::FolderWalk(const Context& context, FolderWalkOptions options)
    : context_(context), options_(std::move(options)) {}

Result<std::unique_ptr<FolderWalk>> FolderWalk::Open(const Context& context,
                                                     const std::string& folder,
                                                     FolderWalkOptions options) {
  std::unique_ptr<FolderWalk> walk(new FolderWalk(context, std::move(options)));
  ARROW_ASSIGN_OR_RAISE(walk->reservation_,
                        context.memory->Reserve(0, "the names of a folder's files"));
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return PosixError(errno, "cannot open the folder", DisplayName(folder));
  ARROW_RETURN_NOT_OK(walk->Enter(std::move(fd), ""));
  return walk;
}

Status FolderWalk::Enter(UniqueFd fd, std::string prefix) {
  struct stat state;
  if (::fstat(fd.get(), &state) != 0) {
    return PosixError(errno, "cannot read the state of the folder", DisplayName(prefix));
  }
  if (options_.forbidden && SameFile(state, *options_.forbidden)) {
    return Error(ErrorCode::kInvalidArgument,
                 "the folder to import holds the data folder of lake, at '{}'",
                 DisplayName(prefix));
  }
  // The stream closes its own descriptor; ours stays for openat.
  DIR* stream = ::fdopendir(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (stream == nullptr) return PosixError(errno, "cannot list the folder", DisplayName(prefix));
  Level level{.fd = std::move(fd), .prefix = std::move(prefix), .names = {}};
  errno = 0;
  while (const dirent* entry = ::readdir(stream)) {
    std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    bool is_folder = IsFolder(level.fd.get(), *entry);
    level.reserved += kReservedPerName + static_cast<int64_t>(name.size());
    level.names.push_back({.name = std::move(name), .is_folder = is_folder});
    errno = 0;
  }
  int error = errno;
  ::closedir(stream);
  if (error != 0) return PosixError(error, "cannot list the folder", DisplayName(level.prefix));
  ARROW_RETURN_NOT_OK(reservation_.Resize(reservation_.bytes() + level.reserved));

  // As if each folder's name ended in '/': then depth first is the order of the whole paths.
  auto key_less = [](const Name& a, const Name& b) {
    size_t common = std::min(a.name.size(), b.name.size());
    int order = std::memcmp(a.name.data(), b.name.data(), common);
    if (order != 0) return order < 0;
    auto next = [&](const Name& n) -> int {
      if (common < n.name.size()) return static_cast<uint8_t>(n.name[common]);
      return n.is_folder ? '/' : -1;
    };
    return next(a) < next(b);
  };
  std::ranges::sort(level.names, [&](const Name& a, const Name& b) { return key_less(b, a); });
  levels_.push_back(std::move(level));
  return Status::OK();
}

Result<std::optional<FoundFile>> FolderWalk::Next() {
  while (!levels_.empty()) {
    ARROW_RETURN_NOT_OK(context_.Check());
    if (levels_.back().names.empty()) {
      ARROW_RETURN_NOT_OK(reservation_.Resize(reservation_.bytes() - levels_.back().reserved));
      levels_.pop_back();
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(std::optional<FoundFile> file, Visit());
    if (file) return file;
  }
  return std::nullopt;
}

Result<std::optional<FoundFile>> FolderWalk::Visit() {
  Level& level = levels_.back();
  current_name_ = std::move(level.names.back().name);
  level.names.pop_back();
  std::string path = level.prefix + current_name_;
  auto report = [&](const Status& reason) -> std::optional<FoundFile> {
    Report(path, reason);
    return std::nullopt;
  };
  if (!IsValidUtf8(current_name_)) {
    return report(Error(ErrorCode::kUnsupported, "the name is not UTF-8"));
  }
  struct stat state;
  if (::fstatat(level.fd.get(), current_name_.c_str(), &state, AT_SYMLINK_NOFOLLOW) != 0) {
    return report(PosixError(errno, "cannot read the state of the file", path));
  }
  if (S_ISREG(state.st_mode)) {
    current_path_ = path;
    return FoundFile{.path = std::move(path),
                     .size = static_cast<uint64_t>(state.st_size),
                     .modified_nanos = UnixNanos(state.st_mtim)};
  }
  if (!S_ISDIR(state.st_mode)) {
    return report(
        Error(ErrorCode::kUnsupported, "it is {}, which is not imported", WhatItIs(state.st_mode)));
  }
  if (levels_.size() >= kMaxDepth) {
    return report(
        Error(ErrorCode::kUnsupported, "folders are nested too deeply ({} levels)", kMaxDepth));
  }
  UniqueFd fd(::openat(level.fd.get(), current_name_.c_str(),
                       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return report(PosixError(errno, "cannot open the folder", path));
  size_t depth = levels_.size();
  Status entered = Enter(std::move(fd), path + "/");
  if (entered.ok()) return std::nullopt;
  ErrorCode code = CodeOf(entered);
  if (code == ErrorCode::kInvalidArgument || code == ErrorCode::kOutOfMemory) return entered;
  levels_.resize(depth);
  return report(entered);
}

Result<UniqueFd> FolderWalk::OpenCurrent() {
  UniqueFd fd(::openat(levels_.back().fd.get(), current_name_.c_str(),
                       O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return PosixError(errno, "cannot open the file", current_path_);
  return fd;
}

void FolderWalk::Report(const std::string& path, const Status& reason) const {
  if (options_.problem) options_.problem(DisplayName(path), reason);
}

}  // namespace lake::service
