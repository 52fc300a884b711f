#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/catalog/metastore.h"
#include "lake/objects/stage.h"
#include "lake/table/dataset.h"

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
};

struct CommitOutcome {
  uint64_t version = 0;
  uint64_t num_rows = 0;
  bool replayed = false;
};

struct WriteOptions {
  OperationKey operation;
  /// The caller proved where the FILE values come from (an upload of ours, or a FILE column of the
  /// same statement). Without it a row that holds a FILE value is refused.
  bool file_provenance_proved = false;
  uint64_t max_buffered_bytes = 256ull << 20;
};

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

  /// The outcome of an operation by its id, if a record of it exists: lets a caller replay without
  /// sending the rows again. kNotFound if there is no record; kInvalidArgument on another digest.
  virtual Result<CommitOutcome> Replay(const Context& context, const catalog::Principal& principal,
                                       const OperationKey& operation) = 0;

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

  /// Data files that no retained version names and no running writer owns: `lake selftest` lists
  /// them.
  virtual Result<std::vector<std::string>> FindLeftovers(const Context& context) = 0;
};

}  // namespace lake::commit
