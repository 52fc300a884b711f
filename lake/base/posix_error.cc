#include "lake/base/posix_error.h"

#include <cerrno>
#include <cstring>

namespace lake {
namespace {

struct Mapping {
  ErrorCode code;
  bool retryable = false;
  std::string_view advice = "";
};

Mapping Map(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return {ErrorCode::kNotFound};
    case EEXIST:
      return {ErrorCode::kAlreadyExists};
    case ENOSPC:
      return {ErrorCode::kOutOfSpace, false, "; free some space and try again"};
    case EDQUOT:
      return {ErrorCode::kOutOfSpace, false, "; free some space or raise the quota"};
    case EACCES:
    case EPERM:
      return {ErrorCode::kPermissionDenied, false,
              "; check owner and mode of the file and its folders"};
    case EROFS:
      return {ErrorCode::kPermissionDenied};
    case ELOOP:
      return {ErrorCode::kPermissionDenied, false, "; symbolic links are not followed here"};
    case ENAMETOOLONG:
      return {ErrorCode::kInvalidArgument};
    case EMFILE:
    case ENFILE:
      return {ErrorCode::kIo, true, "; raise the limit of open files (ulimit -n)"};
    case EAGAIN:
    case EINTR:
    case ENOMEM:
      return {ErrorCode::kIo, true};
    default:
      return {ErrorCode::kIo};
  }
}

}  // namespace

Status PosixError(int error, std::string_view what, std::string_view object) {
  const Mapping mapping = Map(error);
  // Unlike strerror it is thread-safe and the same in every locale.
  const char* reason = strerrordesc_np(error);
  return MakeError(mapping.code,
                   fmt::format("{}: {}{}: '{}'", what, reason != nullptr ? reason : "unknown error",
                               mapping.advice, object),
                   mapping.retryable);
}

}  // namespace lake
