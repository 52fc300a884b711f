#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"
#include "lake/table/base_stores.h"

namespace lake::table {

enum class Severity {
  kInfo,     ///< Nothing is wrong; something can be tidied up.
  kWarning,  ///< All rows can be read, but something is not as it should be.
  kError,    ///< Rows cannot be read, or may be wrong.
};

/// "info", "warning" or "error". Static storage.
std::string_view SeverityName(Severity severity);

struct Finding {
  Severity severity = Severity::kInfo;
  /// What it is about, such as "data/x.lance" or "version 3, fragment 2".
  std::string object;
  std::string what;
  std::string advice;
};

struct VerifyProgress {
  uint64_t versions_done = 0;
  uint64_t versions_total = 0;
  uint64_t bytes_done = 0;
};

struct VerifyOptions {
  /// Only the newest version of each line.
  bool newest_only = false;
  /// Reads and decodes every page of every data file that a looked-at version names.
  bool read_data = false;
  /// Looks at branches, too.
  bool branches = true;
  BaseOpener open_base;
  std::function<void(const VerifyProgress&)> progress;
};

struct VerifyReport {
  std::vector<Finding> findings;
  uint64_t versions = 0;
  uint64_t data_files = 0;
  uint64_t rows_read = 0;

  size_t Count(Severity severity) const;
};

/// Walks a table and names every inconsistency: of manifests, data files, deletion files, row ids,
/// indices, tags and branches, and leftovers. Reads only. An error only where the walk itself fails
/// (cancelled, no table, a listing that fails): whatever is wrong with the table is a finding.
Result<VerifyReport> Verify(const Context& context,
                            const std::shared_ptr<storage::ObjectStore>& store,
                            const VerifyOptions& options);

}  // namespace lake::table
