#include "lake/table/cleanup.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <arrow/buffer.h>

#include "lake/base/crash_point.h"
#include "lake/base/mutex.h"
#include "lake/base/settling_context.h"
#include "lake/base/thread_pool.h"
#include "lake/table/inspect.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/transaction.h"
#include "lake/table/version_list.h"

namespace lake::table {

namespace {

/// Manifests that are held in memory at once, to be put back if a tag came up meanwhile.
constexpr size_t kManifestBatch = 32;
constexpr size_t kDeleteBatch = 256;
/// Where manifests lie while they are taken away, each below it under its own key.
constexpr std::string_view kSetAside = "_lake/cleanup/";
constexpr int kMaxLooks = 3;

/// One line of versions: the main one, a branch, or a folder under `tree/` that no branch owns.
struct Line {
  std::optional<std::string> branch;
  /// A folder whose branch is gone, or not yet there.
  bool orphan = false;
  std::shared_ptr<storage::ObjectStore> store;
  VersionList list;
  std::vector<VersionFate> fates;
};

struct Removal {
  std::string key;
  FileKind kind;
  uint64_t bytes;
};

/// A manifest that is taken away.
struct Going {
  VersionFate* fate;
  std::string key;
  std::shared_ptr<arrow::Buffer> bytes;
};

std::string SetAsideKey(const std::string& key) { return std::string(kSetAside) + key; }

class CleanupJob {
 public:
  CleanupJob(const Context& context, std::shared_ptr<storage::ObjectStore> store,
             const CleanupOptions& options)
      : context_(context), store_(std::move(store)), options_(options) {}

  Result<CleanupReport> Run();

 private:
  /// Lists the folder, tags, branches and lines.
  Status Look();
  Status FindLines();
  Status ReadReferences(const Context& context);
  /// Puts back what a clean-up that died had taken, where a tag or branch came up for it.
  Status RestoreSetAside();
  /// Decides about each version, and notes what the kept ones name.
  Status JudgeLine(Line* line);
  Result<std::string> WhyKept(const Line& line, size_t index, const Manifest& manifest) const;
  Status CheckUsable(const Manifest& manifest) const;
  void Keep(const Line& line, const NamedFiles& named);
  /// Keeps what the manifest in `file` names.
  Status KeepNamedBy(const TableFile& file, const arrow::Buffer& bytes);
  Status KeepDetached();
  bool IsNeeded(const TableFile& file) const;
  /// The files that go once the manifests are gone.
  std::vector<Removal> UnneededFiles(CleanupReport* report) const;

  Status RemoveManifests(CleanupReport* report);
  using Batch = std::vector<std::pair<Line*, size_t>>;
  Status RemoveBatch(const Batch& batch, CleanupReport* report);
  /// Copies the manifests of the batch, but those that must stay after all.
  Result<std::vector<Going>> SetAside(const Batch& batch);
  /// Puts back those of `going` for which a tag or branch came up.
  Status LookAndPutBack(const Context& settling, const std::vector<Going>& going,
                        CleanupReport* report);
  Status PutBack(const Context& context, const std::string& key, const arrow::Buffer& manifest);
  /// Looks again: what was committed since may name what was to go.
  Status LookAgain();
  Status RemoveFiles(const std::vector<Removal>& removals, CleanupReport* report);
  void Count(const Removal& removal, CleanupReport* report);

  const Context& context_;
  const std::shared_ptr<storage::ObjectStore> store_;
  const CleanupOptions& options_;
  int64_t now_ = 0;

