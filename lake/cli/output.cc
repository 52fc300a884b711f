#include "lake/cli/output.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

namespace lake::cli {

Status Output::Write(std::string_view text) {
  while (!closed_ && !text.empty()) {
    ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno != EINTR) {
      return Error(errno == ENOSPC ? ErrorCode::kOutOfSpace : ErrorCode::kIo,
                   "cannot write to standard output: {}", std::strerror(errno));
    }
  }
  if (closed_) return MakeError(ErrorCode::kCancelled, "standard output was closed");
  return Status::OK();
}

}  // namespace lake::cli
