#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/compute/expression.h>

#include "lake/table/row_change.h"

namespace arrow {
class RecordBatchReader;
}

namespace lake::table {

/// What becomes of source rows and table rows that have, or lack, a partner under the same key. A
/// key with a null in it has none.
struct MergeInsertOptions {
  /// The columns of the key, in the source and in the table.
  std::vector<std::string> on;

  enum class Matched {
    kNothing,  ///< The table's row stays.
    kUpdate,   ///< It gets the source row's values; columns that the source lacks stay.
    kDelete,
    kFail,  ///< kInvalidArgument at the first match.
  };
  Matched when_matched = Matched::kNothing;
  /// With kUpdate: only where this is true. An expression over two struct columns, `source` and
  /// `target`, such as `source.v > target.v`.
  std::optional<arrow::compute::Expression> update_if;

  /// Source rows without a partner are added; columns that the source lacks are null.
  bool insert_not_matched = true;

  /// Rows of the table without a partner in the source are deleted, or those of them for which
  /// `by_source_if` (over the table's columns) is true.
  bool delete_not_matched_by_source = false;
  std::optional<arrow::compute::Expression> by_source_if;

  AppendWriterOptions writer;
  RowCheck check;
};

/// Merges the rows of `source` into the table. Its columns are some of the table's, the key among
/// them, castable to their types. kInvalidArgument if two source rows match one row of the table.
///
/// A hash table is built of as much of the source as an eighth of the memory budget holds; the
/// table's key columns are scanned once for each such part.
Result<PreparedChange> MergeInsert(const Context& context, std::shared_ptr<const Dataset> dataset,
                                   arrow::RecordBatchReader* source,
                                   const MergeInsertOptions& options);

}  // namespace lake::table
