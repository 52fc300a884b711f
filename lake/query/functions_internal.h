#pragma once

#include <memory>

#include <duckdb.hpp>

#include "lake/commit/lakehouse.h"

namespace lake::query {

/// Registers the type FILE and lake's functions with a new database: undrop, and lance_scan if
/// `allow_local_files`. Throws DuckDB exceptions.
void RegisterFunctions(duckdb::DatabaseInstance& database,
                       std::shared_ptr<commit::Lakehouse> lakehouse, bool allow_local_files);

}  // namespace lake::query
