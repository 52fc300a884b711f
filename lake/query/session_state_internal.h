#pragma once

#include <memory>
#include <vector>

#include <duckdb.hpp>
#include <duckdb/main/client_context_state.hpp>

#include "lake/base/context.h"
#include "lake/catalog/types.h"
#include "lake/commit/lakehouse.h"
#include "lake/objects/data_location.h"
#include "lake/query/table_options_internal.h"

namespace lake::query {

/// What the hooks must know about the session on whose behalf DuckDB calls them. Written by the
/// session between queries, read by DuckDB's threads during one.
struct SessionState : public duckdb::ClientContextState {
  static constexpr char kName[] = "lake_session";

  catalog::Principal principal;
  /// Of the call in progress.
  Context context;
  /// Taken by the next commit of a writing statement.
  commit::OperationKey operation;
  /// Of the running statement, if it creates a table.
  TableOptions table_options;
  /// FILE values that came as parameters of the running statement: the only FILE constants that a
  /// plan may hold.
  std::vector<objects::DataLocation> supplied_files;
  /// The error of the last commit that failed: DuckDB keeps only its text.
  Status commit_error;
  /// A statement of the open transaction failed: nothing but its end is left. DuckDB does not keep
  /// track once `disable_database_invalidation` is set.
  bool transaction_aborted = false;

  /// The state of `context`. Throws for a connection that the engine did not open.
  static SessionState& Of(duckdb::ClientContext& context);
};

}  // namespace lake::query
