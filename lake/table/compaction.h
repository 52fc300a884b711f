#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/table/dataset.h"
#include "lake/table/transaction.h"

namespace lake::table {

/// Defaults are upstream's.
struct CompactionOptions {
  /// A fragment with fewer rows is joined with its neighbours; new ones get about this many, at
  /// most half as many more.
  uint64_t target_rows = 1024 * 1024;
  /// New files are ended at about this many bytes; fragments that have as many are not joined.
  std::optional<uint64_t> max_bytes;
  /// Fragments are rewritten for their deleted rows alone where these are more than
  /// `deletion_threshold` of all.
  bool materialize_deletions = true;
  double deletion_threshold = 0.1;
  /// Pages are copied undecoded where that gives files as good as written anew.
  bool copy_pages = true;
  /// Threads that rewrite; 0: as many as there are cores.
  size_t threads = 0;
};

/// Neighbouring fragments that become one group of new ones.
struct CompactionGroup {
  std::vector<Fragment> fragments;
  uint64_t physical_rows = 0;
  uint64_t deleted_rows = 0;
  /// What the manifest says of the files' sizes.
  uint64_t bytes = 0;
};

struct CompactionPlan {
  uint64_t read_version = 0;
  std::vector<CompactionGroup> groups;

  uint64_t num_rows() const;
  size_t num_fragments() const;
  uint64_t num_bytes() const;
};

/// Files for the rows of one group: as near to `target_rows` each as it can be.
uint64_t NumOutputs(uint64_t rows, uint64_t target_rows);

/// Decides what to rewrite: neighbouring small fragments together, fragments with many deleted rows
/// also alone, never fragments together of which an index covers only some. Nothing to do is an
/// empty plan. kUnsupported for a table that lake cannot rewrite, by name.
Result<CompactionPlan> PlanCompaction(const Context& context, const Dataset& dataset,
                                      const CompactionOptions& options);

struct CompactionProgress {
  uint64_t rows_done = 0;
  uint64_t rows_total = 0;
  uint64_t bytes_total = 0;
};

/// A group that was rewritten. Its new fragments carry no ids yet.
struct CompactedGroup {
  RewriteGroup group;
  std::vector<std::string> new_objects;
  uint64_t rows_written = 0;
  uint64_t bytes_written = 0;
  /// Files whose pages were copied.
  size_t files_copied = 0;
};

/// Writes the new files of all groups, several at once, within the memory budget of `context`. They
/// belong to no version until a commit names them. After an error nothing stays behind. `progress`
/// is called from several threads, one at a time.
Result<std::vector<CompactedGroup>> RunCompaction(
    const Context& context, const Dataset& dataset, const CompactionPlan& plan,
    const CompactionOptions& options,
    const std::function<void(const CompactionProgress&)>& progress = {});

/// Gives the new fragments of `groups` ids from `first_id` on, in order.
void AssignFragmentIds(uint64_t first_id, std::vector<CompactedGroup>* groups);

/// True if all that `group` was made from is still as it was.
bool IsCurrent(const RewriteGroup& group, const Manifest& newest);

}  // namespace lake::table
