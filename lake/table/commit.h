#pragma once

// Only lake/table and lake/commit may include this header (scripts/check-layers): every change of a
// table goes through lake/commit.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/base/uuid.h"
#include "lake/storage/object_store.h"
#include "lake/table/dataset.h"
#include "lake/table/manifest.h"
#include "lake/table/transaction.h"

namespace lake::table {

/// The property keys of an idempotent operation.
inline constexpr char kOperationIdProperty[] = "lake.operation_id";
inline constexpr char kPayloadDigestProperty[] = "lake.payload_digest";
/// Rows that a change wrote, changed and deleted: a replay tells them.
inline constexpr char kNumRowsProperty[] = "lake.num_rows";

/// What stands in the way of a commit, asked for before each attempt (DESIGN: commit, step 3) with
/// the version that it goes on top of, null for a first one. An error ends the commit as not done.
using AuthorityCheck = std::function<Status(const Manifest* newest)>;

struct CommitOptions {
  AuthorityCheck authority;
  /// Attempts that may lose the race before kConflict.
  int max_attempts = 20;
  /// Folders or objects that the caller created for this operation and that must be durable with
  /// it.
  std::vector<std::string> sync_keys;
  /// Replay: look for this operation in (base version, newest] first; see `FindOperation`.
  std::optional<uint64_t> replay_base;
};

struct CommitResult {
  uint64_t version = 0;
  /// True if an earlier attempt of this operation had already committed it.
  bool replayed = false;
  /// Attempts that lost against another commit.
  int lost_attempts = 0;
  /// False where hints told of the table a moment ago: they may be too low, and each costs as much
  /// as a small file.
  bool hint_is_due = true;
  std::shared_ptr<const Manifest> manifest;
};

/// Commits `transaction` to the table whose folder `store` is rooted at: DESIGN "Commit", steps 1
/// to 6.
///
/// OK: the version is visible and durable. An error with kCommitUnknown: it may be either, nothing
/// was removed, and the same operation must be replayed. kConflict: another commit won for good, or
/// attempts ran out; where it is retryable, the operation can be made anew from the newest version.
/// kAlreadyExists: a create found a table. Any other error: not done. After a definite failure the
/// transaction's new objects are removed.
Result<CommitResult> Commit(const Context& context, std::shared_ptr<storage::ObjectStore> store,
                            const Transaction& transaction, const CommitOptions& options);

/// The outcome of an operation that was tried before.
struct OperationOutcome {
  enum class State {
    kCommitted,  ///< `version` holds it.
    kAbsent,     ///< Every version in (base, newest] was read, none holds it.
    kUnknown,    ///< A version in between is missing or its transaction cannot be read.
  };
  State state = State::kAbsent;
  uint64_t version = 0;
  /// The digest stored with it; compare it with the caller's.
  std::string payload_digest;
  /// Rows that it wrote.
  uint64_t num_rows = 0;
  std::string reason;  ///< for kUnknown
};

/// Looks for the transaction with `kOperationIdProperty` == `operation_id` in (base, newest].
Result<OperationOutcome> FindOperation(const Context& context, storage::ObjectStore* store,
                                       uint64_t base, const std::string& operation_id);

/// UUID of the transaction that made the table's first version (1, or what a clone began with), or
/// nothing if it cannot be told any more.
Result<std::optional<Uuid>> FirstTransactionUuid(const Context& context,
                                                 storage::ObjectStore* store);

}  // namespace lake::table
