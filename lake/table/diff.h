#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/table/dataset.h"

namespace lake::table {

/// A column as it was and as it is; nothing on the side where it is not.
struct ColumnChange {
  std::string name;
  std::optional<std::string> before;
  std::optional<std::string> after;
};

/// A fragment with other deleted rows or other files than before.
struct FragmentChange {
  uint64_t id = 0;
  uint64_t rows_deleted = 0;
  bool files_changed = false;
};

/// A key of config or metadata; nothing on the side where it is not.
struct ValueChange {
  std::string key;
  std::optional<std::string> before;
  std::optional<std::string> after;
};

/// What lies between two versions, as their manifests tell it: no data file is read.
struct VersionDiff {
  uint64_t from_version = 0;
  uint64_t to_version = 0;
  uint64_t rows_before = 0;
  uint64_t rows_after = 0;
  std::vector<uint64_t> fragments_added;
  std::vector<uint64_t> fragments_removed;
  std::vector<FragmentChange> fragments_changed;
  uint64_t rows_added = 0;    ///< In fragments that were added.
  uint64_t rows_removed = 0;  ///< In fragments that were removed, and deleted in others.
  uint64_t bytes_added = 0;   ///< Of data files that only the later version names.
  uint64_t bytes_removed = 0;
  std::vector<ColumnChange> columns;
  std::vector<ValueChange> config;
  std::vector<ValueChange> table_metadata;
  /// The commits in between, oldest first, the later version's included. Fewer where versions were
  /// cleaned up. Empty if `to` is the older one, or on another branch.
  std::vector<VersionInfo> commits;

  bool empty() const;
};

/// Compares two versions of one table. A rewrite (compaction) counts as fragments removed and
/// added.
Result<VersionDiff> Diff(const Context& context, const Dataset& from, const Dataset& to);

}  // namespace lake::table