  std::set<std::string> branch_names_;
  /// Why a version is kept whatever its age.
  std::map<VersionRef, std::string> pinned_;
  std::vector<TableFile> files_;
  std::map<std::string, storage::ObjectInfo> manifests_;
  std::vector<Line> lines_;
  /// Owners below the folder of their line, as "<line folder>/<owner>".
  std::unordered_set<std::string> needed_;
  /// Owners in bases, wherever they lie.
  std::unordered_set<std::string> needed_anywhere_;
  /// The same as needed_, of versions that go: their files were proved to be committed ones.
  std::unordered_set<std::string> named_by_removed_;
  /// Keys of manifests of which needed_ holds all they name.
  std::unordered_set<std::string> kept_manifests_;
  CleanupProgress progress_;
};

std::string Qualified(const std::optional<std::string>& branch, const std::string& owner) {
  return branch ? BranchFolder(branch) + "/" + owner : owner;
}

Status CleanupJob::ReadReferences(const Context& context) {
  pinned_.clear();
  branch_names_.clear();
  ARROW_ASSIGN_OR_RAISE(std::vector<Tag> tags, ListTags(context, store_.get()));
  for (const Tag& tag : tags) {
    pinned_[tag.target] = tag.name.starts_with(kClonePinPrefix)
                              ? "a shallow clone reads it: tag " + tag.name
                          : tag.name.starts_with(kPinPrefix) ? "it is pinned: tag " + tag.name
                                                             : "it is tagged " + tag.name;
  }
  ARROW_ASSIGN_OR_RAISE(std::vector<Branch> branches, ListBranches(context, store_.get()));
  for (const Branch& branch : branches) {
    branch_names_.insert(branch.name);
    pinned_[branch.parent] = "branch " + branch.name + " begins there";
  }
  return Status::OK();
}

Status CleanupJob::RestoreSetAside() {
  ARROW_ASSIGN_OR_RAISE(std::vector<storage::ObjectInfo> copies,
                        storage::ListAll(store_.get(), context_, std::string(kSetAside)));
  for (const storage::ObjectInfo& copy : copies) {
    const std::string key = copy.key.substr(kSetAside.size());
    const TableFile file = Classify({key, copy.size, copy.modified_nanos}, branch_names_);
    if (file.kind != FileKind::kManifest) continue;
    const auto name = ParseManifestName(std::string_view(key).substr(key.rfind('/') + 1));
    if (!pinned_.contains({file.branch, name->version})) continue;
    Result<std::shared_ptr<arrow::Buffer>> bytes =
        store_->GetAll(context_, copy.key, kMaxManifestSize);
    // Another clean-up settled it.
    if (!bytes.ok() && CodeOf(bytes.status()) == ErrorCode::kNotFound) continue;
    ARROW_RETURN_NOT_OK(bytes.status());
    ARROW_RETURN_NOT_OK(PutBack(context_, key, **bytes));
    ARROW_RETURN_NOT_OK(store_->Delete(context_, copy.key));
  }
  return Status::OK();
}

Status CleanupJob::Look() {
  ARROW_RETURN_NOT_OK(ReadReferences(context_));
  if (!options_.dry_run) ARROW_RETURN_NOT_OK(RestoreSetAside());
  ARROW_ASSIGN_OR_RAISE(files_, ListTableFiles(context_, store_.get(), branch_names_));
  manifests_.clear();
  for (const TableFile& file : files_) {
    if (file.kind == FileKind::kManifest) manifests_[file.info.key] = file.info;
  }
  return FindLines();
}

Status CleanupJob::FindLines() {
  lines_.clear();
  std::set<std::optional<std::string>> names{std::nullopt};
  for (const std::string& branch : branch_names_) names.insert(branch);
  for (const TableFile& file : files_) {
    if (file.branch && file.kind == FileKind::kManifest) names.insert(file.branch);
  }
  for (const std::optional<std::string>& name : names) {
    Line line;
    line.branch = name;
    line.orphan = name && !branch_names_.contains(*name);
    line.store = LineStore(store_, name);
    ARROW_ASSIGN_OR_RAISE(line.list, ListVersions(context_, line.store.get()));
    if (line.list.empty() && !name) {
      return Error(ErrorCode::kNotFound, "folder holds no Lance table: {}", store_->description());
    }
    lines_.push_back(std::move(line));
  }
  return Status::OK();
}

Status CleanupJob::CheckUsable(const Manifest& manifest) const {
  ARROW_RETURN_NOT_OK(CheckReadable(manifest, store_->description()));
  return CheckWritable(manifest, store_->description());
}

Result<std::string> CleanupJob::WhyKept(const Line& line, size_t index,
                                        const Manifest& manifest) const {
  const std::vector<uint64_t>& versions = line.list.versions;
  if (line.orphan) {
    // A branch that is being made, or what is left of one.
    for (const TableFile& file : files_) {
      if (file.branch == line.branch && !options_.delete_unverified &&
          now_ - file.info.modified_nanos < kUnverifiedNanos) {
        return "its branch may be in the making";
      }
    }
    return std::string();
  }
  if (index + 1 == versions.size()) return "it is the newest";
  auto pinned = pinned_.find({line.branch, versions[index]});
  if (pinned != pinned_.end()) return pinned->second;
  if (versions.size() - index <= options_.keep_versions) {
    return fmt::format("it is among the newest {}", options_.keep_versions);
  }
  if (manifest.timestamp_nanos() > now_ - options_.older_than_nanos) {
    return "it is younger than the cutoff";
  }
  if (manifest.timestamp_nanos() > now_ - options_.replay_retention_nanos) {
    return "operations of its time may be replayed";
  }
  if (!line.branch && options_.replay_base && versions[index] > *options_.replay_base) {
    return "an operation that is not resolved may be replayed";
  }
  // When the next version came up: by its own word or by the store's, whichever is later.
  const std::string next =
      Qualified(line.branch, ManifestKey(versions[index + 1], line.list.naming));
  auto info = manifests_.find(next);
  if (info == manifests_.end()) return "the version after it came up just now";
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<const Manifest> successor,
      ReadManifest(context_, line.store.get(), versions[index + 1], line.list.naming));
  const int64_t superseded = std::max(successor->timestamp_nanos(), info->second.modified_nanos);
  if (superseded > now_ - options_.superseded_for_nanos) return "it was superseded too lately";
  return std::string();
}

void CleanupJob::Keep(const Line& line, const NamedFiles& named) {
  for (const std::string& owner : named.own) needed_.insert(Qualified(line.branch, owner));
  needed_anywhere_.insert(named.based.begin(), named.based.end());
}

Status CleanupJob::JudgeLine(Line* line) {
  line->fates.clear();
  for (size_t i = 0; i < line->list.versions.size(); ++i) {
    ARROW_RETURN_NOT_OK(context_.Check());
    const uint64_t version = line->list.versions[i];
    Result<std::shared_ptr<const Manifest>> manifest =
        ReadManifest(context_, line->store.get(), version, line->list.naming);
    VersionFate fate;
    fate.version = {line->branch, version};
    if (!manifest.ok()) {
      if (CodeOf(manifest.status()) != ErrorCode::kNotFound) return manifest.status();
      // Another clean-up took it since the listing: nothing is known of its files, they count as
      // leftovers.
      fate.reason = "it is gone";
      line->fates.push_back(std::move(fate));
      continue;
    }
    ARROW_RETURN_NOT_OK(CheckUsable(**manifest));
    fate.timestamp_nanos = (*manifest)->timestamp_nanos();
    ARROW_ASSIGN_OR_RAISE(fate.reason, WhyKept(*line, i, **manifest));
    fate.removed = fate.reason.empty();
    ARROW_ASSIGN_OR_RAISE(NamedFiles named, FilesNamedBy(**manifest));
    if (!fate.removed) {
      Keep(*line, named);
      kept_manifests_.insert(Qualified(line->branch, ManifestKey(version, line->list.naming)));
    } else {
      for (const std::string& owner : named.own) {
        named_by_removed_.insert(Qualified(line->branch, owner));
      }
    }
    line->fates.push_back(std::move(fate));
  }
  return Status::OK();
}

Status CleanupJob::KeepNamedBy(const TableFile& file, const arrow::Buffer& bytes) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const Manifest> manifest,
                        Manifest::Decode(bytes, file.info.key));
  ARROW_RETURN_NOT_OK(CheckUsable(*manifest));
  ARROW_ASSIGN_OR_RAISE(NamedFiles named, FilesNamedBy(*manifest));
  Line line;
  line.branch = file.branch;
  Keep(line, named);
  return Status::OK();
}

