// Making and removing branches. Their files are read in refs.cc.

#include <algorithm>
#include <set>

#include <arrow/buffer.h>

#include "lake/base/crash_point.h"
#include "lake/table/clone.h"
#include "lake/table/commit.h"
#include "lake/table/ref_files_internal.h"
#include "lake/table/table_files.h"
#include "lake/table/transaction_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {

namespace {

/// 32 hexadecimal digits.
std::string NewIdentifier(const Context& context) {
  std::string text = Uuid::NewV4(context).ToString();
  std::erase(text, '-');
  return text;
}

/// True if the folder of a branch holds just what CreateBranch would put there now: the first step
/// of a call that did not come to its second.
Result<bool> IsUnfinished(const Context& context, storage::ObjectStore* line,
                          const std::string& name, uint64_t version) {
  ARROW_ASSIGN_OR_RAISE(VersionList versions, ListVersions(context, line));
  if (versions.versions.size() != 1 || versions.newest() != version) return false;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const Manifest> manifest,
                        ReadManifest(context, line, version, versions.naming));
  if (FileOf(*manifest).message().branch() != name) return false;
  ARROW_ASSIGN_OR_RAISE(pb::Transaction transaction,
                        ReadTransaction(context, line, FileOf(*manifest)));
  return transaction.has_clone() && transaction.clone().ref_version() == version;
}

}  // namespace

Result<Branch> CreateBranch(const Context& context, const Dataset& source, const std::string& name,
                            const std::string& table_path) {
  ARROW_RETURN_NOT_OK(CheckBranchName(name));
  const std::shared_ptr<storage::ObjectStore>& store = source.root_store();
  ARROW_RETURN_NOT_OK(CheckNewestWritable(context, source.store().get()));
  Result<Branch> existing = ReadBranch(context, store.get(), name);
  if (existing.ok()) {
    return Error(ErrorCode::kAlreadyExists, "table has a branch of this name: {}: '{}'",
                 store->description(), name);
  }
  if (CodeOf(existing.status()) != ErrorCode::kNotFound) return existing.status();

  Branch branch;
  branch.name = name;
  branch.parent = {source.branch(), source.manifest().version()};
  branch.created_nanos = context.clock->UnixNanos();
  branch.manifest_size = FileOf(source.manifest()).file_size();
  if (source.branch()) {
    ARROW_ASSIGN_OR_RAISE(Branch parent, ReadBranch(context, store.get(), *source.branch()));
    branch.identifier = std::move(parent.identifier);
  }
  branch.identifier.emplace_back(source.manifest().version(), NewIdentifier(context));

  // The line first, its name then: who finds the name finds the line.
  ARROW_ASSIGN_OR_RAISE(Transaction transaction, MakeShallowClone(context, source, table_path, {}));
  std::get<CloneOperation>(transaction.operation).branch_name = name;
  const std::shared_ptr<storage::ObjectStore> line = LineStore(store, name);
  Result<CommitResult> committed = Commit(context, line, transaction, {});
  if (!committed.ok()) {
    if (CodeOf(committed.status()) != ErrorCode::kAlreadyExists) return committed.status();
    ARROW_ASSIGN_OR_RAISE(bool unfinished,
                          IsUnfinished(context, line.get(), name, source.manifest().version()));
    if (!unfinished) {
      return Error(ErrorCode::kAlreadyExists,
                   "folder of the branch holds versions, though there is no such branch; delete "
                   "the branch first: {}: '{}'",
                   store->description(), name);
    }
  }
  CrashPoint("branch_begun");
  const Status put = PutReference(context, store.get(), BranchKey(name), EncodeBranch(branch),
                                  storage::PutCondition::kIfAbsent);
  if (!put.ok() && CodeOf(put) == ErrorCode::kPreconditionFailed) {
    return Error(ErrorCode::kAlreadyExists, "table has a branch of this name: {}: '{}'",
                 store->description(), name);
  }
  ARROW_RETURN_NOT_OK(put);
  // A clean-up looks at the branches after it took a version, this looks at the version after the
  // branch was put: one of both notices.
  const Result<VersionList> versions = ListVersions(context, source.store().get());
  if (!versions.ok()) {
    return Error(ErrorCode::kCommitUnknown,
                 "branch stands, but it cannot be told whether the version that it begins at still "
                 "does: {}: '{}': {}",
                 store->description(), name, ErrorText(versions.status()));
  }
  if (!versions->Contains(source.manifest().version())) {
    ARROW_RETURN_NOT_OK(RemoveReference(context, store.get(), BranchKey(name)));
    return Error(ErrorCode::kNotFound, "version was cleaned up while the branch was made: {}: {}",
                 store->description(), branch.parent.ToString());
  }
  return branch;
}

Status DeleteBranch(const Context& context, const std::shared_ptr<storage::ObjectStore>& store,
                    const std::string& name) {
  ARROW_RETURN_NOT_OK(CheckBranchName(name));
  ARROW_RETURN_NOT_OK(CheckNewestWritable(context, store.get()));
  ARROW_RETURN_NOT_OK(CheckNewestWritable(context, LineStore(store, name).get()));
  ARROW_ASSIGN_OR_RAISE(std::vector<Branch> branches, ListBranches(context, store.get()));
  std::set<std::string> names;
  bool found = false;
  for (const Branch& branch : branches) {
    found |= branch.name == name;
    if (branch.name != name) names.insert(branch.name);
    if (branch.parent.branch != name) continue;
    return Error(ErrorCode::kConflict, "another branch begins on the branch: {}: '{}' on '{}'",
                 store->description(), branch.name, name);
  }
  ARROW_ASSIGN_OR_RAISE(std::vector<Tag> tags, ListTags(context, store.get()));
  for (const Tag& tag : tags) {
    if (tag.target.branch != name) continue;
    return Error(ErrorCode::kConflict,
                 "a tag is on the branch; delete the tag first: {}: '{}' on "
                 "'{}'",
                 store->description(), tag.name, name);
  }
  names.insert(name);
  std::vector<TableFile> files;
  ARROW_ASSIGN_OR_RAISE(std::vector<storage::ObjectInfo> objects,
                        storage::ListAll(store.get(), context, BranchFolder(name) + "/"));
  for (storage::ObjectInfo& object : objects) {
    TableFile file = Classify(std::move(object), names);
    if (file.branch == name) files.push_back(std::move(file));
  }
  if (!found && files.empty()) {
    return Error(ErrorCode::kNotFound, "table has no such branch: {}: '{}'", store->description(),
                 name);
  }
  // The name first: nobody opens a line that is half gone.
  ARROW_RETURN_NOT_OK(RemoveReference(context, store.get(), BranchKey(name)));
  CrashPoint("branch_unnamed");
  // Manifests next: what is left if this ends here is a leftover without a version.
  std::stable_partition(files.begin(), files.end(),
                        [](const TableFile& file) { return file.kind == FileKind::kManifest; });
  for (const TableFile& file : files) {
    const Status removed = store->Delete(context, file.info.key);
    if (!removed.ok()) {
      return Error(ErrorCode::kCommitUnknown,
                   "branch has no name any more, but files of it are left; delete it again, or "
                   "clean up: {}: '{}': {}",
                   store->description(), name, ErrorText(removed));
    }
    CrashPoint("branch_file_removed");
  }
  return Status::OK();
}

}  // namespace lake::table
