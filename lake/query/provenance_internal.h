#pragma once

#include <set>
#include <utility>

#include <duckdb.hpp>
#include <duckdb/optimizer/optimizer_extension.hpp>
#include <duckdb/planner/operator/logical_create_table.hpp>
#include <duckdb/planner/operator/logical_delete.hpp>
#include <duckdb/planner/operator/logical_insert.hpp>
#include <duckdb/planner/operator/logical_merge_into.hpp>
#include <duckdb/planner/operator/logical_update.hpp>

namespace lake::query {

/// An INSERT whose FILE columns were proved on the bound plan. Only the check makes one, so being
/// one is the mark: a plan that the check never saw (optimizer switched off, extensions disabled)
/// has a plain LogicalInsert.
class ProvedInsert : public duckdb::LogicalInsert {
 public:
  /// Takes everything of `bound`.
  explicit ProvedInsert(duckdb::LogicalInsert& bound);
};

/// The same for CREATE TABLE ... AS.
class ProvedCreateTable : public duckdb::LogicalCreateTable {
 public:
  explicit ProvedCreateTable(duckdb::LogicalCreateTable& bound);
};

/// An UPDATE as the check saw it.
class ProvedUpdate : public duckdb::LogicalUpdate {
 public:
  explicit ProvedUpdate(duckdb::LogicalUpdate& bound);

  /// Columns that stay as they are in every changed row.
  std::set<int> kept;
  /// Every FILE column but the kept ones is proved.
  bool files_proved = false;
};

/// The same for MERGE INTO: all its updates and inserts.
class ProvedMerge : public duckdb::LogicalMergeInto {
 public:
  explicit ProvedMerge(duckdb::LogicalMergeInto& bound);

  std::set<int> kept;
  bool files_proved = false;
};

/// The optimizer extension that runs the check before every optimisation: each FILE column of a
/// sink must trace, as a bare column, to a FILE column of a scan of the catalog, a FILE parameter
/// of this execution, or NULL. Throws naming column and operation otherwise. It also pushes LIMIT
/// into scans, after optimisation.
duckdb::OptimizerExtension MakeLakeOptimizer();

}  // namespace lake::query
