#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <duckdb.hpp>
#include <duckdb/common/types/column/column_data_collection.hpp>
#include <duckdb/planner/tableref/bound_at_clause.hpp>
#include <duckdb/transaction/transaction.hpp>
#include <duckdb/transaction/transaction_manager.hpp>

#include "lake/base/mutex.h"
#include "lake/commit/lakehouse.h"
#include "lake/query/pending_changes_internal.h"

namespace lake::query {

class LakeCatalog;
class LakeSchemaEntry;
class LakeTableEntry;

/// A DuckDB transaction over the catalog: fixes (row, version) of each table at its first touch,
/// and holds what it writes. DuckDB makes one for each statement outside BEGIN ... COMMIT.
class LakeTransaction : public duckdb::Transaction {
 public:
  LakeTransaction(duckdb::TransactionManager& manager, duckdb::ClientContext& context,
                  LakeCatalog& catalog);
  ~LakeTransaction() override;

  static LakeTransaction& Get(duckdb::ClientContext& context, duckdb::Catalog& catalog);

  /// The table at the version this transaction sees, or at the one `at` asks for; null if there is
  /// none. Throws what opening it reports.
  std::shared_ptr<LakeTableEntry> FindTable(duckdb::ClientContext& context, LakeSchemaEntry& schema,
                                            const std::string& name,
                                            const duckdb::BoundAtClause* at);

  /// Notes that a statement reads `table`.
  void NoteRead(std::shared_ptr<const commit::OpenTable> table);
  /// The newest version of the table of `incarnation` as this transaction sees it, if a statement
  /// reads that; else null.
  std::shared_ptr<const commit::OpenTable> ReadVersion(const Uuid& incarnation);

  /// Keeps an entry that a listing handed to DuckDB until the transaction ends.
  void Keep(std::shared_ptr<LakeTableEntry> entry);

  /// Makes sure that `table` is the one that this transaction may write. Throws naming both tables
  /// if it has written another.
  void CheckWritable(const commit::OpenTable& table);
  /// Adds what a statement of an open transaction did; see PendingChanges::Add.
  void AddPending(PendingPart part, std::span<const uint64_t> removed, const ChangePlan& plan);
  /// What this transaction did to the table of `incarnation`, or null. Stable while a statement
  /// runs.
  const PendingChanges* PendingFor(const Uuid& incarnation) const;

  /// Takes the finished write of a statement that runs by itself: committed with its transaction.
  void SetWrite(std::unique_ptr<commit::TableWrite> write);

  Status Commit(duckdb::ClientContext& context);
  Status Abort(const Context& context);

 private:
  struct TableKey {
    std::string name_space;
    std::string name;
    std::string at;
    auto operator<=>(const TableKey&) const = default;
  };

  std::shared_ptr<const commit::OpenTable> Open(const Context& context, const catalog::Entry& entry,
                                                const table::OpenOptions& options);
  Status CommitPending(duckdb::ClientContext& context);

  LakeCatalog& catalog_;
  Mutex mutex_;
  std::map<TableKey, std::shared_ptr<LakeTableEntry>> tables_ LAKE_GUARDED_BY(mutex_);
  /// Newest-version tables by incarnation: the pins.
  std::map<Uuid, std::shared_ptr<const commit::OpenTable>> pins_ LAKE_GUARDED_BY(mutex_);
  std::set<std::shared_ptr<const commit::OpenTable>> read_ LAKE_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<LakeTableEntry>> kept_ LAKE_GUARDED_BY(mutex_);
  std::optional<PendingChanges> pending_;
  std::unique_ptr<commit::TableWrite> write_;
};

class LakeTransactionManager : public duckdb::TransactionManager {
 public:
  LakeTransactionManager(duckdb::AttachedDatabase& db, LakeCatalog& catalog)
      : duckdb::TransactionManager(db), catalog_(catalog) {}

  duckdb::Transaction& StartTransaction(duckdb::ClientContext& context) override;
  duckdb::ErrorData CommitTransaction(duckdb::ClientContext& context,
                                      duckdb::Transaction& transaction) override;
  void RollbackTransaction(duckdb::Transaction& transaction) override;
  void Checkpoint(duckdb::ClientContext&, bool) override {}

 private:
  std::unique_ptr<LakeTransaction> Take(duckdb::Transaction& transaction);

  LakeCatalog& catalog_;
  Mutex mutex_;
  std::map<duckdb::Transaction*, std::unique_ptr<LakeTransaction>> open_ LAKE_GUARDED_BY(mutex_);
};

/// The version that an AT clause asks for. kInvalidArgument for other units and values. A time
/// without zone is in the session's time zone; nanoseconds are kept.
Result<table::OpenOptions> OpenOptionsFrom(duckdb::ClientContext& context,
                                           const duckdb::BoundAtClause& at);

}  // namespace lake::query
