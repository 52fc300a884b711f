#pragma once

#include "lake/base/context.h"
#include "lake/storage/object_store.h"

namespace lake::storage {

/// One page of the objects below the folder `root`, in byte order of their keys. Regular files
/// only: symbolic links, temporaries and names that are not UTF-8 are no objects. Folders without
/// objects do not show. Memory is bounded by the page and the depth, not by the number of files.
Result<ListPage> ListFolder(const Context& context, int root, const ListRequest& request);

}  // namespace lake::storage
