#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/catalog/types.h"
#include "lake/commit/lakehouse.h"
#include "lake/format/version.h"

namespace lake::service {

/// How far an ingest is. A plain value.
struct IngestProgress {
  uint64_t files_done = 0;
  uint64_t files_total = 0;
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
  uint64_t rows = 0;
};

struct IngestRequest {
  catalog::QualifiedName table;
  /// Regular files, in this order: Parquet, Arrow IPC files and streams (told by their first bytes)
  /// and CSV
  /// (`.csv`, `.tsv`, and any other text).
  std::vector<std::string> paths;
  /// Make the table, with the columns of the first source; else it must exist.
  bool create = false;
  /// Of a table that is made: 2.1 or 2.2. Nothing: 2.2.
  std::optional<format::FileVersion> file_version;
  /// UUIDv7 text; empty: a new one.
  std::string operation_id;
  uint64_t max_buffered_bytes = 256ull << 20;
  /// Called now and then from the calling thread. May be empty.
  std::function<void(const IngestProgress&)> progress = {};
};

struct IngestResult {
  commit::CommitOutcome outcome;
  std::string operation_id;
};

/// Appends the rows of all sources to a table in one commit, or creates it with them.
///
/// Columns are matched by name, byte for byte. A column whose type differs is converted if each
/// value keeps its exact meaning; else the error names source, column and row. A column that the
/// source lacks becomes NULL where the table allows it; one that the table lacks, and a FILE column
/// on either side, is refused by name. All sources are opened and their columns checked before
/// anything is written. Memory is bounded.
///
/// The operation is idempotent over the table's name and the bytes of the sources in order: the
/// same again is replayed, another input under the same id is kInvalidArgument. An unknown outcome
/// names the operation id.
Result<IngestResult> Ingest(const Context& context, commit::Lakehouse* lakehouse,
                            const catalog::Principal& principal, const IngestRequest& request);

}  // namespace lake::service
