#include "lake/query/spill_file.h"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "lake/base/posix_error.h"

namespace lake::query {

Result<std::shared_ptr<SpillFile>> SpillFile::Make(const std::string& folder) {
  std::string name = folder + "/spill-XXXXXX";
  UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd.valid()) return PosixError(errno, "cannot make a spill file", folder);
  if (::unlink(name.c_str()) != 0) return PosixError(errno, "cannot unlink a spill file", name);
  return std::shared_ptr<SpillFile>(new SpillFile(folder, std::move(fd)));
}

Result<SpillFile::Extent> SpillFile::Append(std::span<const uint8_t> bytes) {
  const Extent extent{.offset = size_, .size = bytes.size()};
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data() + done, bytes.size() - done,
                                     static_cast<off_t>(size_ + done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return PosixError(errno, "cannot write a spill file", folder_);
    done += static_cast<size_t>(written);
  }
  size_ += bytes.size();
  return extent;
}

Status SpillFile::Read(const Extent& extent, std::span<uint8_t> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(fd_.get(), out.data() + done, out.size() - done,
                                static_cast<off_t>(extent.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return PosixError(errno, "cannot read a spill file", folder_);
    if (got == 0) {
      return Error(ErrorCode::kIo, "a spill file is shorter than what was written: in '{}'",
                   folder_);
    }
    done += static_cast<size_t>(got);
  }
  return Status::OK();
}

}  // namespace lake::query
