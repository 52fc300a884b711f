#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lake/base/context.h"
#include "lake/commit/lakehouse.h"
#include "lake/objects/stage.h"

namespace lake::service {

/// How far a verification is. A plain value.
struct FileVerifyProgress {
  uint64_t values_done = 0;
  uint64_t values_total = 0;  ///< rows × FILE columns: an upper bound
  uint64_t bytes_done = 0;
};

struct FileVerifyFailure {
  std::string column;
  /// Where the row lies in the table: fragment id in the high 32 bits, row in the low ones.
  uint64_t row_address = 0;
  objects::DataLocation location;
  Status reason;
};

struct FileVerifyOptions {
  /// Both may be empty. Called from one thread at a time.
  std::function<void(const FileVerifyProgress&)> progress = {};
  std::function<void(const FileVerifyFailure&)> failure = {};
};

struct FileVerifyResult {
  uint64_t values = 0;
  uint64_t null_values = 0;
  uint64_t bytes = 0;
  uint64_t failures = 0;
};

/// Opens every FILE value of a table and reads it to its end, verified. Values that fail (damaged,
/// missing, outside the stage) are reported to `failure` and counted; only what keeps the table
/// itself from being read is an error. kInvalidArgument if the table has no FILE column.
Result<FileVerifyResult> VerifyFiles(const Context& context, objects::Stage* stage,
                                     const commit::OpenTable& table,
                                     const FileVerifyOptions& options);

}  // namespace lake::service
