#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/catalog/types.h"

namespace lake::catalog {

/// How a name is looked up.
enum class NameMatch {
  kExact,
  kSql,  ///< The exact name, else the only case-insensitive match, else kInvalidArgument
         ///< ("ambiguous").
};

/// What BeginOperation found or made.
struct BegunOperation {
  OperationRecord record;
  bool existed = false;
};

/// Where an incarnation stands: a row in some state, or dropped.
struct Whereabouts {
  Entry entry;
  std::optional<Tombstone> tombstone;
};

/// Names as one principal sees them: the only way to read the metastore. Each call sees every
/// change that was committed, by any process, before it began. Thread-safe.
class View {
 public:
  virtual ~View() = default;

  virtual Result<std::vector<std::string>> ListNamespaces(const Context& context) = 0;
  /// The namespace's real name; kNotFound.
  virtual Result<std::string> FindNamespace(const Context& context, const std::string& name,
                                            NameMatch match) = 0;
  /// Live entries of a namespace by name, ascending.
  virtual Result<std::vector<Entry>> ListEntries(const Context& context,
                                                 const std::string& name_space) = 0;
  /// A live entry; kNotFound.
  virtual Result<Entry> Find(const Context& context, const QualifiedName& name,
                             NameMatch match) = 0;
  virtual Result<std::vector<Tombstone>> ListTombstones(const Context& context) = 0;
};

/// The database of names (DESIGN: metastore, create and drop). Each call is one transaction; each
/// write is conditional on what its caller saw (incarnation, state, lease epoch) and gives
/// kConflict if that changed. Thread-safe; several processes may use one metastore.
class Metastore {
 public:
  virtual ~Metastore() = default;

  virtual std::unique_ptr<View> ViewFor(const Principal& principal) = 0;

  /// A number that changes with every change of names. For caches.
  virtual Result<uint64_t> Generation(const Context& context) = 0;

  virtual Status CreateNamespace(const Context& context, const std::string& name) = 0;
  /// kNotFound; kInvalidArgument if it holds entries or is `main`.
  virtual Status DropNamespace(const Context& context, const std::string& name) = 0;

  /// Reserves a name: a row in state creating with a lease of `lease_nanos`. kAlreadyExists if the
  /// name is taken, also by one that differs in case only, or is being created by a live owner;
  /// kConflict if it is being created by an owner whose lease has expired (finish or bury that row
  /// first, see ExpiredCreates); kNotFound if the namespace does not exist. Id, state, lease and
  /// the normalised name of `entry` are set here.
  virtual Result<Entry> BeginCreate(const Context& context, const Entry& entry,
                                    int64_t lease_nanos) = 0;
  /// Renews the creator's lease and gives the row with its next lease epoch, which the creator goes
  /// on with. kConflict if the row is gone, or live by another's hand (see FinishCreate).
  virtual Result<Entry> RenewCreate(const Context& context, const Entry& entry,
                                    int64_t lease_nanos) = 0;
  /// Makes the row live: version 1 stands in storage. OK also if another's hand did so before;
  /// kConflict if the row is gone. Not conditional on the lease: what storage proves, anyone may
  /// record.
  virtual Status FinishCreate(const Context& context, const Entry& entry,
                              const Uuid& first_transaction) = 0;
  /// Turns the creating row into a tombstone. kConflict if the row is gone, live, or its lease was
  /// renewed since `entry` was read.
  virtual Status AbandonCreate(const Context& context, const Entry& entry) = 0;
  /// Rows in state creating whose lease has expired.
  virtual Result<std::vector<Entry>> ExpiredCreates(const Context& context) = 0;

  /// Row to tombstone. kConflict if the incarnation is not live any more; kInvalidArgument if
  /// protected.
  virtual Status Drop(const Context& context, const Entry& entry, int64_t purge_after_nanos) = 0;
  /// Tombstone to live row under `name`. kNotFound; kAlreadyExists if the name is taken.
  virtual Result<Entry> Undrop(const Context& context, const Uuid& incarnation,
                               const QualifiedName& name) = 0;
  virtual Result<Entry> Rename(const Context& context, const Entry& entry,
                               const QualifiedName& name) = 0;

  /// Moves the version hint; not synced, and a failure never fails a commit.
  virtual Status AdvanceHint(const Context& context, const Uuid& incarnation, uint64_t version) = 0;

  /// Writes the record, or returns the one that is there. kInvalidArgument if that has another
  /// digest or incarnation.
  virtual Result<BegunOperation> BeginOperation(const Context& context,
                                                const OperationRecord& record) = 0;
  /// Points the record of a create that never happened at the next attempt's incarnation. kConflict
  /// unless it still names `buried`, without an outcome.
  virtual Status RestartOperation(const Context& context, const Uuid& buried,
                                  const OperationRecord& record) = 0;
  /// kNotFound if there is no record.
  virtual Result<OperationRecord> FindOperation(const Context& context,
                                                const std::string& operation_id) = 0;
  /// Records of operations on an incarnation whose outcome is not known, oldest first.
  virtual Result<std::vector<OperationRecord>> OpenOperations(const Context& context,
                                                              const Uuid& incarnation) = 0;
  /// Notes the outcome; not synced, since storage tells it as well.
  virtual Status FinishOperation(const Context& context, const std::string& operation_id,
                                 uint64_t committed_version, uint64_t committed_rows) = 0;

  /// The row of an incarnation in any state, or its tombstone. kNotFound. For commit and recovery,
  /// which act for no principal.
  virtual Result<Whereabouts> FindIncarnation(const Context& context, const Uuid& incarnation) = 0;
};

/// Opens or makes the SQLite metastore at `path`: WAL, full sync, busy timeout 30 s, migrations in
/// one exclusive transaction. kUnsupported if its schema is newer than this lake.
Result<std::shared_ptr<Metastore>> OpenSqliteMetastore(const Context& context,
                                                       const std::string& path);

}  // namespace lake::catalog
