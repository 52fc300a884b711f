#pragma once

#include <memory>
#include <optional>

#include <arrow/compute/expression.h>

#include "lake/table/row_change.h"

namespace lake::table {

/// Takes out the rows for which `filter` is true (as in ScanOptions); all rows without one, for
/// which nothing is read. Only the filter's columns are read, on all cores.
Result<PreparedChange> DeleteRows(const Context& context, std::shared_ptr<const Dataset> dataset,
                                  const std::optional<arrow::compute::Expression>& filter);

}  // namespace lake::table
