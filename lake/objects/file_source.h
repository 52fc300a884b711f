#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <sys/stat.h>

#include "lake/base/unique_fd.h"
#include "lake/objects/posix_calls.h"
#include "lake/objects/stage.h"

namespace lake::objects {

/// A regular file as a source of an upload. Its clean end means that the file did not change while
/// it was read: size, modification time, change time and identity are compared with those at the
/// start, and a difference is kInvalidArgument. A change within one tick of the file system's clock
/// that keeps the size cannot be seen. Not thread-safe.
class FileSource : public ByteReader {
 public:
  /// Opens `path`; kInvalidArgument unless it is a regular file (links are followed).
  static Result<std::unique_ptr<FileSource>> Open(const std::string& path,
                                                  PosixCalls* calls = PosixCalls::Real());

  /// Takes an open descriptor; `path` is for error texts.
  static Result<std::unique_ptr<FileSource>> Adopt(UniqueFd fd, std::string path,
                                                   PosixCalls* calls = PosixCalls::Real());

  uint64_t size() const { return static_cast<uint64_t>(before_.st_size); }
  /// Nanoseconds since 1970 UTC.
  int64_t modified_nanos() const {
    return before_.st_mtim.tv_sec * 1'000'000'000 + before_.st_mtim.tv_nsec;
  }

  Result<size_t> Read(std::span<uint8_t> out) override;

  /// What made Read fail, OK if nothing did: tells an upload's failing source from its failing
  /// stage.
  const Status& error() const { return error_; }

 private:
  FileSource(UniqueFd fd, std::string path, PosixCalls* calls);

  Result<size_t> ReadOnce(std::span<uint8_t> out);
  Status CheckUnchanged();

  UniqueFd fd_;
  const std::string path_;
  PosixCalls* const calls_;
  struct stat before_ = {};
  uint64_t position_ = 0;
  Status error_;
};

/// The SHA-256 of the regular file at `path`, in lower-case hexadecimal digits; errors as
/// FileSource's, or the context's.
Result<std::string> HashFile(const Context& context, const std::string& path);

}  // namespace lake::objects
