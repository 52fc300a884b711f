// What is looked at in one version: manifest, fragments, data files, deletion files.

#include <algorithm>

#include <arrow/record_batch.h>

#include "lake/table/deletion_file.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/row_bytes.h"
#include "lake/table/verify_version_internal.h"

namespace lake::table {

namespace {

constexpr uint64_t kMostRowsAtOnce = 64 * 1024;
constexpr uint64_t kMostBytesAtOnce = 32ull << 20;
constexpr char kRestore[] = "bring the file back from a backup, or restore a version without it";
constexpr char kOthersCanBeRead[] = "other columns can be read; bring the file back from a backup";
constexpr char kRewrite[] = "write the rows again, or restore an older version";

class VersionCheck {
 public:
  VersionCheck(VerifyJob* job, std::shared_ptr<storage::ObjectStore> own,
               std::shared_ptr<storage::ObjectStore> root, const std::string& line,
               std::shared_ptr<const Manifest> manifest)
      : job_(job),
        manifest_(std::move(manifest)),
        where_(fmt::format("{}version {}", line, manifest_->version())),
        bases_(std::move(own), std::move(root), manifest_->base_paths(), job->options().open_base) {
  }

  Status Run();

 private:
  void CheckManifest();
  Status CheckFragment(const Fragment& fragment);
  /// Each leaf of the schema lies in one column of one file, or in none.
  void CheckColumns(const Fragment& fragment, const std::string& name);
  Status CheckDataFile(const Fragment& fragment, const DataFile& file, const std::string& name);
  Status ReadColumns(const DataFile& file, const std::string& key, VerifyJob::SeenFile* seen);
  void CheckDeletions(const Fragment& fragment, const std::string& name);

