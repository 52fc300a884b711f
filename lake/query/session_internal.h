#pragma once

#include <memory>
#include <string>
#include <vector>

#include <duckdb.hpp>

#include "lake/query/engine.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/watchdog.h"

namespace lake::query {

/// What the sessions of an engine share. Goes with the last of them.
struct EngineCore {
  std::shared_ptr<commit::Lakehouse> lakehouse;
  EngineOptions options;
  std::unique_ptr<duckdb::DuckDB> database;
  Watchdog watchdog;
};

/// A connection with its state; shared by the session, its statements and their results.
struct Connected {
  std::shared_ptr<EngineCore> core;
  std::unique_ptr<duckdb::Connection> connection;
  duckdb::shared_ptr<SessionState> state;

  duckdb::ClientContext& context() { return *connection->context; }
  /// Interrupts the call when `context` says so, for as long as the guard lives.
  Watchdog::Guard Watch(const Context& context);
  /// The status of an error that DuckDB reports for the call with `context`: knows why it was
  /// interrupted, and the error of a commit.
  Status Failed(const Context& context, const duckdb::ErrorData& error);
  /// To be called after each statement that ran: one that fails aborts the transaction that it ran
  /// in.
  void Ran(bool succeeded);
  /// Runs a statement of the engine itself.
  Status Run(const std::string& sql);
};

/// Binds one statement. The session's text was split before.
Result<std::unique_ptr<Statement>> PrepareStatement(std::shared_ptr<Connected> connected,
                                                    const Context& context, const std::string& sql);

/// The statements of `sql`, each as its own text.
Result<std::vector<std::string>> SplitStatements(Connected& connected, const std::string& sql);

}  // namespace lake::query
