#pragma once

#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"
#include "lake/table/transaction.h"

namespace lake::commit {

/// The third step of the pipeline: writes the reference sets of new data files and gives their
/// keys, which are synced together with the files, before the manifest. Reference sets come with
/// garbage collection, which is not part of this version: it gives no key.
Result<std::vector<std::string>> WriteReferenceSets(const Context& context,
                                                    storage::ObjectStore* store,
                                                    const table::Transaction& transaction);

}  // namespace lake::commit
