#pragma once

#include <memory>

#include "lake/base/error.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow

namespace lake::commit {

/// kInvalidArgument unless the columns of a new table can be told apart by every reader: good
/// names, no two that differ by case only.
Status CheckNewColumns(const arrow::Schema& schema);

/// `batch` as rows of a table with `schema`: the same columns in the same order, by name and type;
/// whether a type's children are declared nullable is taken from `schema`. Blobs come by value
/// (table/blob_writer.h), which is not looked at here. kInvalidArgument names
/// the column that does not fit, or that holds a null where none may be. Shares the buffers of
/// `batch`.
Result<std::shared_ptr<arrow::RecordBatch>> ConformRows(
    const arrow::RecordBatch& batch, const std::shared_ptr<arrow::Schema>& schema);

}  // namespace lake::commit
