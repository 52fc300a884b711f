#include "lake/table/refs.h"

#include <algorithm>

#include <arrow/buffer.h>

#include "lake/table/ref_files_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {

namespace {

constexpr std::string_view kTagFolder = "_refs/tags/";
constexpr std::string_view kBranchFolder = "_refs/branches/";
constexpr std::string_view kSuffix = ".json";
// As long as a file name may be, with room for the suffix and escapes.
constexpr size_t kMaxNameLength = 200;

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

Status BadName(std::string_view kind, const std::string& name, std::string_view rule) {
  return Error(ErrorCode::kInvalidArgument, "name of a {} {}: '{}'", kind, rule, name);
}

/// `/` as %2F, the one escape that a valid name needs.
std::string Escaped(const std::string& name) {
  std::string escaped;
  for (char c : name) {
    if (c == '/') {
      escaped += "%2F";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// The name that a file under `_refs/` stands for; nothing for a file that is none of these.
std::optional<std::string> NameOf(std::string_view key, std::string_view folder) {
  key.remove_prefix(folder.size());
  if (!key.ends_with(kSuffix) || key.find('/') != std::string_view::npos) return std::nullopt;
  key.remove_suffix(kSuffix.size());
  std::string name;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key[i] != '%') {
      name += key[i];
    } else if (key.substr(i, 3) == "%2F") {
      name += '/';
      i += 2;
    } else {
      // Escapes of other characters are upstream's alone; the name stands as it is.
      name += key[i];
    }
  }
  return name;
}

Result<std::string> ReadRef(const Context& context, storage::ObjectStore* store,
                            const std::string& key) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                        store->GetAll(context, key, kMaxRefBytes));
  return bytes->ToString();
}

template <typename Ref>
Result<std::vector<Ref>> ListRefs(const Context& context, storage::ObjectStore* store,
                                  std::string_view folder,
                                  Result<Ref> (*decode)(std::string_view, const std::string&,
                                                        const std::string&)) {
  ARROW_ASSIGN_OR_RAISE(std::vector<storage::ObjectInfo> objects,
                        storage::ListAll(store, context, std::string(folder)));
  std::vector<Ref> refs;
  for (const storage::ObjectInfo& object : objects) {
    std::optional<std::string> name = NameOf(object.key, folder);
    if (!name) continue;
    Result<std::string> bytes = ReadRef(context, store, object.key);
    if (!bytes.ok()) {
      // Deleted since the listing.
      if (CodeOf(bytes.status()) == ErrorCode::kNotFound) continue;
      return bytes.status();
    }
    ARROW_ASSIGN_OR_RAISE(Ref ref, decode(*bytes, *name, object.key));
    refs.push_back(std::move(ref));
  }
  std::sort(refs.begin(), refs.end(), [](const Ref& a, const Ref& b) { return a.name < b.name; });
  return refs;
}

/// The size of a version's manifest; kNotFound if it is not there.
Result<uint64_t> ManifestSize(const Context& context,
                              const std::shared_ptr<storage::ObjectStore>& store,
                              const VersionRef& target) {
  std::shared_ptr<storage::ObjectStore> line = LineStore(store, target.branch);
  ARROW_ASSIGN_OR_RAISE(VersionList versions, ListVersions(context, line.get()));
  if (!versions.Contains(target.version)) {
    return Error(ErrorCode::kNotFound, "table has no {}: {}", target.ToString(),
                 store->description());
  }
  ARROW_ASSIGN_OR_RAISE(storage::ObjectInfo info,
                        line->Head(context, ManifestKey(target.version, versions.naming)));
  return info.size;
}

}  // namespace

std::string VersionRef::ToString() const {
  return branch ? fmt::format("version {} of branch {}", version, *branch)
                : fmt::format("version {}", version);
}

