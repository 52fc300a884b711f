#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/catalog/metastore.h"
#include "lake/catalog/sqlite_internal.h"

namespace lake::catalog::sqlite {

/// A connection and the lock that guards it.
class SharedConnection {
 public:
  explicit SharedConnection(std::unique_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  /// Runs `body` in one transaction: committed if it returns OK, else rolled back.
  Status Run(const Context& context, Transaction::Mode mode,
             const std::function<Status(Connection*)>& body) LAKE_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  std::unique_ptr<Connection> connection_ LAKE_GUARDED_BY(mutex_);
};

/// The three connections of a metastore. Readers never wait for writers (WAL).
struct Connections {
  Connections(std::unique_ptr<Connection> reader_connection,
              std::unique_ptr<Connection> writer_connection,
              std::unique_ptr<Connection> unsynced_connection)
      : reader(std::move(reader_connection)),
        writer(std::move(writer_connection)),
        unsynced(std::move(unsynced_connection)) {}

  SharedConnection reader;
  SharedConnection writer;
  /// For what may be lost in a power loss: hints and outcomes that storage tells as well.
  SharedConnection unsynced;
};

/// See OpenSqliteMetastore. Thread-safe. Lock order: each call takes the lock of one connection,
/// never two.
class SqliteMetastore : public Metastore {
 public:
  explicit SqliteMetastore(std::shared_ptr<Connections> connections)
      : connections_(std::move(connections)) {}

  std::unique_ptr<View> ViewFor(const Principal& principal) override;
  Result<uint64_t> Generation(const Context& context) override;
  Status CreateNamespace(const Context& context, const std::string& name) override;
  Status DropNamespace(const Context& context, const std::string& name) override;

  Result<Entry> BeginCreate(const Context& context, const Entry& entry,
                            int64_t lease_nanos) override;
  Result<Entry> RenewCreate(const Context& context, const Entry& entry,
                            int64_t lease_nanos) override;
  Status FinishCreate(const Context& context, const Entry& entry,
                      const Uuid& first_transaction) override;
  Status AbandonCreate(const Context& context, const Entry& entry) override;
  Result<std::vector<Entry>> ExpiredCreates(const Context& context) override;
  Status Drop(const Context& context, const Entry& entry, int64_t purge_after_nanos) override;
  Result<Entry> Undrop(const Context& context, const Uuid& incarnation,
                       const QualifiedName& name) override;
  Result<Entry> Rename(const Context& context, const Entry& entry,
                       const QualifiedName& name) override;
  Status AdvanceHint(const Context& context, const Uuid& incarnation, uint64_t version) override;

  Result<BegunOperation> BeginOperation(const Context& context,
                                        const OperationRecord& record) override;
  Status RestartOperation(const Context& context, const Uuid& buried,
                          const OperationRecord& record) override;
  Result<OperationRecord> FindOperation(const Context& context,
                                        const std::string& operation_id) override;
  Result<std::vector<OperationRecord>> OpenOperations(const Context& context,
                                                      const Uuid& incarnation) override;
  Status FinishOperation(const Context& context, const std::string& operation_id,
                         uint64_t committed_version, uint64_t committed_rows) override;
  Result<Whereabouts> FindIncarnation(const Context& context, const Uuid& incarnation) override;

 private:
  const std::shared_ptr<Connections> connections_;
};

/// Names through the reader connection; keeps the connections alive.
std::unique_ptr<View> MakeView(std::shared_ptr<Connections> connections,
                               const Principal& principal);

/// Counts a change of names. Inside a write transaction.
Status BumpGeneration(Connection* connection);

/// kNotFound unless the namespace exists, under exactly this name.
Status CheckNamespace(Connection* connection, const std::string& name);

}  // namespace lake::catalog::sqlite
