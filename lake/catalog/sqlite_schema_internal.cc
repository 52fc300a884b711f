#include "lake/catalog/sqlite_schema_internal.h"

#include <array>

#include "lake/catalog/types.h"

namespace lake::catalog::sqlite {
namespace {

// "lake" in ASCII: tells our databases from others.
constexpr int64_t kApplicationId = 0x6C616B65;

// Step i takes schema version i to i + 1. Steps that were released are never changed: a new one is
// added.
constexpr std::array<const char*, 1> kMigrations = {
    R"sql(
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('generation', 1);

CREATE TABLE namespaces (
  name TEXT PRIMARY KEY,
  folded TEXT NOT NULL,
  created_nanos INTEGER NOT NULL
) STRICT;
CREATE INDEX namespaces_by_folded ON namespaces (folded);

CREATE TABLE entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  incarnation TEXT NOT NULL UNIQUE,
  name_space TEXT NOT NULL REFERENCES namespaces (name),
  name TEXT NOT NULL,
  folded TEXT NOT NULL,
  kind TEXT NOT NULL,
  format TEXT NOT NULL,
  state TEXT NOT NULL,
  protected INTEGER NOT NULL,
  location TEXT NOT NULL,
  version_hint INTEGER NOT NULL,
  first_transaction TEXT,
  properties TEXT NOT NULL,
  created_nanos INTEGER NOT NULL,
  lease_epoch INTEGER NOT NULL,
  lease_expires_nanos INTEGER NOT NULL,
  UNIQUE (name_space, name)
) STRICT;
CREATE INDEX entries_by_folded ON entries (name_space, folded);
CREATE INDEX entries_creating ON entries (lease_expires_nanos) WHERE state = 'creating';

CREATE TABLE tombstones (
  id INTEGER NOT NULL,
  incarnation TEXT PRIMARY KEY,
  name_space TEXT NOT NULL,
  name TEXT NOT NULL,
  folded TEXT NOT NULL,
  kind TEXT NOT NULL,
  format TEXT NOT NULL,
  state TEXT NOT NULL,
  protected INTEGER NOT NULL,
  location TEXT NOT NULL,
  version_hint INTEGER NOT NULL,
  first_transaction TEXT,
  properties TEXT NOT NULL,
  created_nanos INTEGER NOT NULL,
  lease_epoch INTEGER NOT NULL,
  lease_expires_nanos INTEGER NOT NULL,
  dropped_nanos INTEGER NOT NULL,
  purge_after_nanos INTEGER NOT NULL,
  reason TEXT NOT NULL
) STRICT;
CREATE INDEX tombstones_by_name ON tombstones (name_space, name, dropped_nanos);

CREATE TABLE operations (
  operation_id TEXT PRIMARY KEY,
  payload_digest TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  base_version INTEGER NOT NULL,
  created_nanos INTEGER NOT NULL,
  committed_version INTEGER,
  committed_rows INTEGER
) STRICT;
CREATE INDEX operations_by_time ON operations (created_nanos);
)sql",
};

Result<int64_t> ReadNumber(Connection* connection, const char* sql) {
  ARROW_ASSIGN_OR_RAISE(Statement statement, connection->Prepare(sql));
  ARROW_ASSIGN_OR_RAISE(bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

Status CheckVersion(int64_t version) {
  if (version > CurrentSchemaVersion()) {
    return Error(
        ErrorCode::kUnsupported,
        "metastore is newer than this program: schema version {}, this program knows up to "
        "{}; use a newer lake",
        version, CurrentSchemaVersion());
  }
  return Status::OK();
}

Status ApplyMissing(const Context& context, Connection* connection) {
  ARROW_ASSIGN_OR_RAISE(int64_t version, ReadNumber(connection, "PRAGMA user_version"));
  ARROW_RETURN_NOT_OK(CheckVersion(version));
  if (version == 0) {
    ARROW_ASSIGN_OR_RAISE(int64_t tables,
                          ReadNumber(connection, "SELECT count(*) FROM sqlite_schema"));
    if (tables != 0) {
      return MakeError(ErrorCode::kInvalidArgument,
                       "metastore is a database of another program; move it away");
    }
    ARROW_RETURN_NOT_OK(
        connection->Execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str()));
  }
  for (; version < CurrentSchemaVersion(); ++version) {
    ARROW_RETURN_NOT_OK(connection->Execute(kMigrations[static_cast<size_t>(version)]));
  }
  ARROW_RETURN_NOT_OK(
      connection->Execute(fmt::format("PRAGMA user_version = {}", version).c_str()));

  ARROW_ASSIGN_OR_RAISE(
      Statement statement,
      connection->Prepare("INSERT INTO namespaces VALUES (?1, ?1, ?2) ON CONFLICT DO NOTHING"));
  return statement.Bind(kMainNamespace).Bind(context.clock->UnixNanos()).Run().status();
}

}  // namespace

int CurrentSchemaVersion() { return static_cast<int>(kMigrations.size()); }

Status Migrate(const Context& context, Connection* connection) {
  ARROW_ASSIGN_OR_RAISE(int64_t application, ReadNumber(connection, "PRAGMA application_id"));
  ARROW_ASSIGN_OR_RAISE(int64_t version, ReadNumber(connection, "PRAGMA user_version"));
  if (application != 0 && application != kApplicationId) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "metastore is a database of another program; move it away");
  }
  if (application == kApplicationId && version == CurrentSchemaVersion()) return Status::OK();
  ARROW_RETURN_NOT_OK(CheckVersion(version));

  ARROW_ASSIGN_OR_RAISE(Transaction transaction,
                        Transaction::Begin(connection, Transaction::Mode::kExclusive));
  ARROW_RETURN_NOT_OK(ApplyMissing(context, connection));
  return transaction.Commit();
}

}  // namespace lake::catalog::sqlite