Status CheckTagName(const std::string& name) {
  if (name.empty()) return BadName("tag", name, "is empty");
  if (name.size() > kMaxNameLength) return BadName("tag", name, "is longer than 200 bytes");
  if (!std::all_of(name.begin(), name.end(), IsPlain)) {
    return BadName("tag", name, "has characters other than ASCII letters, digits, '.', '-', '_'");
  }
  if (name.front() == '.' || name.back() == '.') {
    return BadName("tag", name, "begins or ends with a dot");
  }
  if (name.find("..") != std::string::npos) return BadName("tag", name, "has two dots in a row");
  if (name.ends_with(".lock")) return BadName("tag", name, "ends with .lock");
  return Status::OK();
}

Status CheckBranchName(const std::string& name) {
  if (name.empty()) return BadName("branch", name, "is empty");
  if (name.size() > kMaxNameLength) return BadName("branch", name, "is longer than 200 bytes");
  if (name == "main") return BadName("branch", name, "is that of the main line");
  if (name.front() == '/' || name.back() == '/') {
    return BadName("branch", name, "begins or ends with '/'");
  }
  if (name.find("//") != std::string::npos) return BadName("branch", name, "has an empty part");
  if (name.find("..") != std::string::npos) return BadName("branch", name, "has two dots in a row");
  if (name.ends_with(".lock")) return BadName("branch", name, "ends with .lock");
  if (!std::all_of(name.begin(), name.end(), [](char c) { return c == '/' || IsPlain(c); })) {
    return BadName("branch", name,
                   "has characters other than ASCII letters, digits, '.', '-', '_' and '/'");
  }
  // A part of one dot would be no folder name.
  if (name == "." || name.starts_with("./") || name.ends_with("/.") ||
      name.find("/./") != std::string::npos) {
    return BadName("branch", name, "has a part that is a dot");
  }
  return Status::OK();
}

std::string BranchFolder(const std::optional<std::string>& branch) {
  return branch ? "tree/" + *branch : std::string();
}

std::shared_ptr<storage::ObjectStore> LineStore(std::shared_ptr<storage::ObjectStore> store,
                                                const std::optional<std::string>& branch) {
  if (!branch) return store;
  return storage::MakePrefixStore(std::move(store), BranchFolder(branch));
}

std::string TagKey(const std::string& name) {
  return fmt::format("{}{}{}", kTagFolder, name, kSuffix);
}

std::string BranchKey(const std::string& name) {
  return fmt::format("{}{}{}", kBranchFolder, Escaped(name), kSuffix);
}

Result<std::vector<Tag>> ListTags(const Context& context, storage::ObjectStore* store) {
  return ListRefs<Tag>(context, store, kTagFolder, DecodeTag);
}

Result<Tag> ReadTag(const Context& context, storage::ObjectStore* store, const std::string& name) {
  ARROW_RETURN_NOT_OK(CheckTagName(name));
  const std::string key = TagKey(name);
  Result<std::string> bytes = ReadRef(context, store, key);
  if (!bytes.ok() && CodeOf(bytes.status()) == ErrorCode::kNotFound) {
    return Error(ErrorCode::kNotFound, "table has no such tag: {}: '{}'", store->description(),
                 name);
  }
  ARROW_RETURN_NOT_OK(bytes.status());
  return DecodeTag(*bytes, name, key);
}

namespace {

/// A clean-up may have begun before the tag could be seen: it looks again at the tags after it took
/// the manifest, this looks again at the manifest after the tag was put, so one of both notices.
/// kNotFound: the tag must go again.
Status CheckStillThere(const Context& context, const std::shared_ptr<storage::ObjectStore>& store,
                       const Tag& tag) {
  const Status there = ManifestSize(context, store, tag.target).status();
  if (there.ok()) return there;
  if (CodeOf(there) == ErrorCode::kNotFound) {
    return WithContext(there, "version was cleaned up while it was tagged");
  }
  return Error(ErrorCode::kCommitUnknown,
               "tag stands, but it cannot be told whether its version still does; tag it again: "
               "{}: '{}': {}",
               store->description(), tag.name, ErrorText(there));
}

}  // namespace

