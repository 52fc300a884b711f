#pragma once

#include <string>
#include <vector>

#include "lake/table/manifest.h"
#include "lake/table/transaction.h"

namespace lake::table {

/// An operation as it goes on top of a newer version than the one its transaction read.
struct RebasedOperation {
  Operation operation;
  /// Deletion files that were written for it.
  std::vector<std::string> new_objects;
  /// Those of the transaction's own deletion files that it does not name any more.
  std::vector<std::string> replaced_objects;
};

/// Brings the operation of `transaction`, made for `read`, onto `newest`. Rows that it takes out
/// join those that others took out of the same fragments meanwhile. kConflict (retryable) if it
/// must be done again: a fragment that it touches is gone or has other files, or another took out
/// one of its rows. After an error, nothing was left behind.
Result<RebasedOperation> RebaseOperation(const Context& context, storage::ObjectStore* store,
                                         const Transaction& transaction, const Manifest& read,
                                         const Manifest& newest);

}  // namespace lake::table
