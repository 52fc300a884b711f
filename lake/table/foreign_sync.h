#pragma once

#include "lake/table/commit.h"
#include "lake/table/version_list.h"

namespace lake::table {

/// Keys to sync before a commit goes on top of `newest`, if another program wrote it: programs of
/// upstream do not sync what they write. They are the files that `newest` names and the last
/// version written by lake does not, and the manifest itself. None if lake wrote `newest`.
Result<std::vector<std::string>> ForeignKeysToSync(const Context& context,
                                                   storage::ObjectStore* store,
                                                   const VersionList& versions,
                                                   const Manifest& newest);

}  // namespace lake::table
