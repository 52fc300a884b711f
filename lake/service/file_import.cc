#include "lake/service/file_import.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <sys/stat.h>

#include "lake/base/mutex.h"
#include "lake/base/posix_error.h"
#include "lake/base/thread_pool.h"
#include "lake/objects/file_source.h"
#include "lake/service/content_type.h"
#include "lake/service/folder_walk.h"
#include "lake/service/import_rows.h"

namespace lake::service {
namespace {

// Small files are uploaded side by side, since each waits for the disk more than for the processor.
constexpr size_t kGroupFiles = 8;
constexpr uint64_t kGroupBytes = 32 << 20;

// A file on its way into the stage, and what became of it.
struct PendingFile {
  FoundFile found;
  std::unique_ptr<objects::FileSource> source;
  Status outcome;
  objects::DataLocation location;
};

Result<std::filesystem::path> Canonical(const std::string& path) {
  std::error_code error;
  std::filesystem::path canonical = std::filesystem::canonical(path, error);
  if (error) return PosixError(error.value(), "cannot resolve the folder", DisplayName(path));
  return canonical;
}

bool LiesIn(const std::filesystem::path& inner, const std::filesystem::path& outer) {
  auto mismatch = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return mismatch.first == outer.end();
}

class Import {
 public:
  Import(const Context& context, commit::Lakehouse* lakehouse, const catalog::Principal& principal,
         const FileImportRequest& request)
      : context_(context), lakehouse_(lakehouse), principal_(principal), request_(request) {}

  Result<FileImportResult> Run();

 private:
  Status Prepare();
  // The totals of the progress: a walk that opens no file.
  Status CountFiles();
  Status Take(FoundFile file, FolderWalk* walk);
  // Any thread. An error ends the import; what is wrong with the file alone goes to its outcome.
  Status Upload(PendingFile* file);
  // Uploads the group and commits if a limit is reached.
  Status UploadGroup();
  Status CommitRows();

  void Report(const std::string& path, const Status& reason);
  void Advance(uint64_t files, uint64_t bytes) LAKE_EXCLUDES(mutex_);

  const Context& context_;
  commit::Lakehouse* const lakehouse_;
  const catalog::Principal& principal_;
  const FileImportRequest& request_;

  std::shared_ptr<objects::Stage> stage_;
  std::shared_ptr<arrow::Schema> schema_;
  bool has_content_ = false;
  KnownFiles known_;
  struct stat data_dir_state_ = {};

  std::vector<PendingFile> group_;
  uint64_t group_bytes_ = 0;
  std::vector<ImportedFile> rows_;  // uploaded and not committed
  uint64_t rows_bytes_ = 0;
  int64_t rows_since_ = 0;  // monotonic time of the first of them
  FileImportResult result_;

