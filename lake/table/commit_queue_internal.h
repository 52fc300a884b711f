#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "lake/base/context.h"

namespace lake::table {

/// A turn to commit to a table among the threads of this process. Without it they would race for
/// each version, and all but one of them write and sync a manifest in vain. Other processes are met
/// by attempts.
class CommitTurn {
 public:
  /// Waits for the turn of the table in the store of this identity (ObjectStore::identity); without
  /// one there is nothing to wait for. kCancelled or kDeadlineExceeded, with no turn taken, as
  /// `context` says.
  static Result<std::unique_ptr<CommitTurn>> Take(const Context& context,
                                                  std::string store_identity);
  ~CommitTurn();

  CommitTurn(const CommitTurn&) = delete;
  CommitTurn& operator=(const CommitTurn&) = delete;

 private:
  explicit CommitTurn(std::string store_identity) : identity_(std::move(store_identity)) {}

  const std::string identity_;
};

/// True if hints should tell of a version that was committed at `now_nanos` to the table in the
/// store of this identity: the last time that this said so is at least 100 ms ago, or forgotten.
/// Always without an identity. Thread-safe.
bool HintIsDue(const std::string& store_identity, int64_t now_nanos);

}  // namespace lake::table
