#include "lake/base/posix_error.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace lake {
namespace {

TEST(PosixErrorTest, CodesAreWhatACallerReactsTo) {
  const struct {
    int error;
    ErrorCode code;
    bool retryable;
  } cases[] = {
      {ENOENT, ErrorCode::kNotFound, false},
      {ENOTDIR, ErrorCode::kNotFound, false},
      {EEXIST, ErrorCode::kAlreadyExists, false},
      {ENOSPC, ErrorCode::kOutOfSpace, false},
      {EDQUOT, ErrorCode::kOutOfSpace, false},
      {EACCES, ErrorCode::kPermissionDenied, false},
      {EPERM, ErrorCode::kPermissionDenied, false},
      {EROFS, ErrorCode::kPermissionDenied, false},
      {ELOOP, ErrorCode::kPermissionDenied, false},
      {ENAMETOOLONG, ErrorCode::kInvalidArgument, false},
      {EMFILE, ErrorCode::kIo, true},
      {EINTR, ErrorCode::kIo, true},
      // A write that failed once must not look successful on the second try.
      {EIO, ErrorCode::kIo, false},
      {123456, ErrorCode::kIo, false},
  };
  for (const auto& expected : cases) {
    Status status = PosixError(expected.error, "cannot open", "some/file");
    EXPECT_EQ(CodeOf(status), expected.code) << status.ToString();
    EXPECT_EQ(IsRetryable(status), expected.retryable) << status.ToString();
  }
}

TEST(PosixErrorTest, TextSaysWhatWhyWhatToDoAndOnWhich) {
  EXPECT_EQ(ErrorText(PosixError(ENOENT, "cannot open object", "a/b")),
            "cannot open object: No such file or directory: 'a/b'");
  EXPECT_EQ(ErrorText(PosixError(ENOSPC, "cannot write object", "a/b")),
            "cannot write object: No space left on device; free some space and try again: 'a/b'");
}

}  // namespace
}  // namespace lake
