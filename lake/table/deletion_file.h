#pragma once

#include <cstdint>
#include <string>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"
#include "lake/table/deletion_vector.h"
#include "lake/table/manifest.h"

namespace lake::table {

/// Reads the deletion file of `fragment`, which has `physical_rows` rows; empty if it has none.
/// kCorrupt if it holds another number of rows than the manifest says.
Result<DeletionVector> ReadDeletionFile(const Context& context, storage::ObjectStore* store,
                                        const Fragment& fragment, uint64_t physical_rows);

/// The same for `file`, which lies at `key` of `store`: in the table's folder or in a base.
Result<DeletionVector> ReadDeletionFileAt(const Context& context, storage::ObjectStore* store,
                                          const std::string& key, const DeletionFile& file,
                                          uint64_t physical_rows);

/// Writes `rows`, all deleted rows of fragment `fragment_id`, into a new file (not synced) in the
/// form that upstream chooses by their number. `read_version` goes into its name. `key` receives
/// where it lies, also if it fails.
Result<DeletionFile> WriteDeletionFile(const Context& context, storage::ObjectStore* store,
                                       uint64_t fragment_id, uint64_t read_version,
                                       const DeletionVector& rows, std::string* key);

}  // namespace lake::table
