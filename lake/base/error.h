#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>
#include <fmt/core.h>

namespace lake {

using arrow::Result;
using arrow::Status;

/// What a caller can do about an error. A code exists only where some caller reacts to it
/// differently; everything else is told by the text.
enum class ErrorCode {
  kInvalidArgument,     ///< The request is wrong; it fails again until it is changed.
  kNotFound,            ///< The named thing does not exist.
  kAlreadyExists,       ///< The name is taken.
  kPreconditionFailed,  ///< A conditional write found the object there already.
  kUnsupported,         ///< Valid, but lake does not do it (yet); the text names what.
  kCorrupt,             ///< Bytes from disk or wire are not what their format demands.
  kIntegrity,      ///< Object bytes are well-formed but do not match their declared size or digest.
  kConflict,       ///< Another commit came first; run the statement again.
  kTableReplaced,  ///< The folder no longer holds the table that the catalog means.
  kPermissionDenied,
  kOutOfMemory,  ///< The memory budget is used up.
  kOutOfSpace,   ///< The device is full.
  kCancelled,
  kDeadlineExceeded,
  kIo,             ///< The storage failed; `retryable` says whether trying again can help.
  kCommitUnknown,  ///< The change may or may not have happened; replay it with its operation id.
  kInternal,       ///< A bug in lake.
};

/// The name of `code` as it appears in texts and in `--json`, such as "not_found". Static storage.
std::string_view ErrorCodeName(ErrorCode code);

/// The detail that every error of lake carries (DESIGN: errors).
///
/// `commit_state_unknown` is true exactly for outcomes that a replay with the same operation id
/// must resolve; such an error is never silently retried. Immutable, thread-safe.
class ErrorDetail : public arrow::StatusDetail {
 public:
  ErrorDetail(ErrorCode code, bool retryable) : code_(code), retryable_(retryable) {}

  ErrorCode code() const { return code_; }
  bool retryable() const { return retryable_; }
  bool commit_state_unknown() const { return code_ == ErrorCode::kCommitUnknown; }

  const char* type_id() const override;
  std::string ToString() const override;

 private:
  ErrorCode code_;
  bool retryable_;
};

/// Returns an error with `code`. The text says what failed, on which object, why, and what to do:
/// static words first, values last, never a secret.
Status MakeError(ErrorCode code, std::string text, bool retryable = false);

/// MakeError with an fmt format string.
template <typename... Args>
Status Error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(code, fmt::format(format, std::forward<Args>(args)...));
}

/// The same, marked retryable: the same call may succeed later without a change.
template <typename... Args>
Status RetryableError(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(code, fmt::format(format, std::forward<Args>(args)...), true);
}

/// The code of `status`. A status that carries no ErrorDetail (it came from Arrow) is mapped by its
/// Arrow code. REQUIRES: !status.ok().
ErrorCode CodeOf(const Status& status);

bool IsRetryable(const Status& status);
bool IsCommitStateUnknown(const Status& status);

/// Returns `status` with `prefix` and ": " before its text, detail kept; OK stays OK.
Status WithContext(Status status, std::string_view prefix);

/// The text of an error without Arrow's code name or detail suffix, for people.
std::string ErrorText(const Status& status);

}  // namespace lake
