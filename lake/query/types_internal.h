#pragma once

// Arrow's C bridge comes before DuckDB, which brings its own copy of the C structs under the same
// guards.
#include <memory>
#include <string>
#include <vector>

#include <arrow/c/bridge.h>
#include <arrow/type_fwd.h>
#include <duckdb.hpp>
#include <duckdb/function/table/arrow.hpp>

#include "lake/base/error.h"

namespace lake::query {

/// The SQL type FILE: a struct under a name of its own, so that no plain struct is taken for one.
const duckdb::LogicalType& FileSqlType();
bool IsFileSqlType(const duckdb::LogicalType& type);
/// True if FILE stands anywhere inside `type`, itself included.
bool ContainsFileSqlType(const duckdb::LogicalType& type);

/// How a stored column looks in SQL. Types derive from the Arrow schema, never the reverse:
/// DuckDB's conversion follows the Arrow type and writes into whatever vector it is given.
struct SqlColumn {
  std::string name;
  duckdb::LogicalType type;
  /// As it is stored, and as DuckDB is handed it; `converts` if the two differ.
  std::shared_ptr<arrow::Field> stored;
  std::shared_ptr<arrow::Field> shown;
  bool converts = false;
  /// Values of this column, or of a field in it, may not fit a DuckDB vector: CheckRepresentable
  /// must look.
  bool needs_check = false;
  bool not_null = false;
};

/// The columns of a table, with DuckDB's conversion plan.
struct SqlTable {
  std::vector<SqlColumn> columns;
  duckdb::ArrowTableSchema conversion;
};

/// Derives the columns from `schema`. kUnsupported, naming table and column, for a type that SQL
/// does not show and for columns whose names differ in case only.
Result<std::shared_ptr<const SqlTable>> SqlTableFromArrow(duckdb::ClientContext& context,
                                                          const std::string& table,
                                                          const arrow::Schema& schema);

/// Puts column `index` of `batch`, which holds stored values of `column`, into the form that DuckDB
/// takes. kUnsupported, naming the column, for a value that has none.
Status ShowColumn(const SqlColumn& column, int index, std::shared_ptr<arrow::RecordBatch>* batch);

/// An error naming column and value if `array` holds a value that a DuckDB vector cannot hold
/// without rounding: nanoseconds that are no whole microseconds in a time, duration or timestamp
/// with zone, part days in a date64, and what overflows a microsecond count.
Status CheckRepresentable(const std::string& column, const arrow::Array& array);

/// The Arrow field that CREATE TABLE stores a column as. kUnsupported naming column and type for
/// types that are not stored.
Result<std::shared_ptr<arrow::Field>> FieldForCreate(const std::string& column,
                                                     const duckdb::LogicalType& type,
                                                     bool nullable);

}  // namespace lake::query
