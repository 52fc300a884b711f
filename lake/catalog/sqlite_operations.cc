#include "lake/catalog/sqlite_metastore_internal.h"
#include "lake/catalog/sqlite_rows_internal.h"

namespace lake::catalog::sqlite {
namespace {

Result<OperationRecord> FindRecord(Connection* connection, const std::string& operation_id) {
  ARROW_ASSIGN_OR_RAISE(
      Statement find,
      connection->Prepare("SELECT operation_id, payload_digest, incarnation, base_version, "
                          "created_nanos, committed_version, committed_rows FROM operations "
                          "WHERE operation_id = ?"));
  ARROW_ASSIGN_OR_RAISE(bool found, find.Bind(operation_id).Step());
  if (!found) {
    return Error(ErrorCode::kNotFound, "there is no record of operation {}", operation_id);
  }
  OperationRecord record;
  record.operation_id = find.Text(0);
  record.payload_digest = find.Text(1);
  ARROW_ASSIGN_OR_RAISE(record.incarnation, ReadUuid(find.Text(2), "operations.incarnation"));
  record.base_version = static_cast<uint64_t>(find.Int(3));
  record.created_nanos = find.Int(4);
  if (!find.IsNull(5)) record.committed_version = static_cast<uint64_t>(find.Int(5));
  record.committed_rows = static_cast<uint64_t>(find.Int(6));
  return record;
}

Status InsertRecord(const Context& context, Connection* connection, const OperationRecord& record) {
  ARROW_ASSIGN_OR_RAISE(int64_t base, VersionNumber(record.base_version));
  ARROW_ASSIGN_OR_RAISE(
      Statement insert,
      connection->Prepare("INSERT INTO operations (operation_id, payload_digest, incarnation, "
                          "base_version, created_nanos) VALUES (?, ?, ?, ?, ?)"));
  return insert.Bind(record.operation_id)
      .Bind(record.payload_digest)
      .Bind(record.incarnation.ToString())
      .Bind(base)
      .Bind(context.clock->UnixNanos())
      .Run()
      .status();
}

}  // namespace

Result<BegunOperation> SqliteMetastore::BeginOperation(const Context& context,
                                                       const OperationRecord& record) {
  BegunOperation begun;
  ARROW_RETURN_NOT_OK(connections_->writer.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        Result<OperationRecord> existing = FindRecord(connection, record.operation_id);
        if (existing.ok()) {
          begun.record = *std::move(existing);
          begun.existed = true;
          return Status::OK();
        }
        if (CodeOf(existing.status()) != ErrorCode::kNotFound) return existing.status();
        ARROW_RETURN_NOT_OK(InsertRecord(context, connection, record));
        ARROW_ASSIGN_OR_RAISE(begun.record, FindRecord(connection, record.operation_id));
        return Status::OK();
      }));
  if (begun.record.payload_digest != record.payload_digest) {
    return Error(ErrorCode::kInvalidArgument,
                 "operation id was used before with another input; use a new one: {}",
                 record.operation_id);
  }
  if (begun.record.incarnation != record.incarnation) {
    return Error(ErrorCode::kInvalidArgument,
                 "operation id was used before on another table; use a new one: {}",
                 record.operation_id);
  }
  return begun;
}

Status SqliteMetastore::RestartOperation(const Context& context, const Uuid& buried,
                                         const OperationRecord& record) {
  ARROW_ASSIGN_OR_RAISE(int64_t base, VersionNumber(record.base_version));
  return connections_->writer.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(
            Statement update,
            connection->Prepare("UPDATE operations SET incarnation = ?, base_version = ? "
                                "WHERE operation_id = ? AND incarnation = ? "
                                "AND payload_digest = ? AND committed_version IS NULL"));
        ARROW_ASSIGN_OR_RAISE(int64_t changed, update.Bind(record.incarnation.ToString())
                                                   .Bind(base)
                                                   .Bind(record.operation_id)
                                                   .Bind(buried.ToString())
                                                   .Bind(record.payload_digest)
                                                   .Run());
        if (changed == 0) {
          return Error(ErrorCode::kConflict, "operation was taken up by another writer: {}",
                       record.operation_id);
        }
        return Status::OK();
      });
}

Result<OperationRecord> SqliteMetastore::FindOperation(const Context& context,
                                                       const std::string& operation_id) {
  OperationRecord record;
  ARROW_RETURN_NOT_OK(connections_->reader.Run(
      context, Transaction::Mode::kRead, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(record, FindRecord(connection, operation_id));
        return Status::OK();
      }));
  return record;
}

Result<std::vector<OperationRecord>> SqliteMetastore::OpenOperations(const Context& context,
                                                                     const Uuid& incarnation) {
  std::vector<OperationRecord> records;
  ARROW_RETURN_NOT_OK(connections_->reader.Run(
      context, Transaction::Mode::kRead, [&](Connection* connection) -> Status {
        records.clear();
        ARROW_ASSIGN_OR_RAISE(
            Statement find,
            connection->Prepare("SELECT operation_id FROM operations WHERE incarnation = ? "
                                "AND committed_version IS NULL ORDER BY created_nanos, "
                                "operation_id"));
        find.Bind(incarnation.ToString());
        std::vector<std::string> ids;
        for (;;) {
          ARROW_ASSIGN_OR_RAISE(bool row, find.Step());
          if (!row) break;
          ids.push_back(find.Text(0));
        }
        for (const std::string& id : ids) {
          ARROW_ASSIGN_OR_RAISE(OperationRecord record, FindRecord(connection, id));
          records.push_back(std::move(record));
        }
        return Status::OK();
      }));
  return records;
}

Status SqliteMetastore::FinishOperation(const Context& context, const std::string& operation_id,
                                        uint64_t committed_version, uint64_t committed_rows) {
  ARROW_ASSIGN_OR_RAISE(int64_t version, VersionNumber(committed_version));
  ARROW_ASSIGN_OR_RAISE(int64_t rows, VersionNumber(committed_rows));
  return connections_->unsynced.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(
            Statement update,
            connection->Prepare("UPDATE operations SET committed_version = ?, committed_rows = ? "
                                "WHERE operation_id = ? AND committed_version IS NULL"));
        ARROW_ASSIGN_OR_RAISE(int64_t changed,
                              update.Bind(version).Bind(rows).Bind(operation_id).Run());
        if (changed == 0) ARROW_RETURN_NOT_OK(FindRecord(connection, operation_id).status());
        return Status::OK();
      });
}

}  // namespace lake::catalog::sqlite
