#include "lake/table/fragment_source.h"

#include <optional>

#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/table/deletion_file.h"
#include "lake/table/manifest_internal.h"

namespace lake::table {

namespace {

constexpr size_t kMaxOpenFiles = 256;

/// Where a leaf field lies in a fragment.
struct LeafPlace {
  size_t file;
  int column;
};

using LeafPlaces = std::unordered_map<int32_t, LeafPlace>;

/// Maps the ids of a fragment's columns to their places. Parents, which older writers list without
/// a column, and dead fields are left out.
Result<LeafPlaces> FindLeaves(const Fragment& fragment) {
  LeafPlaces places;
  for (size_t i = 0; i < fragment.files.size(); ++i) {
    const DataFile& file = fragment.files[i];
    for (size_t j = 0; j < file.column_indices.size(); ++j) {
      const int32_t id = file.field_ids[j];
      if (id < 0 || file.column_indices[j] < 0) continue;
      if (!places.try_emplace(id, LeafPlace{i, file.column_indices[j]}).second) {
        return Error(ErrorCode::kCorrupt,
                     "two columns of a fragment claim one field: fragment {}, field {}, file {}",
                     fragment.id, id, file.path);
      }
    }
  }
  return places;
}

/// What to read from one file, and where its columns go in the output.
struct FileRequest {
  std::vector<format::ColumnRequest> columns;
  std::vector<size_t> outputs;
};

/// Sorts `fields` by the file that holds them. Those that no file holds are in no request.
Result<std::vector<FileRequest>> PlanRead(const Fragment& fragment,
                                          std::span<const format::Field* const> fields) {
  ARROW_ASSIGN_OR_RAISE(LeafPlaces places, FindLeaves(fragment));
  std::vector<FileRequest> requests(fragment.files.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    format::ColumnRequest request{*fields[i], {}};
    std::optional<size_t> file;
    for (int32_t id : format::Schema::LeafIds(*fields[i])) {
      auto place = places.find(id);
      if (place == places.end()) {
        request.columns.push_back(-1);
        continue;
      }
      request.columns.push_back(place->second.column);
      if (file && *file != place->second.file) {
        return Error(ErrorCode::kUnsupported,
                     "parts of a column lie in several files of a fragment; compact the table: "
                     "column \"{}\", fragment {}",
                     fields[i]->name, fragment.id);
      }
      file = place->second.file;
    }
    if (!file) {
      if (!fields[i]->nullable) {
        return Error(ErrorCode::kCorrupt,
                     "a fragment lacks a column that is never null: column \"{}\", fragment {}",
                     fields[i]->name, fragment.id);
      }
      continue;
    }
    requests[*file].columns.push_back(std::move(request));
    requests[*file].outputs.push_back(i);
  }
  return requests;
}

}  // namespace

FragmentSource::FragmentSource(std::shared_ptr<storage::ObjectStore> store,
                               std::shared_ptr<const Manifest> manifest)
    : store_(std::move(store)),
      manifest_(std::move(manifest)),
      deletions_(manifest_->fragments().size()) {}

std::shared_ptr<FragmentSource::OpenFile> FragmentSource::Slot(const std::string& key) {
  MutexLock lock(&files_mutex_);
  auto [found, added] = files_.try_emplace(key);
  CachedFile& cached = found->second;
  if (!added) {
    recency_.splice(recency_.begin(), recency_, cached.recency);
    return cached.file;
  }
  recency_.push_front(key);
  cached = {std::make_shared<OpenFile>(), recency_.begin()};
  std::shared_ptr<OpenFile> file = cached.file;
  if (files_.size() > kMaxOpenFiles) {
    files_.erase(recency_.back());
    recency_.pop_back();
  }
  return file;
}

Result<std::shared_ptr<format::FileReader>> FragmentSource::Open(const Context& context,
                                                                 const DataFile& file) {
  const std::string key = DataFileKey(file);
  if (file.base_id) {
    return Error(ErrorCode::kUnsupported, "data file lies in another base folder: {}: base {}", key,
                 *file.base_id);
  }
  ARROW_RETURN_NOT_OK(format::CheckReadable(file.version, key));
  std::shared_ptr<OpenFile> slot = Slot(key);
  // Threads that want the same file wait for the one that opens it.
  MutexLock lock(&slot->mutex);
  if (slot->reader == nullptr) {
    std::optional<uint64_t> size;
    if (file.size_bytes != 0) size = file.size_bytes;
    ARROW_ASSIGN_OR_RAISE(slot->reader, format::FileReader::Open(context, store_, key, size));
  }
  return slot->reader;
}

Result<uint64_t> FragmentSource::PhysicalRows(const Context& context, const Fragment& fragment) {
  if (fragment.physical_rows != 0 || fragment.files.empty()) return fragment.physical_rows;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<format::FileReader> reader,
                        Open(context, fragment.files.front()));
  return reader->num_rows();
}

Result<std::shared_ptr<const DeletionVector>> FragmentSource::Deletions(const Context& context,
                                                                        const Fragment& fragment) {
  LoadedDeletions& loaded = deletions_[&fragment - manifest_->fragments().data()];
  MutexLock lock(&loaded.mutex);
  if (loaded.vector == nullptr) {
    ARROW_ASSIGN_OR_RAISE(loaded.vector, LoadDeletions(context, fragment));
  }
  return loaded.vector;
}

Result<std::shared_ptr<const DeletionVector>> FragmentSource::LoadDeletions(
    const Context& context, const Fragment& fragment) {
  if (!fragment.deletion_file) return std::make_shared<const DeletionVector>();
  ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows, PhysicalRows(context, fragment));
  ARROW_ASSIGN_OR_RAISE(DeletionVector vector,
                        ReadDeletionFile(context, store_.get(), fragment, physical_rows));
  return std::make_shared<const DeletionVector>(std::move(vector));
}

Result<std::shared_ptr<arrow::RecordBatch>> FragmentSource::Read(
    const Context& context, const Fragment& fragment, std::span<const format::Field* const> fields,
    const format::RowSelection& rows) {
  ARROW_ASSIGN_OR_RAISE(std::vector<FileRequest> requests, PlanRead(fragment, fields));
  ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows, PhysicalRows(context, fragment));
  std::vector<std::shared_ptr<arrow::Array>> arrays(fields.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const FileRequest& request = requests[i];
    if (request.columns.empty()) continue;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<format::FileReader> reader,
                          Open(context, fragment.files[i]));
    if (reader->num_rows() != physical_rows) {
      return Error(ErrorCode::kCorrupt,
                   "data file has another number of rows than its fragment: {}: {}, not {}",
                   DataFileKey(fragment.files[i]), reader->num_rows(), physical_rows);
    }
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                          reader->Read(context, request.columns, rows));
    for (size_t j = 0; j < request.outputs.size(); ++j) {
      arrays[request.outputs[j]] = batch->column(static_cast<int>(j));
    }
  }
  arrow::FieldVector arrow_fields;
  arrow_fields.reserve(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Field> field, format::ToArrow(*fields[i]));
    if (arrays[i] == nullptr) {
      ARROW_ASSIGN_OR_RAISE(arrays[i],
                            arrow::MakeArrayOfNull(field->type(), rows.num_rows(), context.pool()));
    }
    arrow_fields.push_back(std::move(field));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(arrow_fields)), rows.num_rows(),
                                  std::move(arrays));
}

}  // namespace lake::table
