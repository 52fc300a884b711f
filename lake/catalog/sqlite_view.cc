#include "lake/catalog/sqlite_metastore_internal.h"
#include "lake/catalog/sqlite_rows_internal.h"

namespace lake::catalog::sqlite {
namespace {

// Until grants exist every principal sees every name; the principal is here so that they have one
// place.
class SqliteView : public View {
 public:
  SqliteView(std::shared_ptr<Connections> connections, Principal principal)
      : connections_(std::move(connections)), principal_(std::move(principal)) {}

  Result<std::vector<std::string>> ListNamespaces(const Context& context) override {
    std::vector<std::string> names;
    ARROW_RETURN_NOT_OK(Read(context, [&](Connection* connection) -> Status {
      ARROW_ASSIGN_OR_RAISE(Statement statement,
                            connection->Prepare("SELECT name FROM namespaces ORDER BY name"));
      return ForEachRow(&statement, [&]() -> Status {
        names.push_back(statement.Text(0));
        return Status::OK();
      });
    }));
    return names;
  }

  Result<std::string> FindNamespace(const Context& context, const std::string& name,
                                    NameMatch match) override {
    std::string found;
    ARROW_RETURN_NOT_OK(Read(context, [&](Connection* connection) -> Status {
      ARROW_ASSIGN_OR_RAISE(found, Resolve(connection, name, match));
      return Status::OK();
    }));
    return found;
  }

  Result<std::vector<Entry>> ListEntries(const Context& context,
                                         const std::string& name_space) override {
    std::vector<Entry> entries;
    ARROW_RETURN_NOT_OK(Read(context, [&](Connection* connection) -> Status {
      ARROW_ASSIGN_OR_RAISE(std::string resolved,
                            Resolve(connection, name_space, NameMatch::kExact));
      ARROW_ASSIGN_OR_RAISE(
          Statement statement,
          connection->Prepare(
              "SELECT " LAKE_ENTRY_COLUMNS
              " FROM entries WHERE name_space = ? AND state = 'live' ORDER BY name"));
      statement.Bind(resolved);
      return ForEachRow(&statement, [&]() -> Status {
        ARROW_ASSIGN_OR_RAISE(entries.emplace_back(), ReadEntry(statement));
        return Status::OK();
      });
    }));
    return entries;
  }

  Result<Entry> Find(const Context& context, const QualifiedName& name, NameMatch match) override {
    Entry entry;
    ARROW_RETURN_NOT_OK(Read(context, [&](Connection* connection) -> Status {
      ARROW_ASSIGN_OR_RAISE(std::string name_space, Resolve(connection, name.name_space, match));
      ARROW_ASSIGN_OR_RAISE(std::string normal, NormalizedName(name.name));
      ARROW_ASSIGN_OR_RAISE(Statement exact,
                            connection->Prepare("SELECT " LAKE_ENTRY_COLUMNS
                                                " FROM entries WHERE name_space = ? AND name = ? "
                                                "AND state = 'live'"));
      ARROW_ASSIGN_OR_RAISE(bool found, exact.Bind(name_space).Bind(normal).Step());
      if (found) {
        ARROW_ASSIGN_OR_RAISE(entry, ReadEntry(exact));
        return Status::OK();
      }
      if (match == NameMatch::kSql) {
        ARROW_ASSIGN_OR_RAISE(found, FindFolded(connection, name_space, normal, &entry));
      }
      if (!found) {
        return Error(ErrorCode::kNotFound, "table does not exist: '{}.{}'", name_space, normal);
      }
      return Status::OK();
    }));
    return entry;
  }

  Result<std::vector<Tombstone>> ListTombstones(const Context& context) override {
    std::vector<Tombstone> tombstones;
    ARROW_RETURN_NOT_OK(Read(context, [&](Connection* connection) -> Status {
      ARROW_ASSIGN_OR_RAISE(
          Statement statement,
          connection->Prepare("SELECT " LAKE_ENTRY_COLUMNS
                              ", dropped_nanos, purge_after_nanos, reason FROM tombstones "
                              "ORDER BY name_space, name, dropped_nanos, id"));
      return ForEachRow(&statement, [&]() -> Status {
        ARROW_ASSIGN_OR_RAISE(tombstones.emplace_back(), ReadTombstone(statement));
        return Status::OK();
      });
    }));
    return tombstones;
  }

 private:
  Status Read(const Context& context, const std::function<Status(Connection*)>& body) {
    return connections_->reader.Run(context, Transaction::Mode::kRead, body);
  }

  template <typename Body>
  static Status ForEachRow(Statement* statement, Body body) {
    while (true) {
      ARROW_ASSIGN_OR_RAISE(bool row, statement->Step());
      if (!row) return Status::OK();
      ARROW_RETURN_NOT_OK(body());
    }
  }

  static Result<std::string> Resolve(Connection* connection, const std::string& name,
                                     NameMatch match) {
    ARROW_ASSIGN_OR_RAISE(std::string normal, NormalizedName(name));
    Status exact = CheckNamespace(connection, normal);
    if (exact.ok()) return normal;
    if (CodeOf(exact) != ErrorCode::kNotFound || match == NameMatch::kExact) return exact;

    ARROW_ASSIGN_OR_RAISE(std::string folded, FoldedName(normal));
    ARROW_ASSIGN_OR_RAISE(
        Statement statement,
        connection->Prepare("SELECT name FROM namespaces WHERE folded = ? ORDER BY name LIMIT 2"));
    std::vector<std::string> matches;
    statement.Bind(folded);
    ARROW_RETURN_NOT_OK(ForEachRow(&statement, [&]() -> Status {
      matches.push_back(statement.Text(0));
      return Status::OK();
    }));
    if (matches.empty()) return exact;
    if (matches.size() > 1) return Ambiguous("namespace", normal, matches[0], matches[1]);
    return matches[0];
  }

  static Result<bool> FindFolded(Connection* connection, const std::string& name_space,
                                 const std::string& normal, Entry* entry) {
    ARROW_ASSIGN_OR_RAISE(std::string folded, FoldedName(normal));
    ARROW_ASSIGN_OR_RAISE(
        Statement statement,
        connection->Prepare("SELECT " LAKE_ENTRY_COLUMNS
                            " FROM entries WHERE name_space = ? AND folded = ? AND state = 'live' "
                            "ORDER BY name LIMIT 2"));
    std::vector<Entry> matches;
    statement.Bind(name_space).Bind(folded);
    ARROW_RETURN_NOT_OK(ForEachRow(&statement, [&]() -> Status {
      ARROW_ASSIGN_OR_RAISE(matches.emplace_back(), ReadEntry(statement));
      return Status::OK();
    }));
    if (matches.size() > 1) {
      return Ambiguous("table", normal, matches[0].name.name, matches[1].name.name);
    }
    if (matches.empty()) return false;
    *entry = std::move(matches[0]);
    return true;
  }

  static Status Ambiguous(const char* what, const std::string& name, const std::string& first,
                          const std::string& second) {
    return Error(ErrorCode::kInvalidArgument,
                 "{} name is ambiguous, write it in the case that you mean: '{}' matches '{}' and "
                 "'{}'",
                 what, name, first, second);
  }

  const std::shared_ptr<Connections> connections_;
  const Principal principal_;
};

}  // namespace

std::unique_ptr<View> MakeView(std::shared_ptr<Connections> connections,
                               const Principal& principal) {
  return std::make_unique<SqliteView>(std::move(connections), principal);
}

}  // namespace lake::catalog::sqlite
