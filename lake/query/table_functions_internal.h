#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <duckdb.hpp>
#include <duckdb/function/table_function.hpp>

#include "lake/commit/lakehouse.h"

namespace lake::query {

/// Adds lake_versions, lake_fragments, lake_files, lake_transactions, lake_tags, lake_branches and
/// lake_changes to a new database. Throws DuckDB exceptions.
void RegisterTableFunctions(duckdb::DatabaseInstance& database,
                            std::shared_ptr<commit::Lakehouse> lakehouse);

/// Adds lake_tag, lake_drop_tag, lake_branch, lake_drop_branch, lake_restore, lake_compact and
/// lake_cleanup, for CALL.
void RegisterMaintenanceCalls(duckdb::DatabaseInstance& database,
                              const std::shared_ptr<commit::Lakehouse>& lakehouse);

/// Nanoseconds since 1970 as a TIMESTAMPTZ, which counts microseconds.
duckdb::Value InstantValue(int64_t nanos);

inline duckdb::Value CountValue(uint64_t value) { return duckdb::Value::UBIGINT(value); }

/// NULL for nothing.
inline duckdb::Value OptionalText(const std::optional<std::string>& text) {
  return text ? duckdb::Value(*text) : duckdb::Value(duckdb::LogicalType::VARCHAR);
}

/// A table's name as it is written in SQL: `t` is in main. `function` for errors.
Result<catalog::QualifiedName> ParseTableName(const std::string& function,
                                              const duckdb::Value& value);

}  // namespace lake::query
