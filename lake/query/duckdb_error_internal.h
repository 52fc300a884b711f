#pragma once

#include <utility>

#include <duckdb/common/error_data.hpp>

#include "lake/base/error.h"

namespace lake::query {

/// Throws `status` as an ordinary DuckDB exception; its code travels in the exception's extra
/// information and is found again by StatusFromDuckDb. Never an internal or fatal exception: those
/// would end every session. REQUIRES: !status.ok().
[[noreturn]] void ThrowStatus(const Status& status);

inline void ThrowIfError(const Status& status) {
  if (!status.ok()) ThrowStatus(status);
}

template <typename T>
T ValueOrThrow(Result<T> result) {
  if (!result.ok()) ThrowStatus(result.status());
  return std::move(result).MoveValueUnsafe();
}

/// The status for an error that DuckDB reports: the one that a hook of ours threw, or DuckDB's own
/// error under the code that fits its type. One line of text. REQUIRES: error.HasError().
Status StatusFromDuckDb(const duckdb::ErrorData& error);

/// The error that a hook returns where DuckDB wants a value instead of an exception.
duckdb::ErrorData ErrorDataFrom(const Status& status);

}  // namespace lake::query
