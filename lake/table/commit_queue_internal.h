#pragma once

#include <string>

namespace lake::table {

/// A turn to commit to a table among the threads of this process. Without it they would race for
/// each version, and all but one of them write and sync a manifest in vain. Other processes are met
/// by attempts.
class CommitTurn {
 public:
  /// Waits for the turn of the table in the store of this identity (ObjectStore::identity); without
  /// one there is nothing to wait for.
  explicit CommitTurn(std::string store_identity);
  ~CommitTurn();

  CommitTurn(const CommitTurn&) = delete;
  CommitTurn& operator=(const CommitTurn&) = delete;

 private:
  const std::string identity_;
};

}  // namespace lake::table
