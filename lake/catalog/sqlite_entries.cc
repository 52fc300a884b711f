#include "lake/catalog/sqlite_metastore_internal.h"
#include "lake/catalog/sqlite_rows_internal.h"

namespace lake::catalog::sqlite {
namespace {

Result<QualifiedName> Checked(const QualifiedName& name, EntryKind kind) {
  QualifiedName checked;
  ARROW_ASSIGN_OR_RAISE(checked.name_space, NormalizedName(name.name_space));
  ARROW_ASSIGN_OR_RAISE(checked.name, CheckedName(name.name, KindText(kind)));
  return checked;
}

// OK if `name` can be given to the entry `incarnation`: nothing else has it, in any case.
Status CheckFree(const Context& context, Connection* connection, const QualifiedName& name,
                 const std::string& folded, const Uuid& incarnation) {
  ARROW_RETURN_NOT_OK(CheckNamespace(connection, name.name_space));
  ARROW_ASSIGN_OR_RAISE(
      Statement find,
      connection->Prepare("SELECT name, kind, state, lease_expires_nanos FROM entries "
                          "WHERE name_space = ? AND folded = ? AND incarnation <> ? LIMIT 1"));
  ARROW_ASSIGN_OR_RAISE(
      bool taken, find.Bind(name.name_space).Bind(folded).Bind(incarnation.ToString()).Step());
  if (!taken) return Status::OK();
  std::string other = find.Text(0);
  if (find.Text(2) == StateText(EntryState::kCreating)) {
    if (find.Int(3) > context.clock->UnixNanos()) {
      return Error(ErrorCode::kAlreadyExists, "name is being created by another writer: '{}'",
                   name.ToString());
    }
    return RetryableError(ErrorCode::kConflict,
                          "name is held by a creation that its writer left: '{}'", name.ToString());
  }
  if (other != name.name) {
    return Error(ErrorCode::kAlreadyExists,
                 "name differs from an existing {} by case only: '{}', existing is '{}'",
                 find.Text(1), name.ToString(), other);
  }
  return Error(ErrorCode::kAlreadyExists, "{} exists already: '{}'", find.Text(1), name.ToString());
}

Result<Entry> FindRow(Connection* connection, const Uuid& incarnation) {
  ARROW_ASSIGN_OR_RAISE(Statement find, connection->Prepare("SELECT " LAKE_ENTRY_COLUMNS
                                                            " FROM entries WHERE incarnation = ?"));
  ARROW_ASSIGN_OR_RAISE(bool found, find.Bind(incarnation.ToString()).Step());
  if (!found) {
    return Error(ErrorCode::kNotFound, "metastore has no row of incarnation {}",
                 incarnation.ToString());
  }
  return ReadEntry(find);
}

Status Gone(const Entry& entry) {
  return Error(ErrorCode::kConflict,
               "entry was dropped or replaced meanwhile: '{}' (incarnation {})",
               entry.name.ToString(), entry.incarnation.ToString());
}

// The row of `entry` if it is in `state`; else kConflict.
Result<Entry> FindInState(Connection* connection, const Entry& entry, EntryState state) {
  Result<Entry> row = FindRow(connection, entry.incarnation);
  if (!row.ok() && CodeOf(row.status()) != ErrorCode::kNotFound) return row.status();
  if (!row.ok() || row->state != state) return Gone(entry);
  return row;
}

Status InsertEntry(Connection* connection, const Entry& entry, const std::string& folded,
                   bool with_id) {
  ARROW_ASSIGN_OR_RAISE(std::string properties, PropertiesText(entry.properties));
  ARROW_ASSIGN_OR_RAISE(int64_t hint, VersionNumber(entry.version_hint));
  ARROW_ASSIGN_OR_RAISE(
      Statement insert,
      connection->Prepare("INSERT INTO entries (" LAKE_ENTRY_COLUMNS ", folded) "
                          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  if (with_id) {
    insert.Bind(entry.id);
  } else {
    insert.BindNull();
  }
  insert.Bind(entry.incarnation.ToString())
      .Bind(entry.name.name_space)
      .Bind(entry.name.name)
      .Bind(KindText(entry.kind))
      .Bind(FormatText(entry.format))
      .Bind(StateText(entry.state))
      .Bind(int64_t{entry.is_protected})
      .Bind(entry.location)
      .Bind(hint);
  if (entry.first_transaction.has_value()) {
    insert.Bind(entry.first_transaction->ToString());
  } else {
    insert.BindNull();
  }
  return insert.Bind(properties)
      .Bind(entry.created_nanos)
      .Bind(entry.lease_epoch)
      .Bind(entry.lease_expires_nanos)
      .Bind(folded)
      .Run()
      .status();
}

// Moves the row to the tombstones.
Status Bury(const Context& context, Connection* connection, const Uuid& incarnation,
            int64_t purge_after_nanos, std::string_view reason) {
  ARROW_ASSIGN_OR_RAISE(
      Statement copy, connection->Prepare("INSERT INTO tombstones (" LAKE_ENTRY_COLUMNS
                                          ", folded, dropped_nanos, purge_after_nanos, reason) "
                                          "SELECT " LAKE_ENTRY_COLUMNS
                                          ", folded, ?, ?, ? FROM entries WHERE incarnation = ?"));
  ARROW_RETURN_NOT_OK(copy.Bind(context.clock->UnixNanos())
                          .Bind(purge_after_nanos)
                          .Bind(reason)
                          .Bind(incarnation.ToString())
                          .Run()
                          .status());
  ARROW_ASSIGN_OR_RAISE(Statement remove,
                        connection->Prepare("DELETE FROM entries WHERE incarnation = ?"));
  return remove.Bind(incarnation.ToString()).Run().status();
}

}  // namespace

Result<Entry> SqliteMetastore::BeginCreate(const Context& context, const Entry& entry,
                                           int64_t lease_nanos) {
  Entry created = entry;
  ARROW_ASSIGN_OR_RAISE(created.name, Checked(entry.name, entry.kind));
  ARROW_ASSIGN_OR_RAISE(std::string folded, FoldedName(created.name.name));
  created.state = EntryState::kCreating;
  created.created_nanos = context.clock->UnixNanos();
  created.lease_epoch = 1;
  ARROW_RETURN_NOT_OK(connections_->writer.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        // Taken inside: the wait for other writers must not use up the lease.
        created.lease_expires_nanos = context.clock->UnixNanos() + lease_nanos;
        ARROW_RETURN_NOT_OK(
            CheckFree(context, connection, created.name, folded, created.incarnation));
        ARROW_RETURN_NOT_OK(InsertEntry(connection, created, folded, /*with_id=*/false));
        ARROW_ASSIGN_OR_RAISE(Entry row, FindRow(connection, created.incarnation));
        created.id = row.id;
        return Status::OK();
      }));
  return created;
}

Result<Entry> SqliteMetastore::RenewCreate(const Context& context, const Entry& entry,
                                           int64_t lease_nanos) {
  Entry renewed = entry;
  ARROW_RETURN_NOT_OK(connections_->writer.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(renewed, FindInState(connection, entry, EntryState::kCreating));
        if (renewed.lease_epoch != entry.lease_epoch) return Gone(entry);
        ++renewed.lease_epoch;
        renewed.lease_expires_nanos = context.clock->UnixNanos() + lease_nanos;
        ARROW_ASSIGN_OR_RAISE(
            Statement update,
            connection->Prepare("UPDATE entries SET lease_epoch = ?, lease_expires_nanos = ? "
                                "WHERE incarnation = ?"));
        return update.Bind(renewed.lease_epoch)
            .Bind(renewed.lease_expires_nanos)
            .Bind(entry.incarnation.ToString())
            .Run()
            .status();
      }));
  return renewed;
}

