#pragma once

#include <string_view>

#include "lake/base/error.h"

namespace lake {

/// The error for errno value `error` of a file system call: `what` failed ("cannot open") on
/// `object`.
///
/// ENOENT and ENOTDIR are kNotFound; EEXIST is kAlreadyExists; ENOSPC and EDQUOT are kOutOfSpace;
/// EACCES, EPERM, EROFS and ELOOP (a symbolic link where none may be) are kPermissionDenied;
/// ENAMETOOLONG is kInvalidArgument; everything else is kIo, retryable where the system only ran
/// short of something.
Status PosixError(int error, std::string_view what, std::string_view object);

}  // namespace lake
