#include "lake/table/version_list.h"

#include <algorithm>

#include <arrow/buffer.h>

#include "lake/base/thread_pool.h"
#include "lake/table/table_cache.h"
#include "lake/table/transaction_internal.h"

namespace lake::table {

namespace {

constexpr char kFolder[] = "_versions/";

}  // namespace

bool VersionList::Contains(uint64_t version) const {
  return std::binary_search(versions.begin(), versions.end(), version);
}

Result<VersionList> ListVersions(const Context& context, storage::ObjectStore* store) {
  ARROW_ASSIGN_OR_RAISE(std::vector<storage::ObjectInfo> objects,
                        storage::ListAll(store, context, kFolder, /*keys_only=*/true));
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

Result<std::shared_ptr<const Manifest>> ReadManifestCached(const Context& context,
                                                           storage::ObjectStore* store,
                                                           uint64_t version,
                                                           ManifestNaming naming) {
  const std::string identity = store->identity();
  if (identity.empty()) return ReadManifest(context, store, version, naming);
  ARROW_ASSIGN_OR_RAISE(const storage::ObjectInfo info,
                        store->Head(context, ManifestKey(version, naming)));
  TableCache* const cache = TableCache::Process();
  if (auto manifest = cache->FindManifest(identity, info)) return manifest;
  ARROW_ASSIGN_OR_RAISE(auto manifest, ReadManifest(context, store, version, naming));
  cache->PutManifest(identity, info, manifest);
  return manifest;
}

Status CheckNewestWritable(const Context& context, storage::ObjectStore* store) {
  ARROW_ASSIGN_OR_RAISE(const VersionList versions, ListVersions(context, store));
  if (versions.empty()) return Status::OK();
  const Result<std::shared_ptr<const Manifest>> newest =
      ReadManifestCached(context, store, versions.newest(), versions.naming);
  if (!newest.ok()) {
    return CodeOf(newest.status()) == ErrorCode::kCorrupt ? Status::OK() : newest.status();
  }
  return CheckWritable(**newest, store->description());
}

uint64_t KnownRows(const Manifest& manifest) {
  uint64_t rows = 0;
  for (const Fragment& fragment : manifest.fragments()) {
    rows += fragment.physical_rows;
    if (fragment.deletion_file) {
      rows -= std::min(fragment.physical_rows, fragment.deletion_file->num_deleted_rows);
    }
  }
  return rows;
}

Result<std::vector<VersionInfo>> ReadVersions(const Context& context, storage::ObjectStore* store,
                                              const VersionList& list) {
  std::vector<VersionInfo> infos(list.versions.size());
  auto read = [&](size_t i) -> Status {
    Result<std::shared_ptr<const Manifest>> manifest =
        ReadManifest(context, store, list.versions[i], list.naming);
    if (!manifest.ok()) {
      // Removed by a clean-up since the listing: it stays version 0 and is dropped below.
      return CodeOf(manifest.status()) == ErrorCode::kNotFound ? Status::OK() : manifest.status();
    }
    Result<pb::Transaction> transaction = ReadTransaction(context, store, FileOf(**manifest));
    infos[i] = {
        .version = (*manifest)->version(),
        .timestamp_nanos = (*manifest)->timestamp_nanos(),
        .num_rows = KnownRows(**manifest),
        .operation = std::string(transaction.ok() ? OperationName(*transaction) : "unknown")};
    return Status::OK();
  };
  ARROW_RETURN_NOT_OK(ParallelFor(IoThreadPool(), infos.size(), read));
  std::erase_if(infos, [](const VersionInfo& info) { return info.version == 0; });
  return infos;
}

}  // namespace lake::table