Status SqliteMetastore::FinishCreate(const Context& context, const Entry& entry,
                                     const Uuid& first_transaction) {
  return connections_->writer.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        Result<Entry> row = FindRow(connection, entry.incarnation);
        if (!row.ok()) {
          return CodeOf(row.status()) == ErrorCode::kNotFound ? Gone(entry) : row.status();
        }
        if (row->state == EntryState::kLive) return Status::OK();
        if (row->state != EntryState::kCreating) return Gone(entry);
        ARROW_ASSIGN_OR_RAISE(
            Statement update,
            connection->Prepare("UPDATE entries SET state = 'live', first_transaction = ?, "
                                "version_hint = 1, lease_expires_nanos = 0 "
                                "WHERE incarnation = ?"));
        ARROW_RETURN_NOT_OK(update.Bind(first_transaction.ToString())
                                .Bind(entry.incarnation.ToString())
                                .Run()
                                .status());
        return BumpGeneration(connection);
      });
}

Status SqliteMetastore::AbandonCreate(const Context& context, const Entry& entry) {
  return connections_->writer.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(Entry row, FindInState(connection, entry, EntryState::kCreating));
        if (row.lease_epoch != entry.lease_epoch) return Gone(entry);
        return Bury(context, connection, entry.incarnation, context.clock->UnixNanos(),
                    kCreateAbandoned);
      });
}

Result<std::vector<Entry>> SqliteMetastore::ExpiredCreates(const Context& context) {
  std::vector<Entry> entries;
  ARROW_RETURN_NOT_OK(connections_->reader.Run(
      context, Transaction::Mode::kRead, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(Statement find,
                              connection->Prepare("SELECT " LAKE_ENTRY_COLUMNS
                                                  " FROM entries WHERE state = 'creating' "
                                                  "AND lease_expires_nanos <= ? ORDER BY id"));
        find.Bind(context.clock->UnixNanos());
        while (true) {
          ARROW_ASSIGN_OR_RAISE(bool row, find.Step());
          if (!row) return Status::OK();
          ARROW_ASSIGN_OR_RAISE(entries.emplace_back(), ReadEntry(find));
        }
      }));
  return entries;
}