  Mutex mutex_;
  FileImportProgress progress_;  // guarded while a group uploads
};

Status Import::Prepare() {
  ARROW_ASSIGN_OR_RAISE(std::filesystem::path folder, Canonical(request_.folder));
  ARROW_ASSIGN_OR_RAISE(std::filesystem::path data_dir, Canonical(lakehouse_->data_dir()));
  if (LiesIn(folder, data_dir) || LiesIn(data_dir, folder)) {
    return Error(ErrorCode::kInvalidArgument,
                 "the folder to import holds the data folder of lake or lies in it: '{}', '{}'",
                 DisplayName(folder), DisplayName(data_dir));
  }
  if (::stat(data_dir.c_str(), &data_dir_state_) != 0) {
    return PosixError(errno, "cannot read the state of the data folder", DisplayName(data_dir));
  }
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<const commit::OpenTable> table,
      lakehouse_->OpenByName(context_, principal_, request_.table, catalog::NameMatch::kExact));
  schema_ = table->dataset->arrow_schema();
  ARROW_RETURN_NOT_OK(
      WithContext(CheckImportColumns(*schema_), "cannot import into " + request_.table.ToString()));
  has_content_ = schema_->GetFieldIndex("content") >= 0;
  ARROW_ASSIGN_OR_RAISE(stage_, lakehouse_->StageFor(context_, principal_));
  ARROW_ASSIGN_OR_RAISE(known_, KnownFiles::Load(context_, *table));
  return CountFiles();
}

Status Import::CountFiles() {
  ARROW_ASSIGN_OR_RAISE(
      std::unique_ptr<FolderWalk> walk,
      FolderWalk::Open(context_, request_.folder, {.forbidden = data_dir_state_, .problem = {}}));
  while (true) {
    ARROW_ASSIGN_OR_RAISE(std::optional<FoundFile> file, walk->Next());
    if (!file) return Status::OK();
    ++progress_.files_total;
    progress_.bytes_total += file->size;
  }
}

Result<FileImportResult> Import::Run() {
  ARROW_RETURN_NOT_OK(Prepare());
  Advance(0, 0);
  ARROW_ASSIGN_OR_RAISE(
      std::unique_ptr<FolderWalk> walk,
      FolderWalk::Open(context_, request_.folder,
                       {.forbidden = data_dir_state_,
                        .problem = [this](const std::string& path, const Status& reason) {
                          Report(path, reason);
                        }}));
  while (true) {
    ARROW_ASSIGN_OR_RAISE(std::optional<FoundFile> file, walk->Next());
    if (!file) break;
    ARROW_RETURN_NOT_OK(Take(*std::move(file), walk.get()));
  }
  ARROW_RETURN_NOT_OK(UploadGroup());
  ARROW_RETURN_NOT_OK(CommitRows());
  return result_;
}

Status Import::Take(FoundFile file, FolderWalk* walk) {
  if (known_.Contains(file.path, file.size, file.modified_nanos)) {
    ++result_.files_unchanged;
    Advance(1, file.size);
    return Status::OK();
  }
  Result<UniqueFd> fd = walk->OpenCurrent();
  Result<std::unique_ptr<objects::FileSource>> source =
      fd.ok() ? objects::FileSource::Adopt(*std::move(fd), file.path) : fd.status();
  if (!source.ok()) {
    Report(file.path, source.status());
    Advance(1, file.size);
    return Status::OK();
  }
  uint64_t size = (*source)->size();
  bool full = group_.size() == kGroupFiles || group_bytes_ + size > kGroupBytes ||
              rows_.size() + group_.size() >= request_.commit_files;
  if (full) ARROW_RETURN_NOT_OK(UploadGroup());
  group_bytes_ += size;
  PendingFile& pending = group_.emplace_back();
  pending.found = std::move(file);
  pending.source = *std::move(source);
  return Status::OK();
}

Status Import::Upload(PendingFile* file) {
  std::string content_type = GuessContentType(file->found.path);
  if (!has_content_) {
    // Nothing would refer to an object: the row tells of the file and no more.
    file->location.content_type = std::move(content_type);
    file->location.size_bytes = file->source->size();
    return Status::OK();
  }
  Result<objects::DataLocation> location =
      stage_->Upload(context_, file->source.get(),
                     {.content_type = std::move(content_type),
                      .progress = [this](uint64_t bytes) { Advance(0, bytes); }});
  if (location.ok()) {
    file->location = *std::move(location);
    return Status::OK();
  }
  file->outcome = location.status();
  // A file that cannot be read is that file's problem, a stage that cannot be written is
  // everybody's.
  return file->source->error().ok() ? file->outcome : Status::OK();
}

Status Import::UploadGroup() {
  std::vector<PendingFile> group = std::exchange(group_, {});
  group_bytes_ = 0;
  if (!group.empty() && rows_.empty()) rows_since_ = context_.clock->MonotonicNanos();
  ARROW_RETURN_NOT_OK(
      ParallelFor(IoThreadPool(), group.size(), [&](size_t i) { return Upload(&group[i]); }));
  for (PendingFile& file : group) {
    Advance(1, 0);
    if (!file.outcome.ok()) {
      Report(file.found.path, file.outcome);
      continue;
    }
    rows_bytes_ += file.location.size_bytes;
    rows_.push_back({.path = std::move(file.found.path),
                     .modified_nanos = file.source->modified_nanos(),
                     .location = std::move(file.location)});
  }
  bool due = rows_.size() >= request_.commit_files || rows_bytes_ >= request_.commit_bytes ||
             context_.clock->MonotonicNanos() - rows_since_ >= request_.commit_nanos;
  return due ? CommitRows() : Status::OK();
}

Status Import::CommitRows() {
  if (rows_.empty()) return Status::OK();
  // The newest version each time: others may write to the table meanwhile.
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<const commit::OpenTable> table,
      lakehouse_->OpenByName(context_, principal_, request_.table, catalog::NameMatch::kExact));
  if (!table->dataset->arrow_schema()->Equals(*schema_, /*check_metadata=*/false)) {
    return Error(ErrorCode::kConflict,
                 "the table's columns changed during the import; run it again: {}",
                 request_.table.ToString());
  }
  commit::WriteOptions options;
  options.file_provenance_proved = true;  // each value comes from an upload above
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<commit::TableWrite> write,
                        lakehouse_->Append(context_, principal_, table, options));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                        MakeImportRows(context_, write->schema(), rows_));
  ARROW_RETURN_NOT_OK(write->Write(*batch));
  ARROW_ASSIGN_OR_RAISE(commit::CommitOutcome outcome, write->Commit(context_));
  result_.files_imported += rows_.size();
  result_.bytes_imported += rows_bytes_;
  ++result_.commits;
  result_.version = outcome.version;
  rows_.clear();
  rows_bytes_ = 0;
  return Status::OK();
}

void Import::Report(const std::string& path, const Status& reason) {
  ++result_.problems;
  if (request_.problem) request_.problem(path, reason);
}

void Import::Advance(uint64_t files, uint64_t bytes) {
  MutexLock lock(&mutex_);
  progress_.files_done += files;
  progress_.bytes_done += bytes;
  if (request_.progress) request_.progress(progress_);
}

}  // namespace

Result<FileImportResult> ImportFiles(const Context& context, commit::Lakehouse* lakehouse,
                                     const catalog::Principal& principal,
                                     const FileImportRequest& request) {
  return Import(context, lakehouse, principal, request).Run();
}

}  // namespace lake::service