  VerifyJob* const job_;
  const std::shared_ptr<const Manifest> manifest_;
  const std::string where_;
  BaseStores bases_;
  std::set<int32_t> leaves_;
  /// Only where row ids need it.
  std::map<uint64_t, DeletionVector> deleted_;
};

Status VersionCheck::Run() {
  CheckManifest();
  Status readable = CheckReadable(*manifest_, where_);
  if (!readable.ok()) {
    job_->Error(where_, ErrorText(readable), "open it with a newer lake");
    return Status::OK();
  }
  for (const format::Field& field : manifest_->schema().fields) {
    for (const int32_t id : format::Schema::LeafIds(field)) {
      if (!leaves_.insert(id).second) {
        job_->Error(where_, fmt::format("two columns have one field id: {}", id), kRewrite);
      }
    }
  }
  std::set<uint64_t> ids;
  for (const Fragment& fragment : manifest_->fragments()) {
    if (!ids.insert(fragment.id).second) {
      job_->Error(where_, fmt::format("two fragments have one id: {}", fragment.id), kRewrite);
    }
    ARROW_RETURN_NOT_OK(CheckFragment(fragment));
  }
  VerifyRowIds(job_, where_, *manifest_, deleted_);
  return VerifyIndices(job_, where_, *manifest_, &bases_);
}

void VersionCheck::CheckManifest() {
  Status writable = CheckWritable(*manifest_, where_);
  if (!writable.ok() && CheckReadable(*manifest_, where_).ok()) {
    job_->Add(Severity::kWarning, where_, ErrorText(writable), "change it with a newer lake");
  }
  bool deletions = false;
  for (const Fragment& fragment : manifest_->fragments()) {
    deletions |= fragment.deletion_file.has_value();
    // The manifest's own word: an absent one is counted from the fragments.
    const pb::Manifest& message = FileOf(*manifest_).message();
    if (message.has_max_fragment_id() && fragment.id > message.max_fragment_id()) {
      job_->Error(where_,
                  fmt::format("highest fragment id is below that of a fragment: {}", fragment.id),
                  "the next append may give the id twice; restore an older version");
    }
  }
  if (deletions && (manifest_->reader_flags() & kFlagDeletionFiles) == 0) {
    job_->Add(Severity::kWarning, where_,
              "flag of deletion files is not set, though there are some",
              "the next commit sets it");
  }
  if (!manifest_->base_paths().empty() && (manifest_->reader_flags() & kFlagBasePaths) == 0) {
    job_->Add(Severity::kWarning, where_, "flag of base paths is not set, though there are some",
              "the next commit sets it");
  }
}

void VersionCheck::CheckColumns(const Fragment& fragment, const std::string& name) {
  std::set<int32_t> held;
  for (const DataFile& file : fragment.files) {
    for (size_t i = 0; i < file.column_indices.size() && i < file.field_ids.size(); ++i) {
      const int32_t id = file.field_ids[i];
      if (id < 0 || file.column_indices[i] < 0) continue;
      // Only a struct may have columns in several files.
      if (!held.insert(id).second && leaves_.contains(id)) {
        job_->Error(name, fmt::format("two columns claim one field: field {}", id), kRewrite);
      }
    }
  }
  for (const format::Field& field : manifest_->schema().fields) {
    const std::vector<int32_t> ids = format::Schema::LeafIds(field);
    const bool missing =
        std::none_of(ids.begin(), ids.end(), [&](int32_t id) { return held.contains(id); });
    if (missing && !field.nullable && !ids.empty()) {
      job_->Error(name,
                  fmt::format("column that is never null lies in no file: \"{}\"", field.name),
                  kRewrite);
    }
  }
}

Status VersionCheck::ReadColumns(const DataFile& file, const std::string& key,
                                 VerifyJob::SeenFile* seen) {
  for (const format::Field& field : manifest_->schema().fields) {
    format::ColumnRequest request;
    request.field = field;
    bool fresh = false;
    bool present = false;
    for (const int32_t id : format::Schema::ColumnIds(field, file.version)) {
      auto place = std::find(file.field_ids.begin(), file.field_ids.end(), id);
      const size_t i = place - file.field_ids.begin();
      const int column = i < file.column_indices.size() ? file.column_indices[i] : -1;
      request.columns.push_back(column);
      present |= column >= 0;
      fresh |= column >= 0 && seen->columns_read.insert(column).second;
    }
    if (!present || !fresh) continue;
    ARROW_RETURN_NOT_OK(job_->context().Check());
    const Result<uint64_t> bytes =
        seen->reader->EstimateBytes(job_->context(), std::span(&request, 1), kMostRowsAtOnce);
    if (!bytes.ok()) {
      job_->Error(key, fmt::format("column \"{}\": {}", field.name, ErrorText(bytes.status())),
                  kOthersCanBeRead);
      continue;
    }
    const uint64_t step = RowsPerRead(BytesPerRead(job_->context(), kMostBytesAtOnce),
                                      *bytes / kMostRowsAtOnce, kMostRowsAtOnce);
    for (uint64_t row = 0; row < seen->reader->num_rows(); row += step) {
      ARROW_RETURN_NOT_OK(job_->context().Check());
      const uint64_t count = std::min(step, seen->reader->num_rows() - row);
      Result<std::shared_ptr<arrow::RecordBatch>> batch =
          seen->reader->Read(job_->context(), std::span(&request, 1), {row, count});
      Status status = batch.ok() ? (*batch)->ValidateFull() : batch.status();
      if (!status.ok()) {
        job_->Error(key,
                    fmt::format("column \"{}\", rows {} to {}: {}", field.name, row,
                                row + count - 1, ErrorText(status)),
                    kOthersCanBeRead);
        break;
      }
      job_->report()->rows_read += count;
    }
  }
  return Status::OK();
}

Status VersionCheck::CheckDataFile(const Fragment& fragment, const DataFile& file,
                                   const std::string& name) {
  for (const int32_t id : file.field_ids) {
    if (id < -2) {
      job_->Add(Severity::kWarning, name, fmt::format("field id that lake does not know: {}", id),
                "open it with a newer lake");
    }
  }
  Result<BaseStores::Place> place = bases_.Find(job_->context(), file);
  if (!place.ok()) {
    job_->Error(name, ErrorText(place.status()), "make the folder of the base accessible");
    return Status::OK();
  }
  if (!format::CheckReadable(file.version, place->key).ok()) {
    job_->Error(place->key, fmt::format("file version {} is not read", file.version.ToString()),
                "open it with a newer lake");
    return Status::OK();
  }
  VerifyJob::SeenFile* const seen = job_->Look(*place, file);
  if (seen->reader == nullptr) return Status::OK();
  if (fragment.physical_rows != 0 && seen->reader->num_rows() != fragment.physical_rows) {
    job_->Error(place->key,
                fmt::format("it has another number of rows than its fragment: {}, not {} ({})",
                            seen->reader->num_rows(), fragment.physical_rows, name),
                kRestore);
  }
  for (const int32_t column : file.column_indices) {
    if (column >= seen->reader->num_columns()) {
      job_->Error(place->key,
                  fmt::format("manifest names a column that it does not have: column {} of {} ({})",
                              column, seen->reader->num_columns(), name),
                  kRestore);
      return Status::OK();
    }
  }
  ARROW_RETURN_NOT_OK(VerifyBlobs(job_, manifest_->schema(), file, place->key, &bases_, seen));
  if (job_->options().read_data) return ReadColumns(file, place->key, seen);
  return Status::OK();
}

void VersionCheck::CheckDeletions(const Fragment& fragment, const std::string& name) {
  Result<BaseStores::Place> place =
      bases_.Find(job_->context(), fragment.id, *fragment.deletion_file);
  if (!place.ok()) {
    job_->Error(name, ErrorText(place.status()), "make the folder of the base accessible");
    return;
  }
  if (fragment.physical_rows == 0) return;
  Result<DeletionVector> rows = ReadDeletionFileAt(job_->context(), place->store.get(), place->key,
                                                   *fragment.deletion_file, fragment.physical_rows);
  if (!rows.ok()) {
    job_->Error(place->key, fmt::format("{} ({})", ErrorText(rows.status()), name),
                "deleted rows of the fragment are not known; bring the file back from a backup");
    return;
  }
  if (manifest_->has_stable_row_ids()) deleted_[fragment.id] = *rows;
  if (rows->num_deleted() == fragment.physical_rows) {
    job_->Add(Severity::kInfo, name, "all rows of the fragment are deleted",
              "a compaction takes it out");
  }
}

Status VersionCheck::CheckFragment(const Fragment& fragment) {
  const std::string name = fmt::format("{}, fragment {}", where_, fragment.id);
  if (fragment.files.empty()) {
    job_->Error(name, "it has no data file", kRewrite);
  }
  if (fragment.physical_rows == 0) {
    job_->Add(Severity::kInfo, name, "the manifest does not say how many rows it has",
              "a compaction writes it anew");
  }
  CheckColumns(fragment, name);
  for (const DataFile& file : fragment.files) {
    ARROW_RETURN_NOT_OK(CheckDataFile(fragment, file, name));
  }
  if (fragment.deletion_file) CheckDeletions(fragment, name);
  return job_->context().Check();
}

}  // namespace

void VerifyJob::Add(Severity severity, std::string object, std::string what, std::string advice) {
  if (!noted_.insert(object + "\n" + what).second) return;
  report_->findings.push_back({severity, std::move(object), std::move(what), std::move(advice)});
}

VerifyJob::SeenFile* VerifyJob::Look(const BaseStores::Place& place, const DataFile& file) {
  auto [found, fresh] =
      files_.try_emplace(place.store->description() + "/" + place.key, SeenFile{});
  SeenFile* const seen = &found->second;
  if (!fresh) return seen;
  ++report_->data_files;
  Result<storage::ObjectInfo> info = place.store->Head(context_, place.key);
  if (!info.ok()) {
    const bool missing = CodeOf(info.status()) == ErrorCode::kNotFound;
    Error(place.key, missing ? "data file is missing" : ErrorText(info.status()), kRestore);
    return seen;
  }
  if (file.size_bytes != 0 && info->size != file.size_bytes) {
    Error(place.key,
          fmt::format("data file is {} than the manifest says: {} bytes, not {}",
                      info->size < file.size_bytes ? "shorter" : "longer", info->size,
                      file.size_bytes),
          kRestore);
    return seen;
  }
  Result<std::shared_ptr<format::FileReader>> reader =
      format::FileReader::Open(context_, place.store, place.key, info->size);
  if (!reader.ok()) {
    Error(place.key, ErrorText(reader.status()), kRestore);
    return seen;
  }
  if ((*reader)->version() != file.version) {
    Error(place.key,
          fmt::format("file version is another than the manifest says: {}, not {}",
                      (*reader)->version().ToString(), file.version.ToString()),
          kRestore);
  }
  seen->reader = *std::move(reader);
  return seen;
}

Status VerifyVersion(VerifyJob* job, const std::shared_ptr<storage::ObjectStore>& own,
                     const std::shared_ptr<storage::ObjectStore>& root, const std::string& line,
                     const std::shared_ptr<const Manifest>& manifest) {
  return VersionCheck(job, own, root, line, manifest).Run();
}

}  // namespace lake::table
