#include "lake/table/verify.h"

#include <algorithm>
#include <unordered_set>

#include "lake/table/cleanup.h"
#include "lake/table/refs.h"
#include "lake/table/table_files.h"
#include "lake/table/verify_version_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {

namespace {

std::string LineName(const std::optional<std::string>& branch) {
  return branch ? "branch " + *branch + ", " : std::string();
}

std::string Qualified(const std::optional<std::string>& branch, const std::string& owner) {
  return branch ? BranchFolder(branch) + "/" + owner : owner;
}

/// The walk over a table: references, versions, leftovers.
class Walk {
 public:
  Walk(const Context& context, std::shared_ptr<storage::ObjectStore> store,
       const VerifyOptions& options, VerifyReport* report)
      : context_(context),
        store_(std::move(store)),
        options_(options),
        report_(report),
        job_(context, options, report) {}

  Status Run();

 private:
  struct Line {
    std::optional<std::string> branch;
    std::shared_ptr<storage::ObjectStore> store;
    VersionList list;
    bool readable = true;
  };

  /// Of the files under `_refs/`: one that cannot be read is a finding.
  void ReadReferences();
  Status FindLines();
  void CheckReferences();
  Status LookAt(Line* line);
  void FindLeftovers();
  bool Exists(const VersionRef& ref) const;

  const Context& context_;
  const std::shared_ptr<storage::ObjectStore> store_;
  const VerifyOptions& options_;
  VerifyReport* const report_;
  VerifyJob job_;

  std::vector<Tag> tags_;
  std::vector<Branch> branches_;
  std::set<std::string> branch_names_;
  std::vector<TableFile> files_;
  std::vector<Line> lines_;
  std::unordered_set<std::string> needed_;
  std::unordered_set<std::string> needed_anywhere_;
  /// All versions were read: what no version names is a leftover.
  bool complete_ = true;
  VerifyProgress progress_;
};

void Walk::ReadReferences() {
  Result<std::vector<Tag>> tags = ListTags(context_, store_.get());
  if (tags.ok()) {
    tags_ = *std::move(tags);
  } else {
    job_.Error("_refs/tags", ErrorText(tags.status()), "repair or remove the file");
  }
  Result<std::vector<Branch>> branches = ListBranches(context_, store_.get());
  if (branches.ok()) {
    branches_ = *std::move(branches);
  } else {
    complete_ = false;
    job_.Error("_refs/branches", ErrorText(branches.status()), "repair or remove the file");
  }
  for (const Branch& branch : branches_) branch_names_.insert(branch.name);
}

Status Walk::FindLines() {
  ARROW_ASSIGN_OR_RAISE(files_, ListTableFiles(context_, store_.get(), branch_names_));
  std::set<std::optional<std::string>> names{std::nullopt};
  for (const std::string& name : branch_names_) names.insert(name);
  for (const TableFile& file : files_) {
    if (file.kind == FileKind::kManifest) names.insert(file.branch);
  }
  for (const std::optional<std::string>& name : names) {
    Line line;
    line.branch = name;
    line.store = LineStore(store_, name);
    Result<VersionList> list = ListVersions(context_, line.store.get());
    if (list.ok()) {
      line.list = *std::move(list);
    } else {
      ARROW_RETURN_NOT_OK(context_.Check());
      if (CodeOf(list.status()) == ErrorCode::kIo) return list.status();
      line.readable = complete_ = false;
      job_.Error(LineName(name) + "_versions", ErrorText(list.status()),
                 "finish the migration of the manifests' names with the program that began it");
    }
    if (!name && line.readable && line.list.empty()) {
      return Error(ErrorCode::kNotFound, "folder holds no Lance table: {}", store_->description());
    }
    lines_.push_back(std::move(line));
  }
  return Status::OK();
}

bool Walk::Exists(const VersionRef& ref) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) {
    return line.branch == ref.branch && (!line.readable || line.list.Contains(ref.version));
  });
}

void Walk::CheckReferences() {
  for (const Tag& tag : tags_) {
    if (Exists(tag.target)) continue;
    job_.Error("tag " + tag.name, "it names a version that is not there: " + tag.target.ToString(),
               "delete the tag, or point it at another version");
  }
  for (const Branch& branch : branches_) {
    const bool has_versions = std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) {
      return line.branch == branch.name && (!line.readable || !line.list.empty());
    });
    if (!has_versions) {
      job_.Error("branch " + branch.name, "it has no version", "delete the branch");
    }
    if (!Exists(branch.parent)) {
      job_.Add(Severity::kWarning, "branch " + branch.name,
               "the version where it begins is not there: " + branch.parent.ToString(),
               "what the branch reads of it may be gone, too: see the other findings");
    }
  }
  for (const Line& line : lines_) {
    if (!line.branch || branch_names_.contains(*line.branch)) continue;
    job_.Add(Severity::kInfo, BranchFolder(line.branch),
             "the folder holds versions, but no branch has this name",
             "a clean-up removes it when it is 7 days old; creating the branch takes it over");
  }
}