Status CleanupJob::KeepDetached() {
  for (const TableFile& file : files_) {
    if (file.kind != FileKind::kDetachedManifest) continue;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                          store_->GetAll(context_, file.info.key, kMaxManifestSize));
    ARROW_RETURN_NOT_OK(KeepNamedBy(file, *bytes));
  }
  return Status::OK();
}

bool CleanupJob::IsNeeded(const TableFile& file) const {
  switch (file.kind) {
    case FileKind::kManifest:
    case FileKind::kDetachedManifest:
    case FileKind::kReference:
    case FileKind::kOther:
      return true;
    case FileKind::kVersionHint: {
      // Goes with the last version of a line that is gone.
      return std::any_of(lines_.begin(), lines_.end(), [&](const Line& line) {
        return line.branch == file.branch &&
               std::any_of(line.fates.begin(), line.fates.end(),
                           [](const VersionFate& fate) { return !fate.removed; });
      });
    }
    case FileKind::kStaging:
      return false;
    case FileKind::kTransaction:
    case FileKind::kData:
    case FileKind::kSidecar:
    case FileKind::kDeletion:
    case FileKind::kIndex:
    case FileKind::kReferenceSet:
      return needed_.contains(Qualified(file.branch, file.owner)) ||
             needed_anywhere_.contains(file.owner);
  }
  return true;
}

