#include "lake/table/table_files.h"

#include <array>

#include "lake/base/uuid.h"
#include "lake/format/parse_message_internal.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/transaction_internal.h"

namespace lake::table {

namespace {

constexpr std::string_view kTree = "tree/";

/// True if the last part of `key` is one of a store's or of upstream's unpublished files.
bool IsTemporary(std::string_view name) {
  return name.starts_with(".tmp") || name.find('#') != std::string_view::npos;
}

FileKind KindOfVersionFile(std::string_view name) {
  if (name == "latest_version_hint.json") return FileKind::kVersionHint;
  if (IsTemporary(name)) return FileKind::kStaging;
  if (ParseManifestName(name)) return FileKind::kManifest;
  if (name.starts_with('d') && name.ends_with(".manifest")) return FileKind::kDetachedManifest;
  // "<version>.manifest-<uuid>": staged by an external manifest store.
  if (name.find(".manifest-") != std::string_view::npos) return FileKind::kStaging;
  return FileKind::kOther;
}

struct Kind {
  FileKind kind = FileKind::kOther;
  std::string owner;
};

/// `key` is below the folder of one line of versions.
Kind KindOf(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view folder = key.substr(0, slash);
  const std::string_view rest = key.substr(slash + 1);
  const std::string_view name = key.substr(key.rfind('/') + 1);
  if (rest.empty()) return {};
  if (folder == "_versions") {
    return {rest == name ? KindOfVersionFile(name) : FileKind::kOther, std::string(key)};
  }
  if (folder == "_refs") return {FileKind::kReference, std::string(key)};
  // Manifests that a clean-up takes away.
  if (folder == "_lake" && rest.starts_with("cleanup/")) {
    return {FileKind::kStaging, std::string(key)};
  }
  if (folder == "_lake" && rest.starts_with("object_refs/")) {
    std::string_view stem = rest.substr(sizeof("object_refs/") - 1);
    stem = stem.substr(0, stem.find_first_of("./"));
    return {FileKind::kReferenceSet, fmt::format("data/{}.lance", stem)};
  }
  Kind found;
  found.owner = key;
  if (folder == "data") {
    const bool blob = rest != name && name.ends_with(".blob");
    found.kind = blob ? FileKind::kSidecar : FileKind::kData;
    if (blob) found.owner = fmt::format("{}.lance", key.substr(0, key.rfind('/')));
  } else if (folder == "_transactions") {
    found.kind = FileKind::kTransaction;
  } else if (folder == "_deletions") {
    found.kind = FileKind::kDeletion;
  } else if (folder == "_indices") {
    const size_t end = rest.find('/');
    if (end == std::string_view::npos) return {};
    found = {FileKind::kIndex, std::string(key.substr(0, slash + 1 + end))};
  } else {
    return {};
  }
  if (IsTemporary(name)) found.kind = FileKind::kStaging;
  return found;
}

}  // namespace

std::string_view FileKindName(FileKind kind) {
  constexpr std::array<std::string_view, 12> kNames = {
      "manifest",    "detached version", "version hint", "unpublished file",
      "transaction", "data file",        "blob file",    "deletion file",
      "index",       "reference set",    "reference",    "other file"};
  return kNames[static_cast<size_t>(kind)];
}

TableFile Classify(storage::ObjectInfo info, const std::set<std::string>& branches) {
  TableFile file;
  const std::string_view key = info.key;
  if (!key.starts_with(kTree)) {
    Kind kind = KindOf(key);
    file.kind = kind.kind;
    file.owner = std::move(kind.owner);
  } else {
    // The longest branch that exists wins; without one, the shortest name that makes sense.
    bool known = false;
    for (size_t slash = key.find('/', kTree.size()); slash != std::string_view::npos;
         slash = key.find('/', slash + 1)) {
      Kind kind = KindOf(key.substr(slash + 1));
      if (kind.kind == FileKind::kOther) continue;
      std::string branch(key.substr(kTree.size(), slash - kTree.size()));
      const bool exists = branches.contains(branch);
      if (!exists && (known || file.branch)) continue;
      known = exists;
      file.branch = std::move(branch);
      file.kind = kind.kind;
      file.owner = std::move(kind.owner);
    }
  }
  file.info = std::move(info);
  return file;
}

Result<std::vector<TableFile>> ListTableFiles(const Context& context, storage::ObjectStore* store,
                                              const std::set<std::string>& branches) {
  std::vector<TableFile> files;
  storage::ListRequest request;
  do {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(storage::ListPage page, store->List(context, request));
    for (storage::ObjectInfo& info : page.objects) {
      files.push_back(Classify(std::move(info), branches));
    }
    request.start_after = page.next_start_after;
  } while (!request.start_after.empty());
  return files;
}

Result<NamedFiles> FilesNamedBy(const Manifest& manifest) {
  NamedFiles named;
  auto add = [&](std::string owner, bool based) {
    (based ? named.based : named.own).push_back(std::move(owner));
  };
  for (const Fragment& fragment : manifest.fragments()) {
    for (const DataFile& file : fragment.files) {
      add(DataFileKey(file), file.base_id.has_value());
    }
    if (fragment.deletion_file) {
      add(DeletionFileKey(fragment.id, *fragment.deletion_file),
          fragment.deletion_file->base_id.has_value());
    }
  }
  if (!manifest.transaction_file().empty()) {
    add(TransactionKey(manifest.transaction_file()), false);
  }
  ARROW_ASSIGN_OR_RAISE(const std::optional<std::string> section, FileOf(manifest).index_section());
  if (section) {
    pb::IndexSection indices;
    ARROW_RETURN_NOT_OK(format::ParseMessage(*section, "index section", &indices));
    for (const pb::IndexMetadata& index : indices.indices()) {
      Uuid uuid;
      if (index.uuid().uuid().size() != uuid.bytes.size()) {
        return Error(ErrorCode::kCorrupt, "index has no valid id: version {}: {}",
                     manifest.version(), index.name());
      }
      std::copy(index.uuid().uuid().begin(), index.uuid().uuid().end(), uuid.bytes.begin());
      add("_indices/" + uuid.ToString(), index.has_base_id());
    }
  }
  return named;
}

}  // namespace lake::table
