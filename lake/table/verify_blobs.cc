// What is looked at in the blobs of a data file: whether the bytes that its rows name are there.

#include <algorithm>
#include <map>

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "lake/base/checked.h"
#include "lake/format/blob.h"
#include "lake/table/blob_location.h"
#include "lake/table/verify_version_internal.h"

namespace lake::table {

namespace {

constexpr uint64_t kRowsAtOnce = 64 * 1024;
constexpr char kAdvice[] = "bring the file back from a backup, or restore a version without it";

/// A blob column of a data file, on the way from its top-level field.
struct BlobPath {
  const format::Field* top = nullptr;
  std::vector<int> steps;
  std::string name;
  int32_t id = -1;
};

void FindBlobs(const format::Field& field, BlobPath path, std::vector<BlobPath>* found) {
  path.id = field.id;
  if (field.is_blob_v1() || field.is_blob_v2()) {
    found->push_back(std::move(path));
    return;
  }
  if (field.logical_type != "struct") return;
  for (size_t i = 0; i < field.children.size(); ++i) {
    BlobPath child = path;
    child.steps.push_back(static_cast<int>(i));
    child.name += "." + field.children[i].name;
    FindBlobs(field.children[i], std::move(child), found);
  }
}

class BlobCheck {
 public:
  BlobCheck(VerifyJob* job, BaseStores* bases, const DataFile& file, std::string key,
            VerifyJob::SeenFile* seen)
      : job_(job), bases_(bases), file_(file), key_(std::move(key)), seen_(seen) {}

  /// Reads where the blobs of a column lie.
  Status ReadColumn(const BlobPath& path, int column);
  /// Looks for the blob files that were named.
  Status CheckFiles();

 private:
  Result<std::shared_ptr<arrow::Array>> ReadRows(const BlobPath& path, int column, uint64_t row,
                                                 uint64_t count) const;
  void Note(const BlobPath& path, const format::BlobPlace& place);

  VerifyJob* const job_;
  BaseStores* const bases_;
  const DataFile& file_;
  const std::string key_;
  VerifyJob::SeenFile* const seen_;
  /// By number of the blob file: how many bytes it must have.
  std::map<uint32_t, uint64_t> ends_;
};

Result<std::shared_ptr<arrow::Array>> BlobCheck::ReadRows(const BlobPath& path, int column,
                                                          uint64_t row, uint64_t count) const {
  format::ColumnRequest request;
  request.field = *path.top;
  for (const int32_t id : format::Schema::ColumnIds(*path.top, file_.version)) {
    request.columns.push_back(id == path.id ? column : -1);
  }
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::RecordBatch> batch,
                        seen_->reader->Read(job_->context(), std::span(&request, 1), {row, count}));
  std::shared_ptr<arrow::Array> array = batch->column(0);
  for (const int step : path.steps) {
    ARROW_ASSIGN_OR_RAISE(array,
                          static_cast<const arrow::StructArray&>(*array).GetFlattenedField(step));
  }
  return array;
}

void BlobCheck::Note(const BlobPath& path, const format::BlobPlace& place) {
  // What lies outside of the table is not the table's.
  if (place.kind == format::BlobKind::kExternal) return;
  if (!CheckedAdd(place.position, place.size) ||
      (place.kind == format::BlobKind::kInline &&
       !RangeFits(place.position, place.size, seen_->reader->file_size()))) {
    job_->Error(key_,
                fmt::format("a blob lies behind the end of the file: column \"{}\", {} bytes at {}",
                            path.name, place.size, place.position),
                kAdvice);
    return;
  }
  if (place.kind == format::BlobKind::kInline) return;
  uint64_t& end = ends_[place.blob_id];
  end = std::max(end, place.position + place.size);
}

Status BlobCheck::ReadColumn(const BlobPath& path, int column) {
  const uint64_t rows = seen_->reader->num_rows();
  for (uint64_t row = 0; row < rows; row += kRowsAtOnce) {
    ARROW_RETURN_NOT_OK(job_->context().Check());
    const auto array = ReadRows(path, column, row, std::min(kRowsAtOnce, rows - row));
    Status status = array.status();
    if (status.ok()) {
      ARROW_ASSIGN_OR_RAISE(const format::BlobPlaces places, format::BlobPlaces::Of(**array));
      for (int64_t i = 0; i < places.length() && status.ok(); ++i) {
        if (places.IsNull(i)) continue;
        const auto place = places.At(i);
        status = place.status();
        if (place.ok()) Note(path, *place);
      }
    }
    if (status.ok()) continue;
    job_->Error(
        key_,
        fmt::format("blobs of column \"{}\" cannot be found: {}", path.name, ErrorText(status)),
        kAdvice);
    return Status::OK();
  }
  return Status::OK();
}

Status BlobCheck::CheckFiles() {
  for (const auto& [id, end] : ends_) {
    ARROW_RETURN_NOT_OK(job_->context().Check());
    const std::string own_key = BlobFileKey(file_.path, id);
    ARROW_ASSIGN_OR_RAISE(const BaseStores::Place place,
                          bases_->FindKey(job_->context(), file_.base_id, own_key));
    const Result<storage::ObjectInfo> info = place.store->Head(job_->context(), place.key);
    if (!info.ok()) {
      const bool missing = CodeOf(info.status()) == ErrorCode::kNotFound;
      job_->Error(place.key,
                  missing ? fmt::format("blob file is missing ({} names it)", key_)
                          : ErrorText(info.status()),
                  kAdvice);
    } else if (info->size < end) {
      job_->Error(place.key,
                  fmt::format("blob file is shorter than its blobs: {} bytes, not {} ({} names it)",
                              info->size, end, key_),
                  kAdvice);
    }
  }
  return Status::OK();
}

}  // namespace

Status VerifyBlobs(VerifyJob* job, const format::Schema& schema, const DataFile& file,
                   const std::string& key, BaseStores* bases, VerifyJob::SeenFile* seen) {
  std::vector<BlobPath> paths;
  for (const format::Field& field : schema.fields) {
    FindBlobs(field, {&field, {}, field.name, field.id}, &paths);
  }
  BlobCheck check(job, bases, file, key, seen);
  for (const BlobPath& path : paths) {
    const auto place = std::find(file.field_ids.begin(), file.field_ids.end(), path.id);
    const size_t i = place - file.field_ids.begin();
    const int column = i < file.column_indices.size() ? file.column_indices[i] : -1;
    if (column < 0 || !seen->blobs_checked.insert(column).second) continue;
    ARROW_RETURN_NOT_OK(check.ReadColumn(path, column));
  }
  return check.CheckFiles();
}

}  // namespace lake::table
