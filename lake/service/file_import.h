#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lake/base/context.h"
#include "lake/catalog/types.h"
#include "lake/commit/lakehouse.h"

namespace lake::service {

/// How far an import is; files that are there already count as done. A plain value.
struct FileImportProgress {
  uint64_t files_done = 0;
  uint64_t files_total = 0;
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
};

struct FileImportRequest {
  catalog::QualifiedName table;
  std::string folder;

  /// A commit is made when one of these is reached.
  uint64_t commit_files = 1000;
  uint64_t commit_bytes = 4ull << 30;
  int64_t commit_nanos = 60'000'000'000;

  /// May be empty. Called from one thread at a time.
  std::function<void(const FileImportProgress&)> progress = {};
  /// Told about each thing that was not imported: its path relative to the folder (bytes that are
  /// not UTF-8 as \xNN) and why. Called from one thread at a time. May be empty.
  std::function<void(const std::string& path, const Status& reason)> problem = {};
};

struct FileImportResult {
  uint64_t files_imported = 0;
  uint64_t bytes_imported = 0;
  /// Files that were there already.
  uint64_t files_unchanged = 0;
  /// Links, sockets, devices, FIFOs, names that are not UTF-8, unreadable or changing files.
  uint64_t problems = 0;
  uint64_t commits = 0;
  /// The version of the last commit; 0 if there was none.
  uint64_t version = 0;
};

/// Imports the regular files below a folder into the stage, and a row for each into the table, in
/// the byte order of their paths.
///
/// Of the table's columns these are filled by name: `path` (relative, with '/'), `kind` (first part
/// of the content type), `size`, `modified` (microseconds, UTC), `content` (FILE); those that the
/// table lacks are skipped, all others must be nullable. A file whose path, size and time are in
/// the table already is skipped. What cannot be imported is reported to `problem` and counted, and
/// the rest goes on; an error of the table, the stage or the folder itself ends the import, with
/// what was committed kept. kInvalidArgument if the folder holds the data folder or lies in it.
Result<FileImportResult> ImportFiles(const Context& context, commit::Lakehouse* lakehouse,
                                     const catalog::Principal& principal,
                                     const FileImportRequest& request);

}  // namespace lake::service
