#include <cerrno>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "lake/base/posix_error.h"
#include "lake/base/unique_fd.h"
#include "lake/base/uuid.h"
#include "lake/catalog/sqlite_metastore_internal.h"
#include "lake/catalog/sqlite_rows_internal.h"
#include "lake/catalog/sqlite_schema_internal.h"
#include "lake/storage/local_store.h"

namespace lake::catalog {
namespace sqlite {

Status SharedConnection::Run(const Context& context, Transaction::Mode mode,
                             const std::function<Status(Connection*)>& body) {
  ARROW_RETURN_NOT_OK(context.Check());
  MutexLock lock(&mutex_);
  Connection* connection = connection_.get();
  connection->SetContext(&context);
  Status status = [&] {
    ARROW_ASSIGN_OR_RAISE(Transaction transaction, Transaction::Begin(connection, mode));
    ARROW_RETURN_NOT_OK(body(connection));
    return transaction.Commit();
  }();
  connection->SetContext(nullptr);
  return status;
}

Status BumpGeneration(Connection* connection) {
  ARROW_ASSIGN_OR_RAISE(
      Statement statement,
      connection->Prepare("UPDATE counters SET value = value + 1 WHERE name = 'generation'"));
  return statement.Run().status();
}

Status CheckNamespace(Connection* connection, const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(Statement statement,
                        connection->Prepare("SELECT 1 FROM namespaces WHERE name = ?"));
  ARROW_ASSIGN_OR_RAISE(bool exists, statement.Bind(name).Step());
  if (!exists) return Error(ErrorCode::kNotFound, "namespace does not exist: '{}'", name);
  return Status::OK();
}

std::unique_ptr<View> SqliteMetastore::ViewFor(const Principal& principal) {
  return MakeView(connections_, principal);
}

Result<uint64_t> SqliteMetastore::Generation(const Context& context) {
  uint64_t generation = 0;
  ARROW_RETURN_NOT_OK(connections_->reader.Run(
      context, Transaction::Mode::kRead, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(
            Statement statement,
            connection->Prepare("SELECT value FROM counters WHERE name = 'generation'"));
        ARROW_ASSIGN_OR_RAISE(bool row, statement.Step());
        if (!row) return MakeError(ErrorCode::kCorrupt, "metastore: no generation counter");
        generation = static_cast<uint64_t>(statement.Int(0));
        return Status::OK();
      }));
  return generation;
}

Status SqliteMetastore::CreateNamespace(const Context& context, const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(std::string checked, CheckedName(name, "namespace"));
  ARROW_ASSIGN_OR_RAISE(std::string folded, FoldedName(checked));
  return connections_->writer.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(Statement find,
                              connection->Prepare("SELECT name FROM namespaces WHERE folded = ?"));
        ARROW_ASSIGN_OR_RAISE(bool taken, find.Bind(folded).Step());
        if (taken) {
          return Error(ErrorCode::kAlreadyExists, "namespace exists already: '{}' (as '{}')",
                       checked, find.Text(0));
        }
        ARROW_ASSIGN_OR_RAISE(Statement insert,
                              connection->Prepare("INSERT INTO namespaces VALUES (?, ?, ?)"));
        ARROW_RETURN_NOT_OK(
            insert.Bind(checked).Bind(folded).Bind(context.clock->UnixNanos()).Run().status());
        return BumpGeneration(connection);
      });
}

Status SqliteMetastore::DropNamespace(const Context& context, const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(std::string normal, NormalizedName(name));
  if (normal == kMainNamespace) {
    return Error(ErrorCode::kInvalidArgument, "namespace cannot be dropped, it always exists: '{}'",
                 normal);
  }
  return connections_->writer.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        ARROW_RETURN_NOT_OK(CheckNamespace(connection, normal));
        ARROW_ASSIGN_OR_RAISE(
            Statement find,
            connection->Prepare("SELECT name FROM entries WHERE name_space = ? LIMIT 1"));
        ARROW_ASSIGN_OR_RAISE(bool used, find.Bind(normal).Step());
        if (used) {
          return Error(ErrorCode::kInvalidArgument,
                       "namespace is not empty, drop what it holds first: '{}' holds '{}'", normal,
                       find.Text(0));
        }
        ARROW_ASSIGN_OR_RAISE(Statement remove,
                              connection->Prepare("DELETE FROM namespaces WHERE name = ?"));
        ARROW_RETURN_NOT_OK(remove.Bind(normal).Run().status());
        return BumpGeneration(connection);
      });
}

}  // namespace sqlite