Result<Tag> CreateTag(const Context& context, const std::shared_ptr<storage::ObjectStore>& store,
                      const std::string& name, const VersionRef& target) {
  ARROW_RETURN_NOT_OK(CheckTagName(name));
  ARROW_RETURN_NOT_OK(CheckNewestWritable(context, LineStore(store, target.branch).get()));
  Tag tag{.name = name, .target = target, .created_nanos = {}, .updated_nanos = {}, .metadata = {}};
  ARROW_ASSIGN_OR_RAISE(tag.manifest_size, ManifestSize(context, store, target));
  tag.created_nanos = tag.updated_nanos = context.clock->UnixNanos();
  const Status put = PutReference(context, store.get(), TagKey(name), EncodeTag(tag),
                                  storage::PutCondition::kIfAbsent);
  if (!put.ok() && CodeOf(put) == ErrorCode::kPreconditionFailed) {
    return Error(ErrorCode::kAlreadyExists, "table has a tag of this name: {}: '{}'",
                 store->description(), name);
  }
  ARROW_RETURN_NOT_OK(put);
  const Status there = CheckStillThere(context, store, tag);
  if (!there.ok() && CodeOf(there) == ErrorCode::kNotFound) {
    ARROW_RETURN_NOT_OK(RemoveReference(context, store.get(), TagKey(name)));
  }
  ARROW_RETURN_NOT_OK(there);
  return tag;
}

Result<Tag> UpdateTag(const Context& context, const std::shared_ptr<storage::ObjectStore>& store,
                      const std::string& name, const VersionRef& target) {
  ARROW_ASSIGN_OR_RAISE(const Tag old, ReadTag(context, store.get(), name));
  ARROW_RETURN_NOT_OK(CheckNewestWritable(context, LineStore(store, old.target.branch).get()));
  ARROW_RETURN_NOT_OK(CheckNewestWritable(context, LineStore(store, target.branch).get()));
  Tag tag = old;
  tag.target = target;
  ARROW_ASSIGN_OR_RAISE(tag.manifest_size, ManifestSize(context, store, target));
  tag.updated_nanos = context.clock->UnixNanos();
  ARROW_RETURN_NOT_OK(PutReference(context, store.get(), TagKey(name), EncodeTag(tag),
                                   storage::PutCondition::kNone));
  const Status there = CheckStillThere(context, store, tag);
  if (!there.ok() && CodeOf(there) == ErrorCode::kNotFound) {
    // Better the old target than none.
    ARROW_RETURN_NOT_OK(PutReference(context, store.get(), TagKey(name), EncodeTag(old),
                                     storage::PutCondition::kNone));
  }
  ARROW_RETURN_NOT_OK(there);
  return tag;
}

Status DeleteTag(const Context& context, const std::shared_ptr<storage::ObjectStore>& store,
                 const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(const Tag tag, ReadTag(context, store.get(), name));
  ARROW_RETURN_NOT_OK(CheckNewestWritable(context, LineStore(store, tag.target.branch).get()));
  return RemoveReference(context, store.get(), TagKey(name));
}

Result<std::vector<Branch>> ListBranches(const Context& context, storage::ObjectStore* store) {
  return ListRefs<Branch>(context, store, kBranchFolder, DecodeBranch);
}

Result<Branch> ReadBranch(const Context& context, storage::ObjectStore* store,
                          const std::string& name) {
  ARROW_RETURN_NOT_OK(CheckBranchName(name));
  const std::string key = BranchKey(name);
  Result<std::string> bytes = ReadRef(context, store, key);
  if (!bytes.ok() && CodeOf(bytes.status()) == ErrorCode::kNotFound) {
    return Error(ErrorCode::kNotFound, "table has no such branch: {}: '{}'", store->description(),
                 name);
  }
  ARROW_RETURN_NOT_OK(bytes.status());
  return DecodeBranch(*bytes, name, key);
}

}  // namespace lake::table
