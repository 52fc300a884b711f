#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/catalog/metastore.h"
#include "lake/format/version.h"
#include "lake/objects/stage.h"
#include "lake/table/dataset.h"
#include "lake/table/row_change.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow

namespace lake::commit {

struct LakehouseOptions {
  std::string data_dir;
  /// Make the folder if it is missing; else kNotFound.
  bool create_if_missing = true;
};

/// A table at one version, under the name it was found by. Immutable, thread-safe.
struct OpenTable {
  catalog::Entry entry;
  std::shared_ptr<table::Dataset> dataset;
};

/// A caller's idempotent operation (DESIGN: idempotent operations).
struct OperationKey {
  std::string operation_id;    ///< UUIDv7 text; empty: not idempotent
  std::string payload_digest;  ///< SHA-256 hex of what would be written
  /// False for an id that nobody asked for: it is left out where a change takes none.
  bool required = true;
};

struct CommitOutcome {
  uint64_t version = 0;
  /// Rows written, changed and deleted.
  uint64_t num_rows = 0;
  bool replayed = false;
  /// Of a change, what became of its rows; 0 where it was replayed.
  uint64_t num_deleted = 0;
  uint64_t num_updated = 0;
  uint64_t num_inserted = 0;
  /// Attempts that lost against another commit, and runs that had to be worked out again.
  int lost_attempts = 0;
};

struct WriteOptions {
  OperationKey operation;
  /// The caller proved where the FILE values come from (an upload of ours, or a FILE column of the
  /// same statement). Without it a row that holds a FILE value is refused.
  bool file_provenance_proved = false;
  uint64_t max_buffered_bytes = 256ull << 20;
  /// ChangeRows: rows are added because the table has none of their key. Behind another change that
  /// may have added the same keys the commit is a kConflict, retryable.
  bool inserts_by_key = false;
  /// Replace: the rows were worked out from the table itself, at the version that it is opened at.
  /// Behind any other commit it is a kConflict, retryable.
  bool replaces_what_was_read = false;
  /// Of Create and Replace: the version of the table's data files, 2.1 or 2.2. Nothing: 2.2, or the
  /// one that the replaced table has.
  std::optional<format::FileVersion> file_version;
};

/// What a change of a table is worked out from, for as long as that takes.
struct ChangeInput {
  std::shared_ptr<const table::Dataset> dataset;
  /// Goes to all that writes values: FILE values are checked as in a TableWrite.
  table::RowCheck check;
  uint64_t max_buffered_bytes = 0;
};

/// Works a change out on a version, with the functions of lake/table. Called again on a newer one
/// where another commit came first.
using ChangeMaker =
    std::function<Result<table::PreparedChange>(const Context& context, const ChangeInput& input)>;

/// Rows on their way into a table. Every FILE value is checked as it passes: contained in the
/// writer's stage, existing, of the declared size. Not thread-safe. Destruction without Commit
/// removes what was written.
class TableWrite {
 public:
  virtual ~TableWrite() = default;

  /// The columns to write, in order.
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  virtual Status Write(const arrow::RecordBatch& batch) = 0;
  virtual uint64_t num_rows() const = 0;

  /// Commits. No rows into an existing table make no version. kCommitUnknown: replay with the
  /// operation id.
  virtual Result<CommitOutcome> Commit(const Context& context) = 0;
  /// Gives up; OK also if it was given up or committed before.
  virtual Status Abort(const Context& context) = 0;
};

/// Rows of a table taken out, changed and added (Write adds): one commit. Not thread-safe.
class ChangeWrite : public TableWrite {
 public:
  /// Takes rows out of the version that the change began on. One taken out twice counts once.
  virtual Status Delete(std::span<const table::RowAddress> addresses) = 0;
  /// Takes all rows out. Nothing is read.
  virtual Status DeleteAll() = 0;
  /// Puts `batch` in place of the rows at `addresses`, one by one.
  virtual Status Update(std::span<const table::RowAddress> addresses,
                        const arrow::RecordBatch& batch) = 0;
  /// Ends the rows; `num_rows` then says how many are affected. kInvalidArgument for a row that is
  /// changed twice, or changed and taken out.
  virtual Status Finish() = 0;
};

class Maintenance;

/// A data folder in use: names, tables and objects. The only road by which a table changes (DESIGN:
/// commit, create and drop). Several processes may use one folder. Thread-safe.
class Lakehouse {
 public:
  /// Opens the folder: lake.json (refused if newer than this program), metastore, stage, own
  /// temporary folder; sweeps temporaries of dead processes; finishes or buries expired creations.
  static Result<std::shared_ptr<Lakehouse>> Open(const Context& context, LakehouseOptions options);
  virtual ~Lakehouse() = default;

