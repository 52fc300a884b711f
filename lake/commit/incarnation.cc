#include "lake/commit/incarnation.h"

#include <optional>

#include "lake/table/commit.h"

namespace lake::commit {

Status CheckIncarnation(const Context& context, const catalog::Entry& entry,
                        storage::ObjectStore* store, const table::Manifest& newest) {
  auto found = newest.table_metadata().find(kIncarnationKey);
  const bool present = found != newest.table_metadata().end();
  if (present && found->second == entry.incarnation.ToString()) return Status::OK();
  // A foreign program may have rewritten the metadata of what still is our table.
  if (entry.first_transaction.has_value()) {
    ARROW_ASSIGN_OR_RAISE(std::optional<Uuid> first, table::FirstTransactionUuid(context, store));
    if (first == entry.first_transaction) return Status::OK();
  }
  return Error(ErrorCode::kTableReplaced,
               "table was replaced in storage, nothing is served until an operator decides: '{}' "
               "should be incarnation {}, version {} says {}: {}",
               entry.name.ToString(), entry.incarnation.ToString(), newest.version(),
               present ? found->second : "none", entry.location);
}

Status TableMissing(const catalog::Entry& entry) {
  return Error(ErrorCode::kTableReplaced,
               "table is gone from storage, nothing is served until an operator decides: '{}' "
               "(incarnation {}): {}",
               entry.name.ToString(), entry.incarnation.ToString(), entry.location);
}

}  // namespace lake::commit
