#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"
#include "lake/table/manifest.h"

namespace lake::table {

/// What a file in a table's folder is, by its key alone.
enum class FileKind {
  kManifest,
  kDetachedManifest,  ///< A version outside of the history.
  kVersionHint,
  kStaging,  ///< A manifest or other file on its way that never got its name.
  kTransaction,
  kData,
  kSidecar,  ///< Blobs of a data file.
  kDeletion,
  kIndex,
  kReferenceSet,  ///< The managed objects that a data file names.
  kReference,     ///< A tag or branch.
  kOther,         ///< Nothing that lake knows: never touched.
};

/// Such as "data file". Static storage.
std::string_view FileKindName(FileKind kind);

/// A file in a table's folder.
struct TableFile {
  storage::ObjectInfo info;
  FileKind kind = FileKind::kOther;
  /// The branch that it belongs to; nothing: the main line.
  std::optional<std::string> branch;
  /// What a version that needs it names, below the folder of its line: a data file's key for
  /// sidecars and reference sets too, `_indices/<uuid>` for what lies below it.
  std::string owner;
};

/// Tells what `info.key` is. `branches` helps where a branch's name looks like a folder of a table
/// ("dev/data" beside "dev").
TableFile Classify(storage::ObjectInfo info, const std::set<std::string>& branches);

/// Lists a table's folder with all its branches. Memory grows with the number of files.
Result<std::vector<TableFile>> ListTableFiles(const Context& context, storage::ObjectStore* store,
                                              const std::set<std::string>& branches);

/// What a version names, as TableFile::owner has it.
struct NamedFiles {
  /// In the folder of its own line.
  std::vector<std::string> own;
  /// In a base, whichever that is. Names of files are unique, so these keep files of this name
  /// wherever they lie.
  std::vector<std::string> based;
};

/// kCorrupt if the index section cannot be read.
Result<NamedFiles> FilesNamedBy(const Manifest& manifest);

}  // namespace lake::table
