#include "lake/base/error.h"

#include <memory>

namespace lake {
namespace {

constexpr char kDetailTypeId[] = "lake::ErrorDetail";

arrow::StatusCode ArrowCode(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kCorrupt:
    case ErrorCode::kIntegrity:
      return arrow::StatusCode::Invalid;
    case ErrorCode::kNotFound:
      return arrow::StatusCode::KeyError;
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kPreconditionFailed:
      return arrow::StatusCode::AlreadyExists;
    case ErrorCode::kUnsupported:
      return arrow::StatusCode::NotImplemented;
    case ErrorCode::kOutOfMemory:
      return arrow::StatusCode::OutOfMemory;
    case ErrorCode::kCancelled:
    case ErrorCode::kDeadlineExceeded:
      return arrow::StatusCode::Cancelled;
    case ErrorCode::kIo:
    case ErrorCode::kOutOfSpace:
    case ErrorCode::kPermissionDenied:
      return arrow::StatusCode::IOError;
    case ErrorCode::kConflict:
    case ErrorCode::kTableReplaced:
    case ErrorCode::kCommitUnknown:
    case ErrorCode::kInternal:
      return arrow::StatusCode::UnknownError;
  }
  return arrow::StatusCode::UnknownError;
}

const ErrorDetail* DetailOf(const Status& status) {
  if (status.ok() || status.detail() == nullptr ||
      std::string_view(status.detail()->type_id()) != kDetailTypeId) {
    return nullptr;
  }
  return static_cast<const ErrorDetail*>(status.detail().get());
}

}  // namespace

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kAlreadyExists:
      return "already_exists";
    case ErrorCode::kPreconditionFailed:
      return "precondition_failed";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kCorrupt:
      return "corrupt";
    case ErrorCode::kIntegrity:
      return "integrity";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kTableReplaced:
      return "table_replaced";
    case ErrorCode::kPermissionDenied:
      return "permission_denied";
    case ErrorCode::kOutOfMemory:
      return "out_of_memory";
    case ErrorCode::kOutOfSpace:
      return "out_of_space";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kCommitUnknown:
      return "commit_state_unknown";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

const char* ErrorDetail::type_id() const { return kDetailTypeId; }

std::string ErrorDetail::ToString() const {
  return fmt::format("{}{}", ErrorCodeName(code_), retryable_ ? ", retryable" : "");
}

Status MakeError(ErrorCode code, std::string text, bool retryable) {
  return Status(ArrowCode(code), std::move(text), std::make_shared<ErrorDetail>(code, retryable));
}

ErrorCode CodeOf(const Status& status) {
  if (const ErrorDetail* detail = DetailOf(status)) return detail->code();
  switch (status.code()) {
    case arrow::StatusCode::OutOfMemory:
      return ErrorCode::kOutOfMemory;
    case arrow::StatusCode::KeyError:
      return ErrorCode::kNotFound;
    case arrow::StatusCode::AlreadyExists:
      return ErrorCode::kAlreadyExists;
    case arrow::StatusCode::NotImplemented:
      return ErrorCode::kUnsupported;
    case arrow::StatusCode::Cancelled:
      return ErrorCode::kCancelled;
    case arrow::StatusCode::IOError:
      return ErrorCode::kIo;
    case arrow::StatusCode::UnknownError:
      return ErrorCode::kInternal;
    default:
      return ErrorCode::kInvalidArgument;
  }
}

bool IsRetryable(const Status& status) {
  const ErrorDetail* detail = DetailOf(status);
  return detail != nullptr && detail->retryable();
}

bool IsCommitStateUnknown(const Status& status) {
  const ErrorDetail* detail = DetailOf(status);
  return detail != nullptr && detail->commit_state_unknown();
}

Status WithContext(Status status, std::string_view prefix) {
  if (status.ok()) return status;
  return Status(status.code(), fmt::format("{}: {}", prefix, status.message()), status.detail());
}

std::string ErrorText(const Status& status) { return status.message(); }

}  // namespace lake
