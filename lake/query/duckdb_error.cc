#include <array>
#include <optional>
#include <string>

#include <duckdb.hpp>

#include "lake/query/duckdb_error_internal.h"

namespace lake::query {
namespace {

constexpr char kCodeKey[] = "lake_code";
constexpr char kRetryableKey[] = "lake_retryable";

constexpr std::array kAllCodes = {
    ErrorCode::kInvalidArgument,    ErrorCode::kNotFound,         ErrorCode::kAlreadyExists,
    ErrorCode::kPreconditionFailed, ErrorCode::kUnsupported,      ErrorCode::kCorrupt,
    ErrorCode::kIntegrity,          ErrorCode::kConflict,         ErrorCode::kTableReplaced,
    ErrorCode::kPermissionDenied,   ErrorCode::kOutOfMemory,      ErrorCode::kOutOfSpace,
    ErrorCode::kCancelled,          ErrorCode::kDeadlineExceeded, ErrorCode::kIo,
    ErrorCode::kCommitUnknown,      ErrorCode::kInternal};

std::optional<ErrorCode> CodeFromName(const std::string& name) {
  for (ErrorCode code : kAllCodes) {
    if (ErrorCodeName(code) == name) return code;
  }
  return std::nullopt;
}

duckdb::ExceptionType ExceptionTypeFor(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return duckdb::ExceptionType::INVALID_INPUT;
    case ErrorCode::kNotFound:
    case ErrorCode::kAlreadyExists:
      return duckdb::ExceptionType::CATALOG;
    case ErrorCode::kUnsupported:
      return duckdb::ExceptionType::NOT_IMPLEMENTED;
    case ErrorCode::kPermissionDenied:
      return duckdb::ExceptionType::PERMISSION;
    case ErrorCode::kOutOfMemory:
      return duckdb::ExceptionType::OUT_OF_MEMORY;
    case ErrorCode::kCancelled:
    case ErrorCode::kDeadlineExceeded:
      return duckdb::ExceptionType::INTERRUPT;
    case ErrorCode::kConflict:
    case ErrorCode::kCommitUnknown:
      return duckdb::ExceptionType::TRANSACTION;
    case ErrorCode::kPreconditionFailed:
    case ErrorCode::kCorrupt:
    case ErrorCode::kIntegrity:
    case ErrorCode::kTableReplaced:
    case ErrorCode::kOutOfSpace:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return duckdb::ExceptionType::IO;
  }
  return duckdb::ExceptionType::IO;
}

ErrorCode CodeForException(const duckdb::ErrorData& error) {
  switch (error.Type()) {
    case duckdb::ExceptionType::CATALOG: {
      const auto subtype = error.ExtraInfo().find("error_subtype");
      if (subtype != error.ExtraInfo().end() && subtype->second == "MISSING_ENTRY") {
        return ErrorCode::kNotFound;
      }
      return ErrorCode::kInvalidArgument;
    }
    case duckdb::ExceptionType::NOT_IMPLEMENTED:
      return ErrorCode::kUnsupported;
    case duckdb::ExceptionType::PERMISSION:
      return ErrorCode::kPermissionDenied;
    case duckdb::ExceptionType::OUT_OF_MEMORY:
      return ErrorCode::kOutOfMemory;
    case duckdb::ExceptionType::INTERRUPT:
      return ErrorCode::kCancelled;
    case duckdb::ExceptionType::IO:
    case duckdb::ExceptionType::HTTP:
    case duckdb::ExceptionType::NETWORK:
      return ErrorCode::kIo;
    case duckdb::ExceptionType::INTERNAL:
    case duckdb::ExceptionType::FATAL:
      return ErrorCode::kInternal;
    default:
      return ErrorCode::kInvalidArgument;
  }
}

/// DuckDB's texts have lines: the message, an excerpt of the query with a marker below, hints.
/// Errors of lake are one line, so the excerpt becomes a position and the other lines are joined.
std::string OneLine(const duckdb::ErrorData& error, bool with_type) {
  std::string text = error.RawMessage();
  if (const size_t excerpt = text.find("\n\nLINE "); excerpt != std::string::npos) {
    text.resize(excerpt);
  }
  if (error.Type() == duckdb::ExceptionType::INTERNAL) {
    if (const size_t stack = text.find("\n\nStack Trace"); stack != std::string::npos) {
      text.resize(stack);
    }
  }
  // What it names are settings that are lake's to make.
  if (const size_t advice = text.find("\n\nPossible solutions:"); advice != std::string::npos) {
    text.resize(advice);
    text += "; raise memory_limit";
  }
  std::string line;
  for (char c : text) {
    const bool space = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!space) {
      line.push_back(c);
    } else if (!line.empty() && line.back() != ' ') {
      line.push_back(' ');
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (with_type) {
    line = duckdb::Exception::ExceptionTypeToString(error.Type()) + " Error: " + line;
  }
  const auto position = error.ExtraInfo().find("position");
  if (position != error.ExtraInfo().end()) {
    line += " (at character " + std::to_string(std::stoull(position->second) + 1) + ")";
  }
  return line;
}

}  // namespace

void ThrowStatus(const Status& status) {
  duckdb::unordered_map<std::string, std::string> info;
  const ErrorCode code = CodeOf(status);
  info[kCodeKey] = std::string(ErrorCodeName(code));
  info[kRetryableKey] = IsRetryable(status) ? "1" : "0";
  throw duckdb::Exception(ExceptionTypeFor(code), status.message(), info);
}

duckdb::ErrorData ErrorDataFrom(const Status& status) {
  try {
    ThrowStatus(status);
  } catch (const std::exception& exception) {
    return duckdb::ErrorData(exception);
  }
}

Status StatusFromDuckDb(const duckdb::ErrorData& error) {
  const auto& info = error.ExtraInfo();
  if (const auto entry = info.find(kCodeKey); entry != info.end()) {
    if (const std::optional<ErrorCode> code = CodeFromName(entry->second)) {
      const auto retryable = info.find(kRetryableKey);
      return MakeError(*code, OneLine(error, false),
                       retryable != info.end() && retryable->second == "1");
    }
  }
  const ErrorCode code = CodeForException(error);
  if (code == ErrorCode::kCancelled) return Error(code, "cancelled: the query was interrupted");
  return MakeError(code, OneLine(error, true));
}

}  // namespace lake::query