  virtual const std::string& data_dir() const = 0;
  /// This process's own temporary folder; removed at exit.
  virtual const std::string& temp_dir() const = 0;
  virtual catalog::Metastore& metastore() = 0;
  virtual Result<std::shared_ptr<objects::Stage>> StageFor(const Context& context,
                                                           const catalog::Principal& principal) = 0;

  /// Opens a table by name, newest version unless `options` says otherwise. kTableReplaced if the
  /// folder's `lake.incarnation` is another.
  virtual Result<std::shared_ptr<const OpenTable>> OpenByName(
      const Context& context, const catalog::Principal& principal,
      const catalog::QualifiedName& name, catalog::NameMatch match,
      const table::OpenOptions& options = {}) = 0;

  /// Opens a row that was found before.
  virtual Result<std::shared_ptr<const OpenTable>> OpenEntry(
      const Context& context, const catalog::Entry& entry,
      const table::OpenOptions& options = {}) = 0;

  /// Starts a table: the name is reserved until Commit makes version 1 with the rows written so far
  /// (none is fine), or Abort. kAlreadyExists; kUnsupported for a schema that is not written or
  /// nests FILE.
  virtual Result<std::unique_ptr<TableWrite>> Create(
      const Context& context, const catalog::Principal& principal,
      const catalog::QualifiedName& name, const arrow::Schema& schema,
      const std::map<std::string, std::string>& properties, const WriteOptions& options) = 0;

  /// Starts an append to `table`, whose schema the rows must have.
  virtual Result<std::unique_ptr<TableWrite>> Append(const Context& context,
                                                     const catalog::Principal& principal,
                                                     std::shared_ptr<const OpenTable> table,
                                                     const WriteOptions& options) = 0;

  /// Starts a replacement of all rows and columns of `table` in one commit, under the name and
  /// incarnation it has. Config, table metadata and row ids go on; indices go. Otherwise as Append.
  virtual Result<std::unique_ptr<TableWrite>> Replace(const Context& context,
                                                      const catalog::Principal& principal,
                                                      std::shared_ptr<const OpenTable> table,
                                                      const arrow::Schema& schema,
                                                      const WriteOptions& options) = 0;

  /// Changes `table` by what `make` works out, in one commit. Where another commit came first that
  /// it cannot be brought on top of, it is worked out again on the newest version, up to 20 times.
  /// A change of nothing makes no version. With an operation id, idempotent as Append.
  virtual Result<CommitOutcome> Change(const Context& context, const catalog::Principal& principal,
                                       std::shared_ptr<const OpenTable> table,
                                       const ChangeMaker& make, const WriteOptions& options) = 0;

  /// Starts a change of single rows of `table`, which is the version that their addresses are of.
  /// FILE values of new rows, and of `changed_columns` of changed rows, are checked; the other
  /// columns of changed rows must hold what they held.
  virtual Result<std::unique_ptr<ChangeWrite>> ChangeRows(
      const Context& context, const catalog::Principal& principal,
      std::shared_ptr<const OpenTable> table, const std::set<std::string>& changed_columns,
      const WriteOptions& options) = 0;

  /// The outcome of an operation by its id, if a record of it exists: lets a caller replay without
  /// sending the rows again. kNotFound if there is no record; kInvalidArgument on another digest.
  virtual Result<CommitOutcome> Replay(const Context& context, const catalog::Principal& principal,
                                       const OperationKey& operation) = 0;

  /// kConflict, naming it, while a shallow clone reads the table's files.
  virtual Status Drop(const Context& context, const catalog::Principal& principal,
                      const catalog::Entry& entry) = 0;
  /// Brings back the latest drop of `name` (or of `incarnation`), under `new_name` if given.
  virtual Result<catalog::Entry> Undrop(const Context& context, const catalog::Principal& principal,
                                        const catalog::QualifiedName& name,
                                        const std::optional<catalog::QualifiedName>& new_name,
                                        const std::optional<Uuid>& incarnation = {}) = 0;
  virtual Result<catalog::Entry> Rename(const Context& context, const catalog::Principal& principal,
                                        const catalog::Entry& entry,
                                        const catalog::QualifiedName& new_name) = 0;

  /// Compaction, clean-up, tags, branches, clones. Lives as long as this.
  virtual Maintenance& maintenance() = 0;

  /// Data files that no retained version names and no running writer owns: `lake selftest` lists
  /// them.
  virtual Result<std::vector<std::string>> FindLeftovers(const Context& context) = 0;
};

}  // namespace lake::commit
