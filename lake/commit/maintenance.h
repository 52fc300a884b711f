#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/commit/lakehouse.h"
#include "lake/table/cleanup.h"
#include "lake/table/clone.h"
#include "lake/table/compaction.h"
#include "lake/table/refs.h"
#include "lake/table/verify.h"

namespace lake::commit {

class LakehouseCore;

struct CompactOutcome {
  /// The version that stands now; the old one if there was nothing to do.
  uint64_t version = 0;
  bool changed = false;
  size_t fragments_before = 0;
  size_t fragments_after = 0;
  size_t groups = 0;
  /// Groups that another commit changed meanwhile: they stay as they are.
  size_t groups_given_up = 0;
  uint64_t rows = 0;
  uint64_t deleted_rows = 0;
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
  size_t files_copied = 0;
  /// Done before, under the same operation id: of the counts only `rows` is known, if that.
  bool replayed = false;
  /// Attempts that lost against another commit.
  int lost_attempts = 0;
};

struct CloneOptions {
  /// Copies all files, instead of naming the source's.
  bool deep = false;
  std::function<void(const table::CopyProgress&)> progress;
};

/// The upkeep of tables. Each change goes the way of every commit: the table's incarnation is
/// checked before it, and outcomes have three values. Thread-safe.
class Maintenance {
 public:
  explicit Maintenance(std::shared_ptr<LakehouseCore> core) : core_(std::move(core)) {}

  /// Rewrites small fragments and those with many deleted rows. What others commit meanwhile stays:
  /// groups that they changed are given up, the rest is committed. With an operation id, idempotent
  /// as Lakehouse::Append; kUnsupported with one on a branch. Where all groups are given up, the
  /// operation has not happened.
  Result<CompactOutcome> Compact(
      const Context& context, const OpenTable& table, const table::CompactionOptions& options,
      const std::function<void(const table::CompactionProgress&)>& progress = {},
      const OperationKey& operation = {});

  /// Removes old versions and leftovers of the table and its branches (DESIGN: version clean-up).
  /// Operations that have a record are resolved first; pins of clones that are gone are lifted.
  Result<table::CleanupReport> CleanUp(const Context& context, const OpenTable& table,
                                       table::CleanupOptions options);

  /// Looks for inconsistencies of the table; foreign FILE values (DESIGN: rule 1) of the newest
  /// version among them.
  Result<table::VerifyReport> Verify(const Context& context, const catalog::Principal& principal,
                                     const OpenTable& table, table::VerifyOptions options);

  /// Makes the content of an older version of the same line the newest one. An operation id as for
  /// Compact.
  Result<CommitOutcome> Restore(const Context& context, const OpenTable& table, uint64_t version,
                                const OperationKey& operation = {});

  Result<std::vector<table::Tag>> ListTags(const Context& context, const OpenTable& table);
  /// Names the version that `table` was opened at. kInvalidArgument for names that start "lake-",
  /// which are lake's own.
  Result<table::Tag> CreateTag(const Context& context, const OpenTable& table,
                               const std::string& name);
  Result<table::Tag> UpdateTag(const Context& context, const OpenTable& table,
                               const std::string& name);
  Status DeleteTag(const Context& context, const OpenTable& table, const std::string& name);

  Result<std::vector<table::Branch>> ListBranches(const Context& context, const OpenTable& table);
  /// Begins a branch at the version that `table` was opened at.
  Result<table::Branch> CreateBranch(const Context& context, const OpenTable& table,
                                     const std::string& name);
  Status DeleteBranch(const Context& context, const OpenTable& table, const std::string& name);

  /// Makes a table of the version that `table` was opened at. A shallow clone pins it: clean-up
  /// keeps the version and Drop refuses as long as the clone lives.
  Result<catalog::Entry> Clone(const Context& context, const OpenTable& table,
                               const catalog::QualifiedName& name, const CloneOptions& options);

 private:
  /// The id under which a change of `table` is done; kUnsupported on a branch.
  Result<OperationKey> KeyFor(const OpenTable& table, const OperationKey& operation) const;
  Result<CommitOutcome> CommitRestore(const Context& context, const OpenTable& table,
                                      uint64_t version, const OperationKey& operation,
                                      std::optional<uint64_t> replay_base);
  Status CheckBelongs(const Context& context, const OpenTable& table) const;

  const std::shared_ptr<LakehouseCore> core_;
};

/// The property of a shallow clone's row that names the incarnations whose files it reads.
inline constexpr char kCloneOfProperty[] = "lake.clone_of";

/// kConflict, naming it, if a clone that lives reads files of the table.
Status CheckNoClones(const Context& context, LakehouseCore* core, const catalog::Entry& entry);

}  // namespace lake::commit
