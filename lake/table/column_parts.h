#pragma once

#include <memory>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/schema.h"
#include "lake/format/version.h"

namespace arrow {
class Array;
class MemoryPool;
}  // namespace arrow

namespace lake::table {

/// What one data file holds of a column whose struct fields lie in several files.
struct ColumnPart {
  /// Of the whole field's type; fields that are not in the file are null.
  std::shared_ptr<arrow::Array> array;
  /// As format::ColumnRequest::columns.
  std::vector<int> columns;
  format::FileVersion version;
};

/// The column that `parts` make together: each struct field from the file that holds it. A struct
/// is null where the first part that holds any of it says so. kUnsupported where the items of one
/// list lie in several files. REQUIRES: not empty; all arrays have the same length.
/// `pool` is for what has to be copied.
Result<std::shared_ptr<arrow::Array>> JoinParts(const format::Field& field,
                                                const std::vector<ColumnPart>& parts,
                                                arrow::MemoryPool* pool);

}  // namespace lake::table
