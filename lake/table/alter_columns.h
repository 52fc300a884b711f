#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/compute/expression.h>

#include "lake/base/context.h"
#include "lake/table/column_files.h"
#include "lake/table/dataset.h"
#include "lake/table/row_change.h"

namespace arrow {
class DataType;
class RecordBatchReader;
}  // namespace arrow

namespace lake::table {

// Columns here are top-level ones. Each function gives a change for lake/commit to commit; errors
// leave nothing behind. A name that is not there is kNotFound, one that is taken kAlreadyExists.

/// Adds columns that are null everywhere, without writing data. All must be nullable.
Result<PreparedChange> AddNullColumns(const Context& context,
                                      std::shared_ptr<const Dataset> dataset,
                                      const arrow::Schema& columns);

/// Adds columns computed from the others. Rows count as updated.
struct ComputedColumn {
  std::string name;
  arrow::compute::Expression expression;
  /// Nothing: what the expression gives.
  std::shared_ptr<arrow::DataType> type;
};
Result<PreparedChange> AddComputedColumns(const Context& context,
                                          std::shared_ptr<const Dataset> dataset,
                                          const std::vector<ComputedColumn>& columns,
                                          const ColumnWriteOptions& options = {});

/// Adds the columns of `rows`, which has as many rows as the table, in the order of a scan.
Result<PreparedChange> AddColumnsFrom(const Context& context,
                                      std::shared_ptr<const Dataset> dataset,
                                      arrow::RecordBatchReader* rows,
                                      const ColumnWriteOptions& options = {});

/// Drops columns without touching data. Indices on them go. One column must stay.
Result<PreparedChange> DropColumns(const Context& context, std::shared_ptr<const Dataset> dataset,
                                   const std::vector<std::string>& columns);

struct ColumnAlteration {
  std::string column;
  std::optional<std::string> new_name;
  /// Another type: the column is written again under a new field id (each value must fit), and
  /// indices on it go.
  std::shared_ptr<arrow::DataType> new_type;
  /// False reads the column: it must hold no null.
  std::optional<bool> nullable;
};
Result<PreparedChange> AlterColumns(const Context& context, std::shared_ptr<const Dataset> dataset,
                                    const std::vector<ColumnAlteration>& alterations,
                                    const ColumnWriteOptions& options = {});

/// Writes a column again, under its field id: each fragment gets a file in place of what it had.
/// Indices on it cover nothing any more.
Result<PreparedChange> ReplaceColumn(const Context& context, std::shared_ptr<const Dataset> dataset,
                                     const std::string& column,
                                     const arrow::compute::Expression& expression,
                                     const ColumnWriteOptions& options = {});

}  // namespace lake::table
