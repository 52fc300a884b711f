#include "lake/table/base_stores.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "lake/table/manifest_internal.h"

namespace lake::table {

namespace {

constexpr std::string_view kFileScheme = "file://";

/// A path without scheme and slashes at its end, to compare with a store's description.
std::string_view Plain(std::string_view path) {
  if (path.starts_with(kFileScheme)) path.remove_prefix(kFileScheme.size());
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

}  // namespace

BaseStores::BaseStores(std::shared_ptr<storage::ObjectStore> own,
                       std::shared_ptr<storage::ObjectStore> root, std::vector<BasePath> bases,
                       BaseOpener opener)
    : own_(std::move(own)),
      root_(std::move(root)),
      bases_(std::move(bases)),
      opener_(std::move(opener)) {}

Result<BaseStores::Place> BaseStores::Find(const Context& context, const DataFile& file) {
  return FindKey(context, file.base_id, DataFileKey(file));
}

Result<BaseStores::Place> BaseStores::Find(const Context& context, uint64_t fragment_id,
                                           const DeletionFile& file) {
  return FindKey(context, file.base_id, DeletionFileKey(fragment_id, file));
}

Result<BaseStores::Place> BaseStores::FindKey(const Context& context,
                                              std::optional<uint32_t> base_id,
                                              const std::string& own_key) {
  if (!base_id) return Place{own_, own_key};
  return InBase(context, *base_id, own_key);
}

Result<const BasePath*> BaseStores::FindBase(uint32_t base_id, const std::string& what) const {
  auto base = std::find_if(bases_.begin(), bases_.end(),
                           [&](const BasePath& other) { return other.id == base_id; });
  if (base != bases_.end()) return &*base;
  return Error(ErrorCode::kCorrupt, "file lies in a base that the manifest lacks: {}: base {}",
               what, base_id);
}

Result<std::shared_ptr<storage::ObjectStore>> BaseStores::OpenBase(const Context& context,
                                                                   uint32_t base_id,
                                                                   const std::string& what) {
  ARROW_ASSIGN_OR_RAISE(const BasePath* base, FindBase(base_id, what));
  if (base->is_dataset_root) {
    return Error(ErrorCode::kCorrupt,
                 "a blob lies in a base for the files of tables: {}: base {}, {}", what, base_id,
                 base->path);
  }
  return Open(context, *base);
}

Result<BaseStores::Place> BaseStores::InBase(const Context& context, uint32_t base_id,
                                             const std::string& own_key) {
  ARROW_ASSIGN_OR_RAISE(const BasePath* base, FindBase(base_id, own_key));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<storage::ObjectStore> store, Open(context, *base));
  // A base that is no dataset's root holds its files without the folders around them.
  if (!base->is_dataset_root) return Place{store, own_key.substr(own_key.find('/') + 1)};
  return Place{store, own_key};
}

Result<std::shared_ptr<storage::ObjectStore>> BaseStores::Open(const Context& context,
                                                               const BasePath& base) {
  MutexLock lock(&mutex_);
  auto found = stores_.find(base.id);
  if (found != stores_.end()) return found->second;
  const std::string_view path = Plain(base.path);
  const std::string_view root = Plain(root_->description());
  std::shared_ptr<storage::ObjectStore> store;
  if (path == root) {
    store = root_;
  } else if (path.starts_with(root) && path.substr(root.size()).starts_with("/tree/")) {
    std::string folder(path.substr(root.size() + 1));
    ARROW_RETURN_NOT_OK(storage::CheckKey(folder));
    store = storage::MakePrefixStore(root_, std::move(folder));
  } else if (opener_) {
    ARROW_ASSIGN_OR_RAISE(store, opener_(context, std::string(path)));
  } else {
    return Error(ErrorCode::kUnsupported,
                 "files of the table lie in a folder outside of it, which is not opened: {}: {}",
                 own_->description(), base.path);
  }
  stores_[base.id] = store;
  return store;
}

}  // namespace lake::table
