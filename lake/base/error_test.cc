#include "lake/base/error.h"

#include <set>

#include <gtest/gtest.h>

namespace lake {
namespace {

constexpr ErrorCode kAllCodes[] = {
    ErrorCode::kInvalidArgument,    ErrorCode::kNotFound,         ErrorCode::kAlreadyExists,
    ErrorCode::kPreconditionFailed, ErrorCode::kUnsupported,      ErrorCode::kCorrupt,
    ErrorCode::kIntegrity,          ErrorCode::kConflict,         ErrorCode::kTableReplaced,
    ErrorCode::kPermissionDenied,   ErrorCode::kOutOfMemory,      ErrorCode::kOutOfSpace,
    ErrorCode::kCancelled,          ErrorCode::kDeadlineExceeded, ErrorCode::kIo,
    ErrorCode::kCommitUnknown,      ErrorCode::kInternal};

TEST(ErrorTest, EveryCodeSurvivesAStatusAndHasItsOwnName) {
  std::set<std::string_view> names;
  for (ErrorCode code : kAllCodes) {
    Status status = Error(code, "cannot do it: {}", 42);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(CodeOf(status), code);
    EXPECT_FALSE(IsRetryable(status));
    EXPECT_EQ(ErrorText(status), "cannot do it: 42");
    EXPECT_TRUE(names.insert(ErrorCodeName(code)).second) << ErrorCodeName(code);
  }
}

TEST(ErrorTest, OnlyUnknownCommitsAreUnknown) {
  for (ErrorCode code : kAllCodes) {
    EXPECT_EQ(IsCommitStateUnknown(MakeError(code, "x")), code == ErrorCode::kCommitUnknown);
  }
  EXPECT_FALSE(IsCommitStateUnknown(Status::OK()));
}

TEST(ErrorTest, RetryableIsKept) {
  Status status = RetryableError(ErrorCode::kIo, "try again");
  EXPECT_TRUE(IsRetryable(status));
  EXPECT_EQ(status.detail()->ToString(), "io, retryable");
  EXPECT_FALSE(IsRetryable(Status::OK()));
}

TEST(ErrorTest, WithContextKeepsTheDetail) {
  Status status =
      WithContext(RetryableError(ErrorCode::kConflict, "lost the race"), "cannot append");
  EXPECT_EQ(ErrorText(status), "cannot append: lost the race");
  EXPECT_EQ(CodeOf(status), ErrorCode::kConflict);
  EXPECT_TRUE(IsRetryable(status));
  EXPECT_TRUE(WithContext(Status::OK(), "cannot append").ok());
}

TEST(ErrorTest, StatusesOfArrowAreMapped) {
  EXPECT_EQ(CodeOf(Status::OutOfMemory("x")), ErrorCode::kOutOfMemory);
  EXPECT_EQ(CodeOf(Status::KeyError("x")), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(Status::NotImplemented("x")), ErrorCode::kUnsupported);
  EXPECT_EQ(CodeOf(Status::IOError("x")), ErrorCode::kIo);
  EXPECT_EQ(CodeOf(Status::Cancelled("x")), ErrorCode::kCancelled);
  EXPECT_EQ(CodeOf(Status::Invalid("x")), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(IsRetryable(Status::IOError("x")));
}

}  // namespace
}  // namespace lake