std::vector<Removal> CleanupJob::UnneededFiles(CleanupReport* report) const {
  std::vector<Removal> removals;
  report->kept_unverified = {};
  report->kept_other = {};
  report->bytes_before = 0;
  for (const TableFile& file : files_) {
    report->bytes_before += file.info.size;
    if (file.kind == FileKind::kOther) {
      ++report->kept_other.files;
      report->kept_other.bytes += file.info.size;
    }
    if (IsNeeded(file)) continue;
    const bool proved = named_by_removed_.contains(Qualified(file.branch, file.owner));
    const bool old = now_ - file.info.modified_nanos >= kUnverifiedNanos;
    if (!proved && !old && !options_.delete_unverified) {
      ++report->kept_unverified.files;
      report->kept_unverified.bytes += file.info.size;
      continue;
    }
    removals.push_back({file.info.key, file.kind, file.info.size});
  }
  return removals;
}

void CleanupJob::Count(const Removal& removal, CleanupReport* report) {
  FileCount& count = report->removed[removal.kind];
  ++count.files;
  count.bytes += removal.bytes;
}

Status CleanupJob::PutBack(const Context& context, const std::string& key,
                           const arrow::Buffer& manifest) {
  Status put =
      store_->Put(context, key, std::string_view(manifest), storage::PutCondition::kIfAbsent);
  if (!put.ok() && CodeOf(put) != ErrorCode::kPreconditionFailed) return put;
  const std::string keys[] = {key};
  return store_->Sync(context, keys, {});
}

Result<std::vector<Going>> CleanupJob::SetAside(const Batch& batch) {
  // Since the versions were judged, all manifests were read.
  ARROW_RETURN_NOT_OK(ReadReferences(context_));
  std::vector<Going> going;
  std::vector<std::string> copies;
  Status status;
  for (const auto& [line, index] : batch) {
    VersionFate& fate = line->fates[index];
    auto pinned = pinned_.find(fate.version);
    if (pinned != pinned_.end()) {
      fate.removed = false;
      fate.reason = pinned->second;
      continue;
    }
    const std::string key =
        Qualified(line->branch, ManifestKey(fate.version.version, line->list.naming));
    Result<std::shared_ptr<arrow::Buffer>> bytes = store_->GetAll(context_, key, kMaxManifestSize);
    if (!bytes.ok() && CodeOf(bytes.status()) == ErrorCode::kNotFound) continue;
    status = bytes.status();
    if (!status.ok()) break;
    copies.push_back(SetAsideKey(key));
    status = store_->Put(context_, copies.back(), std::string_view(**bytes),
                         storage::PutCondition::kNone);
    if (!status.ok()) break;
    going.push_back({&fate, key, *std::move(bytes)});
  }
  if (status.ok()) status = store_->Sync(context_, copies, {});
  if (status.ok()) return going;
  (void)RemoveUncommitted(context_, store_.get(), copies);
  return status;
}