Status SqliteMetastore::Drop(const Context& context, const Entry& entry,
                             int64_t purge_after_nanos) {
  return connections_->writer.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(Entry row, FindInState(connection, entry, EntryState::kLive));
        if (row.is_protected) {
          return Error(ErrorCode::kInvalidArgument,
                       "entry is protected, take the protection off first: '{}'",
                       row.name.ToString());
        }
        ARROW_RETURN_NOT_OK(
            Bury(context, connection, entry.incarnation, purge_after_nanos, kDropped));
        return BumpGeneration(connection);
      });
}

Result<Entry> SqliteMetastore::Undrop(const Context& context, const Uuid& incarnation,
                                      const QualifiedName& name) {
  Entry entry;
  ARROW_RETURN_NOT_OK(connections_->writer.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(
            Statement find,
            connection->Prepare("SELECT " LAKE_ENTRY_COLUMNS
                                ", dropped_nanos, purge_after_nanos, reason FROM tombstones "
                                "WHERE incarnation = ? AND reason = 'drop'"));
        ARROW_ASSIGN_OR_RAISE(bool found, find.Bind(incarnation.ToString()).Step());
        if (!found) {
          return Error(ErrorCode::kNotFound, "nothing that was dropped has incarnation {}",
                       incarnation.ToString());
        }
        ARROW_ASSIGN_OR_RAISE(Tombstone tombstone, ReadTombstone(find));
        entry = std::move(tombstone.entry);
        ARROW_ASSIGN_OR_RAISE(entry.name, Checked(name, entry.kind));
        ARROW_ASSIGN_OR_RAISE(std::string folded, FoldedName(entry.name.name));
        ARROW_RETURN_NOT_OK(CheckFree(context, connection, entry.name, folded, incarnation));
        ARROW_RETURN_NOT_OK(InsertEntry(connection, entry, folded, /*with_id=*/true));
        ARROW_ASSIGN_OR_RAISE(Statement remove,
                              connection->Prepare("DELETE FROM tombstones WHERE incarnation = ?"));
        ARROW_RETURN_NOT_OK(remove.Bind(incarnation.ToString()).Run().status());
        return BumpGeneration(connection);
      }));
  return entry;
}

Result<Entry> SqliteMetastore::Rename(const Context& context, const Entry& entry,
                                      const QualifiedName& name) {
  Entry renamed;
  ARROW_ASSIGN_OR_RAISE(QualifiedName checked, Checked(name, entry.kind));
  ARROW_ASSIGN_OR_RAISE(std::string folded, FoldedName(checked.name));
  ARROW_RETURN_NOT_OK(connections_->writer.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(renamed, FindInState(connection, entry, EntryState::kLive));
        ARROW_RETURN_NOT_OK(CheckFree(context, connection, checked, folded, entry.incarnation));
        renamed.name = checked;
        ARROW_ASSIGN_OR_RAISE(
            Statement update,
            connection->Prepare("UPDATE entries SET name_space = ?, name = ?, folded = ? "
                                "WHERE incarnation = ?"));
        ARROW_RETURN_NOT_OK(update.Bind(checked.name_space)
                                .Bind(checked.name)
                                .Bind(folded)
                                .Bind(entry.incarnation.ToString())
                                .Run()
                                .status());
        return BumpGeneration(connection);
      }));
  return renamed;
}

Status SqliteMetastore::AdvanceHint(const Context& context, const Uuid& incarnation,
                                    uint64_t version) {
  ARROW_ASSIGN_OR_RAISE(int64_t number, VersionNumber(version));
  return connections_->unsynced.Run(
      context, Transaction::Mode::kImmediate, [&](Connection* connection) -> Status {
        ARROW_ASSIGN_OR_RAISE(
            Statement update,
            connection->Prepare("UPDATE entries SET version_hint = ? WHERE incarnation = ?"));
        return update.Bind(number).Bind(incarnation.ToString()).Run().status();
      });
}

Result<Whereabouts> SqliteMetastore::FindIncarnation(const Context& context,
                                                     const Uuid& incarnation) {
  Whereabouts found;
  ARROW_RETURN_NOT_OK(connections_->reader.Run(
      context, Transaction::Mode::kRead, [&](Connection* connection) -> Status {
        Result<Entry> row = FindRow(connection, incarnation);
        if (row.ok()) {
          found.entry = *std::move(row);
          return Status::OK();
        }
        if (CodeOf(row.status()) != ErrorCode::kNotFound) return row.status();
        ARROW_ASSIGN_OR_RAISE(
            Statement find,
            connection->Prepare("SELECT " LAKE_ENTRY_COLUMNS
                                ", dropped_nanos, purge_after_nanos, reason FROM tombstones "
                                "WHERE incarnation = ?"));
        ARROW_ASSIGN_OR_RAISE(bool buried, find.Bind(incarnation.ToString()).Step());
        if (!buried) return row.status();
        ARROW_ASSIGN_OR_RAISE(found.tombstone, ReadTombstone(find));
        found.entry = found.tombstone->entry;
        return Status::OK();
      }));
  return found;
}

}  // namespace lake::catalog::sqlite
