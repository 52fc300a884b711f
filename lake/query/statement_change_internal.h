#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <duckdb.hpp>
#include <duckdb/common/types/column/column_data_collection.hpp>

#include "lake/commit/file_references.h"
#include "lake/query/batch_builder_internal.h"
#include "lake/query/pending_changes_internal.h"

namespace lake::query {

class LakeCatalog;
class LakeTableEntry;

/// How a statement changes rows of its table.
struct ChangePlan {
  std::shared_ptr<LakeTableEntry> table;
  /// Rows are only added: nothing is taken out or changed.
  bool only_inserts = false;
  bool has_file_columns = false;
  bool file_provenance_proved = false;
  /// Rows are added because the table has none of their key: MERGE INTO.
  bool inserts_by_key = false;
  /// Columns that UPDATE assigns.
  std::set<std::string> changed_columns;
  /// For errors: the statement, such as "UPDATE".
  const char* what = "";
};

/// The rows that one statement takes out, changes and adds, from all its sinks. A statement by
/// itself writes them on through; inside BEGIN ... COMMIT they wait with the transaction. Rows are
/// those of the table in order. Throws DuckDB exceptions. Not thread-safe.
class StatementChange {
 public:
  StatementChange(duckdb::ClientContext& context, LakeCatalog& catalog, ChangePlan plan);
  ~StatementChange();

  void Insert(duckdb::DataChunk& rows);
  /// `addresses`: the `_rowaddr` of each row.
  void Delete(duckdb::Vector& addresses, duckdb::idx_t count);
  /// Only for a statement by itself.
  void DeleteAll() { Guard(change_->DeleteAll()); }
  void Update(duckdb::Vector& addresses, duckdb::DataChunk& rows);

  /// Ends it: what happens next is the transaction's. Once, however many sinks call it.
  void Finish();
  /// Rows that were affected; exact after Finish.
  uint64_t num_rows() const { return num_rows_; }

 private:
  void FlushIfFull();
  void Flush();
  void FlushUpdates();
  void FinishPending();
  std::vector<uint64_t> AddressesOf(duckdb::Vector& addresses, duckdb::idx_t count);
  void Guard(const Status& status);

  duckdb::ClientContext& context_;
  LakeCatalog& catalog_;
  const ChangePlan plan_;
  /// By itself: `change_` is `write_` unless rows are only added.
  std::unique_ptr<commit::TableWrite> write_;
  commit::ChangeWrite* change_ = nullptr;
  /// In a transaction: the rows wait here, where DuckDB may spill them, and the checks of a write
  /// are made at once, so that the statement is told and not COMMIT.
  PendingPart part_;
  duckdb::ColumnDataAppendState append_;
  std::optional<commit::FileReferenceChecker> checker_;
  std::vector<uint64_t> deleted_;
  std::vector<uint64_t> updated_;

  std::unique_ptr<BatchBuilder> inserts_;
  std::unique_ptr<BatchBuilder> updates_;
  std::vector<uint64_t> update_addresses_;
  uint64_t num_rows_ = 0;
  bool finished_ = false;
};

}  // namespace lake::query