Status CleanupJob::LookAndPutBack(const Context& settling, const std::vector<Going>& going,
                                  CleanupReport* report) {
  Status known;
  for (int look = 0; look < kMaxLooks; ++look) {
    known = ReadReferences(settling);
    if (known.ok()) break;
  }
  Status failed;
  std::vector<std::string> copies;
  for (const Going& one : going) {
    auto pinned = pinned_.find(one.fate->version);
    if (known.ok() && pinned == pinned_.end()) {
      Count({one.key, FileKind::kManifest, static_cast<uint64_t>(one.bytes->size())}, report);
      progress_.files_done += 1;
    } else {
      Status put = PutBack(settling, one.key, *one.bytes);
      if (!put.ok()) {
        // The next clean-up finds the copy.
        failed = put;
        continue;
      }
      one.fate->removed = false;
      if (known.ok()) one.fate->reason = pinned->second;
      report->restored.push_back(one.fate->version);
    }
    copies.push_back(SetAsideKey(one.key));
  }
  // Best effort: what stays behind is a leftover.
  (void)RemoveUncommitted(settling, store_.get(), copies);
  ARROW_RETURN_NOT_OK(failed);
  return known;
}

Status CleanupJob::RemoveBatch(const Batch& batch, CleanupReport* report) {
  if (batch.empty()) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(const std::vector<Going> going, SetAside(batch));
  // What has begun is settled, even if the caller gave up.
  const Context settling = SettlingContext(context_);
  Status deleted;
  for (const Going& one : going) {
    deleted = store_->Delete(settling, one.key);
    if (!deleted.ok()) break;
  }
  CrashPoint("manifest_removed");
  // A tag or branch that was put since the copies were made: whoever puts one looks whether the
  // version is still there afterwards, so it either saw that it is gone or is seen here.
  ARROW_RETURN_NOT_OK(LookAndPutBack(settling, going, report));
  return deleted;
}

Status CleanupJob::RemoveManifests(CleanupReport* report) {
  Batch batch;
  for (Line& line : lines_) {
    bool removed_any = false;
    for (size_t i = 0; i < line.fates.size(); ++i) {
      if (!line.fates[i].removed) continue;
      removed_any = true;
      batch.emplace_back(&line, i);
      if (batch.size() < kManifestBatch) continue;
      ARROW_RETURN_NOT_OK(RemoveBatch(batch, report));
      batch.clear();
    }
    ARROW_RETURN_NOT_OK(RemoveBatch(batch, report));
    batch.clear();
    // Removals must be durable before files go: a power loss must not bring back a version whose
    // files are gone.
    const std::string folders[] = {"_versions/"};
    if (removed_any) ARROW_RETURN_NOT_OK(line.store->Sync(context_, folders, {}));
  }
  return Status::OK();
}

Status CleanupJob::LookAgain() {
  ARROW_RETURN_NOT_OK(ReadReferences(context_));
  ARROW_ASSIGN_OR_RAISE(std::vector<TableFile> now,
                        ListTableFiles(context_, store_.get(), branch_names_));
  for (const TableFile& file : now) {
    if (file.kind != FileKind::kManifest && file.kind != FileKind::kDetachedManifest) continue;
    // Versions that came up since, and those that were put back.
    if (kept_manifests_.contains(file.info.key)) continue;
    Result<std::shared_ptr<arrow::Buffer>> bytes =
        store_->GetAll(context_, file.info.key, kMaxManifestSize);
    if (!bytes.ok() && CodeOf(bytes.status()) == ErrorCode::kNotFound) continue;
    ARROW_RETURN_NOT_OK(bytes.status());
    ARROW_RETURN_NOT_OK(KeepNamedBy(file, **bytes));
  }
  return Status::OK();
}

