#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <arrow/compute/expression.h>
#include <duckdb.hpp>
#include <duckdb/function/table_function.hpp>

#include "lake/query/types_internal.h"
#include "lake/table/dataset.h"

namespace lake::query {

class LakeTableEntry;

/// What a scan reads, and what the optimizer pushed into it.
struct ScanBindData : public duckdb::TableFunctionData {
  /// For errors and EXPLAIN.
  std::string name;
  std::shared_ptr<table::Dataset> dataset;
  std::shared_ptr<const SqlTable> sql;
  /// Null for lance_scan.
  std::shared_ptr<LakeTableEntry> entry;
  /// The part of WHERE that the scan answers alone; DuckDB does not look again.
  std::optional<arrow::compute::Expression> filter;
  /// Rows that the query can use at most.
  std::optional<uint64_t> limit;

  duckdb::unique_ptr<duckdb::FunctionData> Copy() const override;
  bool Equals(const duckdb::FunctionData& other) const override;
};

/// The columns that every table has besides its own, out of sight of `*`.
struct HiddenColumn {
  duckdb::column_t id;
  const char* name;
};
inline constexpr duckdb::column_t kFirstHiddenColumn = (uint64_t{1} << 63) + 0x1a4e;
inline constexpr HiddenColumn kHiddenColumns[] = {
    {kFirstHiddenColumn, "_rowaddr"},
    {kFirstHiddenColumn + 1, "_rowid"},
    {kFirstHiddenColumn + 2, "_row_created_at_version"},
    {kFirstHiddenColumn + 3, "_row_last_updated_at_version"},
};
/// What DuckDB names a row by.
inline constexpr duckdb::column_t kRowAddressColumn = kFirstHiddenColumn;

/// The hidden columns, and the empty one of count(*), for DuckDB.
duckdb::virtual_column_map_t HiddenColumnMap();

/// The function that reads a table of the catalog.
duckdb::TableFunction LakeScanFunction();
/// `lance_scan('path')`: any dataset in a local folder.
duckdb::TableFunction LanceScanFunction();

/// True if `function` reads a table of the catalog: the only source of FILE values.
bool IsLakeScan(const duckdb::TableFunction& function);

/// The part of `expression`, a filter over the columns of `get`, as an Arrow expression of exactly
/// the same meaning for every row; nothing if there is none.
std::optional<arrow::compute::Expression> TranslateFilter(const duckdb::LogicalGet& get,
                                                          const ScanBindData& data,
                                                          const duckdb::Expression& expression);

}  // namespace lake::query
