#pragma once

#include <cstdint>
#include <string>

#include "lake/table/commit.h"
#include "lake/table/manifest_internal.h"

namespace lake::table {

/// The bytes of the manifest of version 1 that `transaction` (a kCreate) makes. `transaction_bytes`
/// is its serialized message, `now_nanos` the time that the version carries.
Result<std::string> BuildCreatedManifest(const Transaction& transaction,
                                         const std::string& transaction_bytes, int64_t now_nanos);

/// The bytes of the manifest behind `newest` that `transaction` (a kAppend) makes. All that
/// `newest` holds and an append does not change is carried over, unknown fields and the index
/// section included.
Result<std::string> BuildAppendedManifest(const ManifestFile& newest,
                                          const Transaction& transaction,
                                          const std::string& transaction_bytes, int64_t now_nanos);

/// OK if the files of `fragments` can become part of a version with `newest`'s schema and file
/// version; else kUnsupported (file version) or kInvalidArgument (columns).
Status CheckFragmentsFit(const ManifestFile& newest, const std::vector<Fragment>& fragments);

}  // namespace lake::table