Status CleanupJob::RemoveFiles(const std::vector<Removal>& removals, CleanupReport* report) {
  for (size_t first = 0; first < removals.size(); first += kDeleteBatch) {
    ARROW_RETURN_NOT_OK(context_.Check());
    const size_t count = std::min(kDeleteBatch, removals.size() - first);
    Mutex mutex;
    std::vector<bool> gone(count);
    Status status = ParallelFor(IoThreadPool(), count, [&](size_t i) -> Status {
      ARROW_RETURN_NOT_OK(store_->Delete(context_, removals[first + i].key));
      MutexLock lock(&mutex);
      gone[i] = true;
      return Status::OK();
    });
    for (size_t i = 0; i < count; ++i) {
      if (!gone[i]) continue;
      Count(removals[first + i], report);
      ++progress_.files_done;
      progress_.bytes_done += removals[first + i].bytes;
    }
    if (options_.progress) options_.progress(progress_);
    ARROW_RETURN_NOT_OK(status);
    CrashPoint("file_removed");
  }
  return Status::OK();
}

Result<CleanupReport> CleanupJob::Run() {
  now_ = context_.clock->UnixNanos();
  CleanupReport report;
  report.dry_run = options_.dry_run;
  report.started_nanos = now_;
  ARROW_RETURN_NOT_OK(Look());
  for (Line& line : lines_) ARROW_RETURN_NOT_OK(JudgeLine(&line));
  ARROW_RETURN_NOT_OK(KeepDetached());

  std::vector<Removal> removals = UnneededFiles(&report);
  progress_.files_total = removals.size();
  for (const Line& line : lines_) {
    for (const VersionFate& fate : line.fates) progress_.files_total += fate.removed ? 1 : 0;
  }
  if (options_.dry_run) {
    for (const Removal& removal : removals) Count(removal, &report);
    for (const Line& line : lines_) {
      for (size_t i = 0; i < line.fates.size(); ++i) {
        if (!line.fates[i].removed) continue;
        const std::string key =
            Qualified(line.branch, ManifestKey(line.list.versions[i], line.list.naming));
        auto info = manifests_.find(key);
        Count({key, FileKind::kManifest, info == manifests_.end() ? 0 : info->second.size},
              &report);
      }
    }
  } else {
    if (options_.authority) ARROW_RETURN_NOT_OK(options_.authority());
    ARROW_RETURN_NOT_OK(RemoveManifests(&report));
    ARROW_RETURN_NOT_OK(LookAgain());
    removals = UnneededFiles(&report);
    ARROW_RETURN_NOT_OK(RemoveFiles(removals, &report));
  }
  for (Line& line : lines_) {
    report.versions.insert(report.versions.end(), line.fates.begin(), line.fates.end());
  }
  report.bytes_after =
      report.bytes_before - std::min(report.bytes_before, report.total_removed().bytes);
  return report;
}

}  // namespace

FileCount CleanupReport::total_removed() const {
  FileCount total;
  for (const auto& [kind, count] : removed) {
    total.files += count.files;
    total.bytes += count.bytes;
  }
  return total;
}

size_t CleanupReport::num_versions_removed() const {
  return std::count_if(versions.begin(), versions.end(),
                       [](const VersionFate& fate) { return fate.removed; });
}

Result<CleanupReport> CleanUp(const Context& context,
                              const std::shared_ptr<storage::ObjectStore>& store,
                              const CleanupOptions& options) {
  if (options.keep_versions == 0) {
    return Error(ErrorCode::kInvalidArgument, "a clean-up keeps one version at least: {}",
                 store->description());
  }
  return CleanupJob(context, store, options).Run();
}

}  // namespace lake::table
