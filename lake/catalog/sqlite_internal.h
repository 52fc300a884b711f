#pragma once

// SQLite's C API behind owners that cannot leak. Included by sources of this module only.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <sqlite3.h>

#include "lake/base/context.h"

namespace lake::catalog::sqlite {

/// How much a commit of a connection waits for the disk.
enum class Durability {
  kFull,      ///< The write-ahead log is synced before a commit returns.
  kUnsynced,  ///< A power loss may take the last commits; the database stays whole.
};

/// The error for `code` of `database`: what failed, then SQLite's own words.
Status SqliteError(sqlite3* database, int code, std::string_view what);

/// A prepared statement in use. Parameters are bound in order. Returns itself to its connection,
/// which outlives it. Not thread-safe.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Statement& Bind(int64_t value);
  Statement& Bind(std::string_view text);
  Statement& BindNull();

  /// Moves to the next row; false at the end.
  Result<bool> Step();
  /// Runs a statement that returns no rows; gives the number of rows that it changed.
  Result<int64_t> Run();

  bool IsNull(int column) const;
  int64_t Int(int column) const;
  std::string Text(int column) const;

 private:
  friend class Connection;
  Statement(sqlite3* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  sqlite3* database_;
  sqlite3_stmt* statement_;
  int next_parameter_ = 1;
  int bind_code_ = SQLITE_OK;
};

/// One connection to a database file. Waits up to 30 s for other writers. Not thread-safe: its
/// owner locks.
class Connection {
 public:
  static Result<std::unique_ptr<Connection>> Open(const std::string& path, Durability durability);
  ~Connection();

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Whose cancellation and deadline end a wait, until the next call. `context` outlives that.
  void SetContext(const Context* context) { context_ = context; }

  /// Prepares `sql`, a string literal, or takes it from the cache.
  Result<Statement> Prepare(const char* sql);
  /// Runs `sql` (one or several statements) without parameters or rows.
  Status Execute(const char* sql);
  /// The same for one statement, a string literal, which stays prepared.
  Status ExecutePrepared(const char* sql);

 private:
  Connection() = default;
  static int OnBusy(void* self, int calls);
  /// The error of a statement that ended with `code`; SQLITE_OK is none.
  Status Executed(int code);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  sqlite3* database_ = nullptr;
  const Context* context_ = nullptr;
  int64_t waited_millis_ = 0;
  // Keyed by the address of the literal: the same call site gets the same statement.
  std::unordered_map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;
};

/// A transaction; rolled back on destruction unless Commit was called. Not thread-safe.
class Transaction {
 public:
  enum class Mode { kRead, kImmediate, kExclusive };

  static Result<Transaction> Begin(Connection* connection, Mode mode);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Status Commit();

 private:
  explicit Transaction(Connection* connection) : connection_(connection) {}

  Connection* connection_;
};

}  // namespace lake::catalog::sqlite