namespace {

Status SyncFolder(const std::string& folder) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return PosixError(errno, "metastore: cannot open folder", folder);
  if (fsync(fd.get()) != 0) return PosixError(errno, "metastore: cannot sync folder", folder);
  return Status::OK();
}

// Makes an empty database file with mode 0600, whose -wal and -shm SQLite then makes alike. It is
// made under another name and linked: closing a descriptor of a file that SQLite has open in this
// process would drop SQLite's locks.
Status MakeDatabaseFile(const Context& context, const std::string& path) {
  if (access(path.c_str(), F_OK) == 0) return Status::OK();
  std::string temporary = path + ".tmp-" + Uuid::NewV4(context).ToString();
  {
    UniqueFd fd(open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    if (!fd.valid()) return PosixError(errno, "metastore: cannot make file", temporary);
  }
  int result = link(temporary.c_str(), path.c_str());
  int error = errno;
  unlink(temporary.c_str());
  if (result != 0 && error != EEXIST) return PosixError(error, "metastore: cannot make file", path);
  return SyncFolder(std::filesystem::path(path).parent_path().string());
}

// SQLite may answer "busy" at once, without waiting, while another process makes the same change.
Status EnterWalMode(const Context& context, sqlite::Connection* connection) {
  constexpr int kAttempts = 600;
  for (int attempt = 0;; ++attempt) {
    Status status = [&]() -> Status {
      ARROW_ASSIGN_OR_RAISE(sqlite::Statement statement,
                            connection->Prepare("PRAGMA journal_mode = WAL"));
      ARROW_RETURN_NOT_OK(statement.Step().status());
      if (statement.Text(0) != "wal") {
        return Error(ErrorCode::kUnsupported,
                     "metastore: SQLite cannot keep a write-ahead log here, journal mode is {}",
                     statement.Text(0));
      }
      return Status::OK();
    }();
    if (status.ok() || !IsRetryable(status) || attempt >= kAttempts) return status;
    ARROW_RETURN_NOT_OK(context.Check());
    context.clock->SleepFor(std::chrono::milliseconds(50));
  }
}

Result<std::unique_ptr<sqlite::Connection>> OpenConnection(const Context& context,
                                                           const std::string& path,
                                                           sqlite::Durability durability) {
  ARROW_ASSIGN_OR_RAISE(auto connection, sqlite::Connection::Open(path, durability));
  connection->SetContext(&context);
  ARROW_RETURN_NOT_OK(EnterWalMode(context, connection.get()));
  connection->SetContext(nullptr);
  return connection;
}

}  // namespace

Result<std::shared_ptr<Metastore>> OpenSqliteMetastore(const Context& context,
                                                       const std::string& path) {
  ARROW_RETURN_NOT_OK(
      storage::RefuseNetworkFileSystem(std::filesystem::path(path).parent_path().string()));
  ARROW_RETURN_NOT_OK(MakeDatabaseFile(context, path));
  ARROW_ASSIGN_OR_RAISE(auto writer, OpenConnection(context, path, sqlite::Durability::kFull));
  writer->SetContext(&context);
  ARROW_RETURN_NOT_OK(WithContext(sqlite::Migrate(context, writer.get()), path));
  writer->SetContext(nullptr);
  ARROW_ASSIGN_OR_RAISE(auto reader, OpenConnection(context, path, sqlite::Durability::kFull));
  ARROW_ASSIGN_OR_RAISE(auto unsynced,
                        OpenConnection(context, path, sqlite::Durability::kUnsynced));
  auto connections = std::make_shared<sqlite::Connections>(std::move(reader), std::move(writer),
                                                           std::move(unsynced));
  return std::make_shared<sqlite::SqliteMetastore>(std::move(connections));
}

}  // namespace lake::catalog
