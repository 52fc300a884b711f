#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <arrow/compute/expression.h>

#include "lake/table/row_change.h"

namespace lake::table {

/// What an update does.
struct UpdateRowsOptions {
  /// The rows to change (as in ScanOptions); all without one.
  std::optional<arrow::compute::Expression> filter;
  /// By top-level column, its new value: an expression over the row's old values, cast to the
  /// column's type (an overflow is an error).
  std::map<std::string, arrow::compute::Expression> assignments;
  AppendWriterOptions writer;
  RowCheck check;
};

/// Writes the changed rows into new fragments and takes the old ones out. kNotFound for a column
/// that is not there, kInvalidArgument for an expression that does not fit.
Result<PreparedChange> UpdateRows(const Context& context, std::shared_ptr<const Dataset> dataset,
                                  const UpdateRowsOptions& options);

}  // namespace lake::table
