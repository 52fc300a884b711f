#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/schema.h"
#include "lake/table/dataset.h"
#include "lake/table/row_change.h"

namespace lake::table {

/// How columns are written.
struct ColumnWriteOptions {
  /// Sees all values that are written.
  RowCheck check;
  /// Bound on the bytes of pages that all files together hold before they are written.
  uint64_t max_buffered_bytes = 256ull << 20;
};

/// Gives the values of the columns to write (fields of the written schema, in order) for `rows` of
/// a fragment: rows that are not deleted, in their order.
using ColumnSource = std::function<Result<std::shared_ptr<arrow::RecordBatch>>(
    const Fragment& fragment, const format::RowSelection& rows)>;

/// Files with columns for each fragment of a version, beside those it has.
struct ColumnFiles {
  /// One per fragment, in the manifest's order.
  std::vector<DataFile> files;
  std::vector<std::string> new_objects;
};

/// Writes a file with the columns of `schema` (ids assigned) for every fragment. Deleted rows get
/// nulls. With `in_order` the source is called for one row range after the other in the order of a
/// scan, else from several threads. kInvalidArgument for a null in a field that may hold none.
/// After an error, nothing is left behind.
Result<ColumnFiles> WriteColumnFiles(const Context& context, const Dataset& dataset,
                                     const format::Schema& schema, const ColumnSource& source,
                                     const ColumnWriteOptions& options, bool in_order);

/// The first field id that no field and no data file of the version has. 2^31 if there is none
/// left.
int64_t NextFieldId(const Manifest& manifest);

}  // namespace lake::table
