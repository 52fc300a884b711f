#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <duckdb.hpp>
#include <duckdb/common/types/column/column_data_collection.hpp>

#include "lake/commit/lakehouse.h"

namespace lake::query {

struct ChangePlan;

/// The address of a row that the open transaction wrote: this bit and its number among them. No
/// fragment of a table has an id so high.
inline constexpr uint64_t kPendingRowBit = uint64_t{1} << 63;
/// For a pending row that is in no one's place.
inline constexpr uint64_t kNoAddress = std::numeric_limits<uint64_t>::max();

/// Rows that one statement of an open transaction wrote.
struct PendingPart {
  std::unique_ptr<duckdb::ColumnDataCollection> rows;
  /// The address in the table of the row that each one replaces, or kNoAddress; empty: they are all
  /// new.
  std::vector<uint64_t> replaces;
  /// The number of the first one among all pending rows.
  uint64_t first = 0;
};

/// What the statements of an open transaction did to its table, not committed yet. Changed at the
/// end of a statement only, so that none sees its own work.
class PendingChanges {
 public:
  explicit PendingChanges(std::shared_ptr<const commit::OpenTable> table)
      : table_(std::move(table)) {}

  const std::shared_ptr<const commit::OpenTable>& table() const { return table_; }
  const std::vector<PendingPart>& parts() const { return parts_; }
  bool empty() const { return parts_.empty() && removed_.empty(); }
  /// Every FILE value among the rows came with proof.
  bool file_provenance_proved() const { return file_provenance_proved_; }
  /// Columns that updates may have changed.
  const std::set<std::string>& changed_columns() const { return changed_columns_; }
  /// Rows were added because the table had none of their key.
  bool inserts_by_key() const { return inserts_by_key_; }

  /// Rows that the transaction sees, when the version has `stored` rows.
  uint64_t CountRows(uint64_t stored) const { return stored + num_written_ - removed_.size(); }
  bool removes_any() const { return !removed_.empty(); }
  bool Removed(uint64_t address) const;
  /// The row of the table that a pending row stands for, or kNoAddress.
  uint64_t Replaces(uint64_t address) const;

  /// Adds what a statement of `plan` did: `part` of rows, perhaps null, and `removed`, ascending.
  void Add(PendingPart part, std::span<const uint64_t> removed, const ChangePlan& plan);

  /// Gives all of it to `change`, but commits nothing.
  Status WriteTo(duckdb::ClientContext& context, commit::ChangeWrite* change) const;

 private:
  const std::shared_ptr<const commit::OpenTable> table_;
  std::vector<PendingPart> parts_;
  /// Addresses of stored and of pending rows, ascending.
  std::vector<uint64_t> removed_;
  uint64_t num_written_ = 0;
  bool file_provenance_proved_ = true;
  std::set<std::string> changed_columns_;
  bool inserts_by_key_ = false;
};

}  // namespace lake::query
