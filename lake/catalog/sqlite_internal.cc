#include "lake/catalog/sqlite_internal.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lake::catalog::sqlite {
namespace {

constexpr int64_t kBusyTimeoutMillis = 30'000;

ErrorCode CodeFor(int sqlite_code) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_FULL:
      return ErrorCode::kOutOfSpace;
    case SQLITE_NOMEM:
      return ErrorCode::kOutOfMemory;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::kCorrupt;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return ErrorCode::kPermissionDenied;
    case SQLITE_INTERRUPT:
      return ErrorCode::kCancelled;
    case SQLITE_TOOBIG:
      return ErrorCode::kInvalidArgument;
    case SQLITE_ERROR:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
      return ErrorCode::kInternal;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace

Status SqliteError(sqlite3* database, int code, std::string_view what) {
  bool busy = (code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_LOCKED;
  const char* file = database != nullptr ? sqlite3_db_filename(database, "main") : nullptr;
  const char* words = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  return MakeError(CodeFor(code),
                   fmt::format("metastore: {}: {} ({}): {}", what, words, sqlite3_errstr(code),
                               file != nullptr ? file : "not open"),
                   busy);
}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      next_parameter_(other.next_parameter_),
      bind_code_(other.bind_code_) {}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  // Ends the statement's read of the database; its error was reported by Step.
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::Bind(int64_t value) {
  int code = sqlite3_bind_int64(statement_, next_parameter_++, value);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement& Statement::Bind(std::string_view text) {
  // SQLite takes a null pointer for NULL, and an empty view may hold one.
  const char* data = text.data() != nullptr ? text.data() : "";
  int code = sqlite3_bind_text64(statement_, next_parameter_++, data, text.size(), SQLITE_TRANSIENT,
                                 SQLITE_UTF8);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement& Statement::BindNull() {
  int code = sqlite3_bind_null(statement_, next_parameter_++);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Result<bool> Statement::Step() {
  if (bind_code_ != SQLITE_OK) {
    return SqliteError(database_, bind_code_, "binding a parameter failed");
  }
  int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteError(database_, code, "statement failed");
}

Result<int64_t> Statement::Run() {
  ARROW_ASSIGN_OR_RAISE(bool row, Step());
  if (row) return MakeError(ErrorCode::kInternal, "metastore: a statement returned rows");
  return int64_t{sqlite3_changes(database_)};
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }

std::string Statement::Text(int column) const {
  auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

Result<std::unique_ptr<Connection>> Connection::Open(const std::string& path,
                                                     Durability durability) {
  std::unique_ptr<Connection> connection(new Connection());
  // The owner locks, so SQLite need not; EXRESCODE keeps the reason of an I/O error.
  int code =
      sqlite3_open_v2(path.c_str(), &connection->database_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code != SQLITE_OK) {
    Status status = SqliteError(nullptr, code, "cannot be opened");
    return WithContext(status, path);
  }
  sqlite3_busy_handler(connection->database_, &Connection::OnBusy, connection.get());
  // Rows may come from a damaged or hostile file.
  sqlite3_db_config(connection->database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection->database_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  ARROW_RETURN_NOT_OK(connection->Execute("PRAGMA foreign_keys = ON"));
  ARROW_RETURN_NOT_OK(connection->Execute(durability == Durability::kFull
                                              ? "PRAGMA synchronous = FULL"
                                              : "PRAGMA synchronous = NORMAL"));
  return connection;
}

Connection::~Connection() {
  statements_.clear();
  sqlite3_close_v2(database_);
}

int Connection::OnBusy(void* self, int calls) {
  auto* connection = static_cast<Connection*>(self);
  if (calls == 0) connection->waited_millis_ = 0;
  const Context* context = connection->context_;
  if (context != nullptr && !context->Check().ok()) return 0;
  if (connection->waited_millis_ >= kBusyTimeoutMillis) return 0;
  int64_t millis = std::min<int64_t>(1 + calls, 25);
  connection->waited_millis_ += millis;
  const Clock* clock = context != nullptr ? context->clock : SystemClock();
  clock->SleepFor(std::chrono::milliseconds(millis));
  return 1;
}

Result<Statement> Connection::Prepare(const char* sql) {
  auto cached = statements_.find(sql);
  if (cached == statements_.end()) {
    sqlite3_stmt* statement = nullptr;
    int code =
        sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return SqliteError(database_, code, "statement cannot be prepared");
    cached = statements_.emplace(sql, statement).first;
  }
  return Statement(database_, cached->second.get());
}

Status Connection::Execute(const char* sql) {
  return Executed(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr));
}

Status Connection::ExecutePrepared(const char* sql) {
  ARROW_ASSIGN_OR_RAISE(const Statement statement, Prepare(sql));
  const int code = sqlite3_step(statement.statement_);
  return Executed(code == SQLITE_DONE ? SQLITE_OK : code);
}

Status Connection::Executed(int code) {
  if (code == SQLITE_OK) return Status::OK();
  // A wait that was cancelled looks like a busy database.
  if ((code & 0xFF) == SQLITE_BUSY && context_ != nullptr) {
    ARROW_RETURN_NOT_OK(context_->Check());
  }
  return SqliteError(database_, code, "statement failed");
}

Result<Transaction> Transaction::Begin(Connection* connection, Mode mode) {
  const char* sql = mode == Mode::kRead        ? "BEGIN DEFERRED"
                    : mode == Mode::kImmediate ? "BEGIN IMMEDIATE"
                                               : "BEGIN EXCLUSIVE";
  ARROW_RETURN_NOT_OK(connection->ExecutePrepared(sql));
  return Transaction(connection);
}

Transaction::Transaction(Transaction&& other) noexcept
    : connection_(std::exchange(other.connection_, nullptr)) {}

Transaction::~Transaction() {
  if (connection_ == nullptr) return;
  // A failed rollback leaves nothing to do: some errors roll back by themselves.
  connection_->ExecutePrepared("ROLLBACK").ok();
}

Status Transaction::Commit() {
  ARROW_RETURN_NOT_OK(connection_->ExecutePrepared("COMMIT"));
  connection_ = nullptr;
  return Status::OK();
}

}  // namespace lake::catalog::sqlite
