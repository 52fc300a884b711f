#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/file_writer.h"
#include "lake/format/schema.h"
#include "lake/format/version.h"
#include "lake/storage/object_store.h"

namespace lake::format {

/// A file whose pages are copied.
struct PageCopySource {
  std::shared_ptr<storage::ObjectStore> store;
  std::string key;
  /// Spares a Head where it is known.
  std::optional<uint64_t> size_bytes;
  /// The column of the file for each leaf of the new file's schema, in pre-order.
  std::vector<uint32_t> columns;
};

/// Joins files without decoding them: the new file has the pages of all sources, in their order.
/// Nothing if the pages are no good for it: of another version or a kind that names places in its
/// file, or so small that a file written anew is scanned faster. Nothing was written then. The new
/// file `key` of `store` is visible but not synced, like a FileWriter's.
Result<std::optional<WrittenFile>> CopyPages(const Context& context,
                                             const std::vector<PageCopySource>& sources,
                                             const Schema& schema, FileVersion version,
                                             const std::shared_ptr<storage::ObjectStore>& store,
                                             const std::string& key);

}  // namespace lake::format
