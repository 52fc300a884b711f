#pragma once

#include <cstdint>
#include <set>

#include "lake/base/error.h"
#include "lake/format/schema.h"
#include "lake/table/transaction.pb.h"

namespace lake::table {

/// What a transaction that was committed meanwhile means for mine.
enum class Verdict {
  kOk,
  /// Both took rows out of one fragment: goes on if they are other rows; see RebaseOperation.
  kRebaseRows,
  /// Columns were added (merge): goes on if my rows still fit.
  kColumnsAdded,
  /// Columns were dropped, renamed or retyped without data (project): as above.
  kColumnsProjected,
  /// Mine must be done again on top of theirs.
  kRetry,
  /// The two do not go together, or lake does not know their operation.
  kNever,
};

/// Judges `mine` (its message, as it would be committed) behind `theirs`: the table of
/// docs/format/transaction.md. `inserted_by_key`: see UpdateOperation.
Verdict Judge(const pb::Transaction& mine, bool inserted_by_key, const pb::Transaction& theirs);

/// Ids of the fragments that a transaction changes, takes out or, for an index, covers.
std::set<uint64_t> TouchedFragments(const pb::Transaction& transaction);

/// True if rows written for schema `read` can be appended to a table that has schema `newest` by
/// now: every column of `read` is still there under its id, name and type, and new ones may be
/// null.
bool SchemaStillFits(const format::Schema& read, const format::Schema& newest);

/// True if files written for schema `read` hold what `newest` wants: each of its fields under the
/// same id with the same type, or one that may be null. Names may differ.
bool DataStillFits(const format::Schema& read, const format::Schema& newest);

}  // namespace lake::table