Status Walk::LookAt(Line* line) {
  for (size_t i = 0; i < line->list.versions.size(); ++i) {
    ARROW_RETURN_NOT_OK(context_.Check());
    const uint64_t version = line->list.versions[i];
    const std::string where = fmt::format("{}version {}", LineName(line->branch), version);
    Result<std::shared_ptr<const Manifest>> manifest =
        ReadManifest(context_, line->store.get(), version, line->list.naming);
    ++progress_.versions_done;
    if (!manifest.ok()) {
      // Cleaned up while we walk.
      if (CodeOf(manifest.status()) == ErrorCode::kNotFound) continue;
      ARROW_RETURN_NOT_OK(context_.Check());
      complete_ = false;
      job_.Error(where, ErrorText(manifest.status()),
                 "the version is lost; restore an older one, or the file from a backup");
      continue;
    }
    Result<NamedFiles> named = FilesNamedBy(**manifest);
    if (named.ok()) {
      for (const std::string& owner : named->own) needed_.insert(Qualified(line->branch, owner));
      needed_anywhere_.insert(named->based.begin(), named->based.end());
    } else {
      complete_ = false;
      job_.Error(where, ErrorText(named.status()), "drop and build the indices anew");
    }
    if (options_.newest_only && i + 1 < line->list.versions.size()) continue;
    if (line->branch && !options_.branches) continue;
    ++report_->versions;
    ARROW_RETURN_NOT_OK(
        VerifyVersion(&job_, line->store, store_, LineName(line->branch), *manifest));
    if (options_.progress) options_.progress(progress_);
  }
  return Status::OK();
}

void Walk::FindLeftovers() {
  if (!complete_) {
    job_.Add(Severity::kInfo, store_->description(),
             "leftovers are not looked for: not everything that names files could be read",
             "see the other findings");
    return;
  }
  const int64_t now = context_.clock->UnixNanos();
  for (const TableFile& file : files_) {
    switch (file.kind) {
      case FileKind::kManifest:
      case FileKind::kDetachedManifest:
      case FileKind::kVersionHint:
      case FileKind::kReference:
        continue;
      case FileKind::kOther:
        job_.Add(Severity::kInfo, file.info.key, "lake does not know what this file is",
                 "nothing: clean-up does not touch it");
        continue;
      case FileKind::kStaging:
        break;
      case FileKind::kTransaction:
      case FileKind::kData:
      case FileKind::kSidecar:
      case FileKind::kDeletion:
      case FileKind::kIndex:
      case FileKind::kReferenceSet:
        if (needed_.contains(Qualified(file.branch, file.owner)) ||
            needed_anywhere_.contains(file.owner)) {
          continue;
        }
    }
    const bool old = now - file.info.modified_nanos >= kUnverifiedNanos;
    job_.Add(Severity::kInfo, file.info.key,
             fmt::format("leftover: no version names this {} ({} bytes)", FileKindName(file.kind),
                         file.info.size),
             old ? "a clean-up removes it"
                 : "a running writer may own it; a clean-up removes it when it is 7 days old");
  }
}

Status Walk::Run() {
  ReadReferences();
  ARROW_RETURN_NOT_OK(context_.Check());
  ARROW_RETURN_NOT_OK(FindLines());
  CheckReferences();
  for (const Line& line : lines_) progress_.versions_total += line.list.versions.size();
  for (const TableFile& file : files_) {
    // Versions outside of the history are read by number only; what they name is no leftover.
    if (file.kind == FileKind::kDetachedManifest) complete_ = false;
  }
  for (Line& line : lines_) ARROW_RETURN_NOT_OK(LookAt(&line));
  FindLeftovers();
  std::stable_sort(report_->findings.begin(), report_->findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return Status::OK();
}

}  // namespace

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

size_t VerifyReport::Count(Severity severity) const {
  return std::count_if(findings.begin(), findings.end(),
                       [&](const Finding& finding) { return finding.severity == severity; });
}

Result<VerifyReport> Verify(const Context& context,
                            const std::shared_ptr<storage::ObjectStore>& store,
                            const VerifyOptions& options) {
  VerifyReport report;
  ARROW_RETURN_NOT_OK(Walk(context, store, options, &report).Run());
  return report;
}

}  // namespace lake::table
