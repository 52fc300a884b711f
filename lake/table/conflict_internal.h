#pragma once

#include "lake/base/error.h"
#include "lake/format/schema.h"
#include "lake/table/transaction.pb.h"

namespace lake::table {

/// What a transaction committed by another means for an append that did not know of it.
enum class AppendConflict {
  kNone,
  /// It added columns (merge): the append goes on if its rows still fit.
  kColumnsAdded,
  /// It dropped, renamed or retyped columns without data (project): as above.
  kColumnsProjected,
  /// The two do not go together, or lake does not know the operation.
  kIncompatible,
};

AppendConflict CheckAppend(const pb::Transaction& theirs);

/// True if rows written for schema `read` can be appended to a table that has schema `newest` by
/// now: every column of `read` is still there under its id, name and type, and new ones may be
/// null.
bool SchemaStillFits(const format::Schema& read, const format::Schema& newest);

}  // namespace lake::table
