#pragma once

#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"

namespace lake::commit {

/// A data file that no retained version of any table names.
struct Leftover {
  std::string key;
  uint64_t size = 0;
  /// Changed less than an hour ago: a running writer may still own it.
  bool possibly_in_use = false;
};

struct LeftoverReport {
  std::vector<Leftover> leftovers;
  /// Tables of which a manifest cannot be read, with the reason: nothing is said about their files.
  std::vector<std::string> unreadable;
};

/// Looks through every dataset folder under `tables/`, known to the metastore or not. Reads only. A
/// file counts as named if any manifest of any table (main, branches, detached) has its file name,
/// so that clones keep what they share.
Result<LeftoverReport> FindLeftoverFiles(const Context& context, storage::ObjectStore* store);

}  // namespace lake::commit
