#include "lake/table/fragment_source.h"

#include <algorithm>
#include <limits>
#include <optional>

#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/checked.h"
#include "lake/table/column_parts.h"
#include "lake/table/deletion_file.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/row_bytes.h"
#include "lake/table/row_ids_of_fragment.h"
#include "lake/table/table_cache.h"

namespace lake::table {

namespace {

constexpr size_t kMaxOpenFiles = 256;
// Row ids that are kept decoded: mostly those of the few fragments that are being scanned.
constexpr size_t kMostRowIdBytes = 16 << 20;

/// The columns of one file by field id. Parents, which older writers list without a column, and
/// dead fields are left out.
using FileColumns = std::unordered_map<int32_t, int>;

Result<std::vector<FileColumns>> FindColumns(const Fragment& fragment) {
  std::vector<FileColumns> result(fragment.files.size());
  for (size_t i = 0; i < fragment.files.size(); ++i) {
    const DataFile& file = fragment.files[i];
    // Else the columns of a file that lists none would be taken for missing ones, which are null.
    ARROW_RETURN_NOT_OK(format::CheckReadable(file.version, DataFileKey(file)));
    for (size_t j = 0; j < file.column_indices.size(); ++j) {
      const int32_t id = file.field_ids[j];
      if (id < 0 || file.column_indices[j] < 0) continue;
      if (!result[i].try_emplace(id, file.column_indices[j]).second) {
        return Error(ErrorCode::kCorrupt,
                     "two columns of a fragment claim one field: fragment {}, field {}, file {}",
                     fragment.id, id, file.path);
      }
    }
  }
  return result;
}

/// A struct may have a column in several files, a leaf in one.
Status CheckOneFile(const Fragment& fragment, std::span<const FileColumns> files,
                    const format::Field& field) {
  for (const int32_t id : format::Schema::LeafIds(field)) {
    const auto holds = [id](const FileColumns& file) { return file.contains(id); };
    if (std::count_if(files.begin(), files.end(), holds) > 1) {
      return Error(ErrorCode::kCorrupt,
                   "two columns of a fragment claim one field: fragment {}, field {}", fragment.id,
                   id);
    }
  }
  return Status::OK();
}

/// Sorts `fields` by the files that hold them, or parts of them. Those that no file holds are in no
/// request.
Result<std::vector<FileColumnsRequest>> PlanRead(const Fragment& fragment,
                                                 std::span<const format::Field* const> fields,
                                                 bool keep_dictionaries) {
  ARROW_ASSIGN_OR_RAISE(const std::vector<FileColumns> files, FindColumns(fragment));
  std::vector<FileColumnsRequest> requests(fragment.files.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    ARROW_RETURN_NOT_OK(CheckOneFile(fragment, files, *fields[i]));
    bool found = false;
    for (size_t file = 0; file < files.size(); ++file) {
      format::ColumnRequest request{*fields[i], {}, keep_dictionaries};
      bool holds = false;
      for (const int32_t id : format::Schema::ColumnIds(*fields[i], fragment.files[file].version)) {
        const auto column = files[file].find(id);
        holds |= column != files[file].end();
        request.columns.push_back(column == files[file].end() ? -1 : column->second);
      }
      if (!holds) continue;
      found = true;
      requests[file].columns.push_back(std::move(request));
      requests[file].outputs.push_back(i);
    }
    if (!found && !fields[i]->nullable) {
      return Error(ErrorCode::kCorrupt,
                   "a fragment lacks a column that is never null: column \"{}\", fragment {}",
                   fields[i]->name, fragment.id);
    }
  }
  return requests;
}

}  // namespace

FragmentSource::FragmentSource(std::shared_ptr<BaseStores> bases,
                               std::shared_ptr<const Manifest> manifest)
    : bases_(std::move(bases)),
      manifest_(std::move(manifest)),
      deletions_(manifest_->fragments().size()),
      row_ids_(kMostRowIdBytes) {}

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
  ARROW_ASSIGN_OR_RAISE(const BaseStores::Place place, bases_->Find(context, file));
  const std::string& key = place.key;
  ARROW_RETURN_NOT_OK(format::CheckReadable(file.version, key));
  std::shared_ptr<OpenFile> slot =
      Slot(file.base_id ? fmt::format("{}:{}", *file.base_id, key) : key);
  // Threads that want the same file wait for the one that opens it.
  MutexLock lock(&slot->mutex);
  if (slot->reader == nullptr) {
    std::optional<uint64_t> size;
    if (file.size_bytes != 0) size = file.size_bytes;
    const std::string identity = place.store->identity();
    // What a call with memory of its own allocates must not outlive that memory.
    const bool shared = size && !identity.empty() && context.memory_pool == nullptr;
    if (shared) slot->reader = TableCache::Process()->FindReader(identity, key, *size);
    if (slot->reader != nullptr) return slot->reader;
    ARROW_ASSIGN_OR_RAISE(slot->reader, format::FileReader::Open(context, place.store, key, size));
    if (shared) TableCache::Process()->PutReader(identity, key, *size, slot->reader);
  }
  return slot->reader;
}

bool FragmentSource::HasField(const Fragment& fragment, const format::Field& field) {
  for (const int32_t id : format::Schema::LeafIds(field)) {
    for (const DataFile& file : fragment.files) {
      const bool is_numbered = !file.column_indices.empty();
      for (size_t i = 0; i < file.field_ids.size(); ++i) {
        if (file.field_ids[i] == id && (!is_numbered || file.column_indices[i] >= 0)) return true;
      }
    }
  }
  return false;
}

