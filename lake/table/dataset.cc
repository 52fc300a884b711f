#include "lake/table/dataset.h"

#include <algorithm>

#include <arrow/type.h>

#include "lake/table/dataset_impl.h"
#include "lake/table/refs.h"
#include "lake/table/version_list.h"

namespace lake::table {

namespace {

// A version that was listed can be gone before it is read: then a newer one exists.
constexpr int kMaxOpenAttempts = 5;

Result<std::shared_ptr<const Manifest>> OpenAsOf(const Context& context,
                                                 storage::ObjectStore* store,
                                                 const VersionList& list, int64_t as_of_nanos) {
  std::shared_ptr<const Manifest> oldest;
  for (auto version = list.versions.rbegin(); version != list.versions.rend(); ++version) {
    Result<std::shared_ptr<const Manifest>> manifest =
        ReadManifest(context, store, *version, list.naming);
    if (!manifest.ok()) {
      // A clean-up removes the oldest versions first.
      if (CodeOf(manifest.status()) == ErrorCode::kNotFound) break;
      return manifest;
    }
    if ((*manifest)->timestamp_nanos() <= as_of_nanos) return manifest;
    oldest = *std::move(manifest);
  }
  if (oldest == nullptr) {
    return Error(ErrorCode::kNotFound, "table has no version: {}", store->description());
  }
  return Error(
      ErrorCode::kNotFound,
      "table has no version as old as the time asked for; the oldest is version {} of {} ns: "
      "{}: {} ns",
      oldest->version(), oldest->timestamp_nanos(), store->description(), as_of_nanos);
}

Result<std::shared_ptr<const Manifest>> OpenManifest(const Context& context,
                                                     storage::ObjectStore* store,
                                                     const VersionList& list,
                                                     const OpenOptions& options) {
  if (options.as_of_nanos) return OpenAsOf(context, store, list, *options.as_of_nanos);
  const uint64_t version = options.version.value_or(list.newest());
  if (!list.Contains(version)) {
    return Error(ErrorCode::kNotFound, "table has no such version; it has {} to {}: {}: version {}",
                 list.versions.front(), list.newest(), store->description(), version);
  }
  return ReadManifestCached(context, store, version, list.naming);
}

}  // namespace

Result<std::shared_ptr<Dataset>> Dataset::Open(const Context& context,
                                               std::shared_ptr<storage::ObjectStore> store,
                                               const OpenOptions& options) {
  const int ways =
      (options.version ? 1 : 0) + (options.as_of_nanos ? 1 : 0) + (options.tag ? 1 : 0);
  if (ways > 1 || (options.tag && options.branch)) {
    return Error(ErrorCode::kInvalidArgument,
                 "a table is opened by version, by time or by tag, and a tag knows its branch: {}",
                 store->description());
  }
  if (options.tag) {
    ARROW_ASSIGN_OR_RAISE(Tag tag, ReadTag(context, store.get(), *options.tag));
    OpenOptions target = options;
    target.tag.reset();
    target.version = tag.target.version;
    target.branch = tag.target.branch;
    return Open(context, std::move(store), target);
  }
  const std::shared_ptr<storage::ObjectStore> root = store;
  if (options.branch) {
    ARROW_RETURN_NOT_OK(ReadBranch(context, root.get(), *options.branch).status());
    store = LineStore(root, options.branch);
  }
  for (int attempt = 1;; ++attempt) {
    ARROW_ASSIGN_OR_RAISE(VersionList list, ListVersions(context, store.get()));
    if (list.empty()) {
      return Error(ErrorCode::kNotFound, "folder holds no Lance table: {}", store->description());
    }
    Result<std::shared_ptr<const Manifest>> manifest =
        OpenManifest(context, store.get(), list, options);
    if (!manifest.ok()) {
      const bool gone = CodeOf(manifest.status()) == ErrorCode::kNotFound;
      if (gone && !options.version && !options.as_of_nanos && attempt < kMaxOpenAttempts) continue;
      return manifest.status();
    }
    ARROW_RETURN_NOT_OK(CheckReadable(**manifest, store->description()));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Schema> schema,
                          format::ToArrow((*manifest)->schema()));
    return std::make_shared<DatasetImpl>(std::move(store), *std::move(manifest), list.naming,
                                         std::move(schema), root, options.branch,
                                         options.open_base);
  }
}

DatasetImpl::DatasetImpl(std::shared_ptr<storage::ObjectStore> store,
                         std::shared_ptr<const Manifest> manifest, ManifestNaming naming,
                         std::shared_ptr<arrow::Schema> schema,
                         std::shared_ptr<storage::ObjectStore> root,
                         std::optional<std::string> branch, BaseOpener open_base)
    : store_(std::move(store)),
      root_(root == nullptr ? store_ : std::move(root)),
      branch_(std::move(branch)),
      manifest_(std::move(manifest)),
      open_base_(std::move(open_base)),
      bases_(std::make_shared<BaseStores>(store_, root_, manifest_->base_paths(), open_base_)),
      naming_(naming),
      schema_(std::move(schema)),
      source_(std::make_shared<FragmentSource>(bases_, manifest_)) {}

Result<std::shared_ptr<Dataset>> DatasetImpl::Reopen(const Context& context,
                                                     std::optional<uint64_t> version) const {
  OpenOptions options;
  options.version = version;
  options.branch = branch_;
  options.open_base = open_base_;
  return Open(context, root_, options);
}

Result<uint64_t> DatasetImpl::CountRows(const Context& context) const {
  uint64_t rows = 0;
  for (const Fragment& fragment : manifest_->fragments()) {
    ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows, source_->PhysicalRows(context, fragment));
    uint64_t deleted = 0;
    if (fragment.deletion_file) {
      deleted = fragment.deletion_file->num_deleted_rows;
      if (deleted == 0) {
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                              source_->Deletions(context, fragment));
        deleted = deletions->num_deleted();
      }
    }
    // Rows per fragment are below 2^33 and fragments below 2^32: the sum cannot overflow.
    rows += physical_rows - std::min(deleted, physical_rows);
  }
  return rows;
}

Result<std::vector<VersionInfo>> DatasetImpl::Versions(const Context& context) const {
  ARROW_ASSIGN_OR_RAISE(VersionList list, ListVersions(context, store_.get()));
  return ReadVersions(context, store_.get(), list);
}

Result<const Fragment*> DatasetImpl::FragmentById(uint64_t id) const {
  const Fragment* fragment = FindFragment(*manifest_, id);
  if (fragment == nullptr) {
    return Error(ErrorCode::kNotFound, "row address names no fragment of the version: fragment {}",
                 id);
  }
  return fragment;
}

Result<const format::Field*> FindColumn(const format::Schema& schema, const std::string& name) {
  const format::Field* field = schema.Find(name);
  if (field == nullptr) {
    return Error(ErrorCode::kNotFound, "table has no such column: \"{}\"", name);
  }
  return field;
}

}  // namespace lake::table
