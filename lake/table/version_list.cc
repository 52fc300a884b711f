#include "lake/table/version_list.h"

#include <algorithm>

#include <arrow/buffer.h>

namespace lake::table {

namespace {

constexpr char kFolder[] = "_versions/";
// Protobuf's own bound for a message, with room for the sections.
constexpr uint64_t kMaxManifestSize = 4ull << 30;

}  // namespace

bool VersionList::Contains(uint64_t version) const {
  return std::binary_search(versions.begin(), versions.end(), version);
}

Result<VersionList> ListVersions(const Context& context, storage::ObjectStore* store) {
  ARROW_ASSIGN_OR_RAISE(std::vector<storage::ObjectInfo> objects,
                        storage::ListAll(store, context, kFolder));
  VersionList list;
  for (const storage::ObjectInfo& object : objects) {
    std::string_view name(object.key);
    name.remove_prefix(sizeof(kFolder) - 1);
    std::optional<ParsedManifestName> parsed = ParseManifestName(name);
    if (!parsed) continue;
    if (!list.empty() && parsed->naming != list.naming) {
      return Error(ErrorCode::kUnsupported,
                   "table mixes both ways of naming manifests; finish its migration first: {}",
                   store->description());
    }
    list.naming = parsed->naming;
    list.versions.push_back(parsed->version);
  }
  std::sort(list.versions.begin(), list.versions.end());
  return list;
}

std::string ManifestKey(uint64_t version, ManifestNaming naming) {
  return kFolder + ManifestName(version, naming);
}

Result<std::shared_ptr<const Manifest>> ReadManifest(const Context& context,
                                                     storage::ObjectStore* store, uint64_t version,
                                                     ManifestNaming naming) {
  const std::string key = ManifestKey(version, naming);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                        store->GetAll(context, key, kMaxManifestSize));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const Manifest> manifest, Manifest::Decode(*bytes, key));
  if (manifest->version() != version) {
    return Error(ErrorCode::kCorrupt, "manifest holds another version than its name says: {}: {}",
                 key, manifest->version());
  }
  return manifest;
}

}  // namespace lake::table
