#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lake/service/workspace.h"

namespace lake::service {

/// What `lake selftest` found out about a data folder.
struct SelftestReport {
  struct Check {
    std::string name;
    bool passed = false;
    /// What was seen, or why it failed.
    std::string detail;
  };
  std::vector<Check> checks;
  /// Data files that no version names: what a killed writer left behind. Not a failure.
  std::vector<std::string> leftovers;

  bool passed() const;
};

/// Looks at everything that can be looked at without changing data: metastore, stage, SQL engine,
/// and each table's newest version, its row count, and its first and last row. A failed check does
/// not stop the others. An error is returned only when the folder cannot be looked at at all, or on
/// cancellation.
Result<SelftestReport> RunSelftest(const Context& context, Workspace* workspace);

}  // namespace lake::service