Result<uint64_t> FragmentSource::PhysicalRows(const Context& context, const Fragment& fragment) {
  if (fragment.physical_rows != 0 || fragment.files.empty()) return fragment.physical_rows;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<format::FileReader> reader,
                        Open(context, fragment.files.front()));
  return reader->num_rows();
}

Result<uint64_t> FragmentSource::RowBytes(const Context& context, const Fragment& fragment,
                                          uint64_t physical_rows,
                                          const arrow::FieldVector& fields) {
  if (!HasVariableWidth(fields)) return table::RowBytes(fields, 0, physical_rows);
  uint64_t bytes = 0;
  for (const DataFile& file : fragment.files) {
    uint64_t size = file.size_bytes;
    // Old writers do not say it. A file that is not read is refused where it would be.
    if (size == 0 && format::CheckReadable(file.version, file.path).ok()) {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<format::FileReader> reader, Open(context, file));
      size = reader->file_size();
    }
    bytes = CheckedAdd(bytes, size).value_or(std::numeric_limits<uint64_t>::max());
  }
  return table::RowBytes(fields, bytes, physical_rows);
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
  ARROW_ASSIGN_OR_RAISE(const BaseStores::Place place,
                        bases_->Find(context, fragment.id, *fragment.deletion_file));
  ARROW_ASSIGN_OR_RAISE(DeletionVector vector,
                        ReadDeletionFileAt(context, place.store.get(), place.key,
                                           *fragment.deletion_file, physical_rows));
  return std::make_shared<const DeletionVector>(std::move(vector));
}

Result<std::shared_ptr<const FragmentRowIds>> FragmentSource::RowIds(const Context& context,
                                                                     const Fragment& fragment) {
  std::shared_ptr<const FragmentRowIds> ids = row_ids_.Find(fragment.id);
  if (ids != nullptr) return ids;
  ARROW_ASSIGN_OR_RAISE(const uint64_t physical_rows, PhysicalRows(context, fragment));
  ARROW_ASSIGN_OR_RAISE(ids, FragmentRowIds::Of(fragment, physical_rows));
  row_ids_.Put(fragment.id, ids, ids->MemoryUse());
  return ids;
}

Result<std::unique_ptr<FetchedFragment>> FragmentSource::Fetch(
    const Context& context, const Fragment& fragment, std::span<const format::Field* const> fields,
    const format::RowSelection& rows, bool keep_dictionaries) {
  ARROW_ASSIGN_OR_RAISE(std::vector<FileColumnsRequest> requests,
                        PlanRead(fragment, fields, keep_dictionaries));
  ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows, PhysicalRows(context, fragment));
  auto fetched = std::make_unique<FetchedFragment>();
  fetched->fields_.assign(fields.begin(), fields.end());
  fetched->num_rows_ = rows.num_rows();
  for (size_t i = 0; i < requests.size(); ++i) {
    FileColumnsRequest& request = requests[i];
    if (request.columns.empty()) continue;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<format::FileReader> reader,
                          Open(context, fragment.files[i]));
    // Which columns to ask for was decided by what the manifest says.
    if (reader->version() != fragment.files[i].version) {
      return Error(ErrorCode::kCorrupt,
                   "data file has another version than the manifest says: {}: {}, not {}",
                   DataFileKey(fragment.files[i]), reader->version().ToString(),
                   fragment.files[i].version.ToString());
    }
    if (reader->num_rows() != physical_rows) {
      return Error(ErrorCode::kCorrupt,
                   "data file has another number of rows than its fragment: {}: {}, not {}",
                   DataFileKey(fragment.files[i]), reader->num_rows(), physical_rows);
    }
    ARROW_ASSIGN_OR_RAISE(auto part, reader->Fetch(context, request.columns, rows));
    fetched->parts_.push_back({std::move(part), std::move(request), reader->version()});
  }
  return fetched;
}

Result<std::shared_ptr<arrow::RecordBatch>> FragmentSource::Read(
    const Context& context, const Fragment& fragment, std::span<const format::Field* const> fields,
    const format::RowSelection& rows) {
  ARROW_ASSIGN_OR_RAISE(auto fetched, Fetch(context, fragment, fields, rows));
  return fetched->Decode(context);
}

uint64_t FetchedFragment::bytes() const {
  uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.rows->bytes();
  return bytes;
}

Result<std::shared_ptr<arrow::RecordBatch>> FetchedFragment::Decode(const Context& context) {
  const int64_t num_rows = static_cast<int64_t>(num_rows_);
  std::vector<std::vector<ColumnPart>> columns(fields_.size());
  for (Part& part : parts_) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch, part.rows->Decode());
    for (size_t i = 0; i < part.request.outputs.size(); ++i) {
      columns[part.request.outputs[i]].push_back({batch->column(static_cast<int>(i)),
                                                  std::move(part.request.columns[i].columns),
                                                  part.version});
    }
  }
  arrow::FieldVector arrow_fields;
  arrow::ArrayVector arrays(fields_.size());
  arrow_fields.reserve(fields_.size());
  for (size_t i = 0; i < fields_.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Field> field, format::ToArrow(*fields_[i]));
    if (columns[i].empty()) {
      ARROW_ASSIGN_OR_RAISE(arrays[i],
                            arrow::MakeArrayOfNull(field->type(), num_rows, context.pool()));
    } else {
      ARROW_ASSIGN_OR_RAISE(arrays[i], JoinParts(*fields_[i], columns[i], context.pool()));
    }
    // Only a dictionary is of another type than its field.
    if (arrays[i]->type_id() == arrow::Type::DICTIONARY) field = field->WithType(arrays[i]->type());
    arrow_fields.push_back(std::move(field));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(arrow_fields)), num_rows,
                                  std::move(arrays));
}

}  // namespace lake::table
