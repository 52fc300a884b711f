#include "lake/objects/file_source.h"

#include <cerrno>
#include <vector>

#include <fcntl.h>

#include "lake/base/posix_error.h"
#include "lake/objects/sha256.h"

namespace lake::objects {
namespace {

constexpr size_t kHashBlockBytes = 1 << 20;

bool SameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

FileSource::FileSource(UniqueFd fd, std::string path, PosixCalls* calls)
    : fd_(std::move(fd)), path_(std::move(path)), calls_(calls) {}

Result<std::unique_ptr<FileSource>> FileSource::Open(const std::string& path, PosixCalls* calls) {
  // Without O_NONBLOCK, opening a FIFO would wait for its writer.
  UniqueFd fd(
      calls->OpenAt(AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0));
  if (!fd.valid()) return PosixError(errno, "cannot open the file to upload", path);
  return Adopt(std::move(fd), path, calls);
}

Result<std::unique_ptr<FileSource>> FileSource::Adopt(UniqueFd fd, std::string path,
                                                      PosixCalls* calls) {
  std::unique_ptr<FileSource> source(new FileSource(std::move(fd), std::move(path), calls));
  if (calls->FStat(source->fd_.get(), &source->before_) != 0) {
    return PosixError(errno, "cannot read the state of the file to upload", source->path_);
  }
  if (!S_ISREG(source->before_.st_mode)) {
    return Error(ErrorCode::kInvalidArgument, "only regular files can be uploaded: '{}'",
                 source->path_);
  }
  ::posix_fadvise(source->fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return source;
}

Result<size_t> FileSource::Read(std::span<uint8_t> out) {
  ARROW_RETURN_NOT_OK(error_);
  Result<size_t> count = ReadOnce(out);
  if (!count.ok()) error_ = count.status();
  return count;
}

Result<size_t> FileSource::ReadOnce(std::span<uint8_t> out) {
  if (out.empty()) {
    return Error(ErrorCode::kInvalidArgument, "cannot read a file into an empty buffer: '{}'",
                 path_);
  }
  ssize_t count;
  do {
    count = calls_->Read(fd_.get(), out.data(), out.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return PosixError(errno, "cannot read the file to upload", path_);
  position_ += static_cast<uint64_t>(count);
  if (count == 0 || position_ > size()) ARROW_RETURN_NOT_OK(CheckUnchanged());
  return static_cast<size_t>(count);
}

Status FileSource::CheckUnchanged() {
  struct stat now;
  if (calls_->FStat(fd_.get(), &now) != 0) {
    return PosixError(errno, "cannot read the state of the file to upload", path_);
  }
  bool same = position_ == size() && now.st_size == before_.st_size &&
              now.st_dev == before_.st_dev && now.st_ino == before_.st_ino &&
              SameTime(now.st_mtim, before_.st_mtim) && SameTime(now.st_ctim, before_.st_ctim);
  if (same) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "the file changed while it was read; upload it again when nothing writes to it: "
               "'{}' (read {} bytes, {} at the start, {} now)",
               path_, position_, before_.st_size, now.st_size);
}

Result<std::string> HashFile(const Context& context, const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<FileSource> file, FileSource::Open(path));
  Sha256 hash;
  std::vector<uint8_t> block(kHashBlockBytes);
  while (true) {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(size_t count, file->Read(block));
    if (count == 0) return hash.Finish();
    hash.Update(std::span<const uint8_t>(block).first(count));
  }
}

}  // namespace lake::objects
