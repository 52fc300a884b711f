#include "lake/table/foreign_sync.h"

#include <algorithm>
#include <unordered_set>

#include "lake/table/blob_location.h"
#include "lake/table/manifest_internal.h"

namespace lake::table {

namespace {

// How far to look for the last version that lake wrote. Behind it everything is synced: that costs
// a call per file, once.
constexpr int kMaxStepsBack = 16;

bool WrittenByLake(const Manifest& manifest) {
  return FileOf(manifest).message().writer_version().library() == kWriterLibrary;
}

std::vector<std::string> KeysOf(const Manifest& manifest) {
  std::vector<std::string> keys;
  for (const Fragment& fragment : manifest.fragments()) {
    for (const DataFile& file : fragment.files) {
      if (!file.base_id) keys.push_back(DataFileKey(file));
    }
    if (fragment.deletion_file && !fragment.deletion_file->base_id) {
      keys.push_back(DeletionFileKey(fragment.id, *fragment.deletion_file));
    }
  }
  return keys;
}

/// Where the blob files of data files lie that are not in `synced`.
std::vector<std::string> BlobFolders(const Manifest& manifest,
                                     const std::unordered_set<std::string>& synced) {
  std::vector<std::string> folders;
  for (const Fragment& fragment : manifest.fragments()) {
    for (const DataFile& file : fragment.files) {
      if (!file.base_id && !synced.contains(DataFileKey(file))) {
        folders.push_back(BlobFolder(file.path));
      }
    }
  }
  return folders;
}

/// The files of the last version before `newest` that lake wrote; empty if none is near.
std::unordered_set<std::string> SyncedKeys(const Context& context, storage::ObjectStore* store,
                                           const VersionList& list, uint64_t newest) {
  auto version = std::lower_bound(list.versions.begin(), list.versions.end(), newest);
  for (int step = 0; step < kMaxStepsBack && version != list.versions.begin(); ++step) {
    --version;
    Result<std::shared_ptr<const Manifest>> manifest =
        ReadManifest(context, store, *version, list.naming);
    if (!manifest.ok()) break;
    if (WrittenByLake(**manifest)) {
      std::vector<std::string> keys = KeysOf(**manifest);
      return {keys.begin(), keys.end()};
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> ForeignKeysToSync(const Context& context,
                                                   storage::ObjectStore* store,
                                                   const VersionList& versions,
                                                   const Manifest& newest) {
  if (WrittenByLake(newest)) return std::vector<std::string>();
  const std::unordered_set<std::string> synced =
      SyncedKeys(context, store, versions, newest.version());
  std::vector<std::string> keys = KeysOf(newest);
  std::erase_if(keys, [&](const std::string& key) { return synced.contains(key); });
  const auto& fields = newest.schema().fields;
  if (std::any_of(fields.begin(), fields.end(), format::HoldsBlobs)) {
    for (const std::string& folder : BlobFolders(newest, synced)) {
      ARROW_ASSIGN_OR_RAISE(std::vector<storage::ObjectInfo> files,
                            storage::ListAll(store, context, folder, /*keys_only=*/true));
      for (storage::ObjectInfo& file : files) keys.push_back(std::move(file.key));
    }
  }
  keys.push_back(ManifestKey(newest.version(), versions.naming));
  return keys;
}

}  // namespace lake::table
