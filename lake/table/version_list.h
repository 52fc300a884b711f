#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"
#include "lake/table/dataset.h"
#include "lake/table/manifest.h"

namespace lake::table {

/// The retained versions of a table, as a listing of `_versions/` tells them. Numbers may have
/// gaps.
struct VersionList {
  ManifestNaming naming = ManifestNaming::kV2;
  /// Ascending.
  std::vector<uint64_t> versions;

  bool empty() const { return versions.empty(); }
  /// REQUIRES: !empty().
  uint64_t newest() const { return versions.back(); }
  bool Contains(uint64_t version) const;
};

/// Lists the versions in a table's folder; none is no error. Names that are not exactly those of a
/// manifest are passed over. kUnsupported if both namings occur, since two manifests could then
/// claim one version.
Result<VersionList> ListVersions(const Context& context, storage::ObjectStore* store);

/// The bytes of the largest manifest file that is read: protobuf's own bound for a message, with
/// room for the sections.
inline constexpr uint64_t kMaxManifestSize = 4ull << 30;

/// The key of a version's manifest.
std::string ManifestKey(uint64_t version, ManifestNaming naming);

/// Reads the manifest of `version`; kNotFound if it is not there, kCorrupt if it is of another
/// version.
Result<std::shared_ptr<const Manifest>> ReadManifest(const Context& context,
                                                     storage::ObjectStore* store, uint64_t version,
                                                     ManifestNaming naming);

/// The same, from TableCache if this process has read that very object before. Costs a Head.
Result<std::shared_ptr<const Manifest>> ReadManifestCached(const Context& context,
                                                           storage::ObjectStore* store,
                                                           uint64_t version, ManifestNaming naming);

/// CheckWritable of the newest version of the line that `store` is rooted at: whether tags,
/// branches and other files that stand beside versions may be changed. OK where the line has no
/// version, or its newest cannot be decoded.
Status CheckNewestWritable(const Context& context, storage::ObjectStore* store);

/// What each of the listed versions is, oldest first. One that was removed since is left out.
Result<std::vector<VersionInfo>> ReadVersions(const Context& context, storage::ObjectStore* store,
                                              const VersionList& list);

}  // namespace lake::table
