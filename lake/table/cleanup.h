#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"
#include "lake/table/refs.h"
#include "lake/table/table_files.h"

namespace lake::table {

inline constexpr int64_t kDayNanos = int64_t{24} * 3600 * 1'000'000'000;
/// Files that no version names are taken for a running writer's until they are as old as this:
/// upstream's rule.
inline constexpr int64_t kUnverifiedNanos = 7 * kDayNanos;

/// How far a clean-up is.
struct CleanupProgress {
  uint64_t files_done = 0;
  uint64_t files_total = 0;
  uint64_t bytes_done = 0;
};

/// Which versions go: those for which all of these hold (DESIGN: version clean-up). The newest one
/// of each line, tagged ones and those where a branch begins stay whatever this says.
struct CleanupOptions {
  /// Older than this when the clean-up began.
  int64_t older_than_nanos = 14 * kDayNanos;
  /// Superseded for as long as this: a reader that opened it when it was the newest has ended.
  int64_t superseded_for_nanos = int64_t{3600} * 1'000'000'000;
  /// Not among this many newest ones of its line.
  uint64_t keep_versions = 1;
  /// Older than the time in which operations are replayed.
  int64_t replay_retention_nanos = kDayNanos;
  /// Versions of the main line above this stay: a replay of an operation that is not resolved reads
  /// them.
  std::optional<uint64_t> replay_base;
  /// Files that no version names go whatever their age: only if nobody else writes to the table.
  bool delete_unverified = false;
  /// Only the report.
  bool dry_run = false;
  /// Asked before anything is removed; an error ends it.
  std::function<Status()> authority;
  std::function<void(const CleanupProgress&)> progress;
};

/// What became of a version, or would.
struct VersionFate {
  VersionRef version;
  int64_t timestamp_nanos = 0;
  bool removed = false;
  /// Why it stays; "" if it goes.
  std::string reason;
};

struct FileCount {
  uint64_t files = 0;
  uint64_t bytes = 0;
};

struct CleanupReport {
  bool dry_run = false;
  /// The age of versions was counted from here.
  int64_t started_nanos = 0;
  std::vector<VersionFate> versions;
  /// Removed files by kind, manifests included. In a dry run: those that would go.
  std::map<FileKind, FileCount> removed;
  /// Files that no version names, too young to be taken.
  FileCount kept_unverified;
  /// Files that lake does not know.
  FileCount kept_other;
  /// Bytes of everything in the table's folder before and after.
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
  /// Tags and branches that came up for a version after it was judged: it was put back.
  std::vector<VersionRef> restored;

  FileCount total_removed() const;
  size_t num_versions_removed() const;
};

/// Removes old versions of a table (of its branches, too) and the files that only they named, and
/// leftovers. Manifests go first, then files; storage's listing is the authority. Where something
/// that must be known cannot be read, nothing is removed: kCorrupt or kIo. kUnsupported for tables
/// with flags that lake does not write. Other programs may write meanwhile.
Result<CleanupReport> CleanUp(const Context& context,
                              const std::shared_ptr<storage::ObjectStore>& store,
                              const CleanupOptions& options);

}  // namespace lake::table
