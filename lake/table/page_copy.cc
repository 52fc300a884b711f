#include "lake/format/page_copy.h"

#include <algorithm>

#include "lake/table/append_writer.h"
#include "lake/table/page_copy_internal.h"

namespace lake::table {

namespace {

/// The columns of `file` that hold `leaves`; nothing if it lacks one.
std::optional<std::vector<uint32_t>> ColumnsOf(const DataFile& file,
                                               const std::vector<int32_t>& leaves) {
  std::vector<uint32_t> columns;
  for (const int32_t leaf : leaves) {
    auto id = std::find(file.field_ids.begin(), file.field_ids.end(), leaf);
    const size_t place = id - file.field_ids.begin();
    if (place >= file.column_indices.size() || file.column_indices[place] < 0) return std::nullopt;
    columns.push_back(static_cast<uint32_t>(file.column_indices[place]));
  }
  return columns;
}

}  // namespace

Result<std::optional<CopiedFile>> CopyPages(const Context& context, const Dataset& dataset,
                                            const std::vector<const Fragment*>& fragments) {
  const Manifest& manifest = dataset.manifest();
  std::vector<int32_t> leaves;
  for (const format::Field& field : manifest.schema().fields) {
    const std::vector<int32_t> ids = format::Schema::LeafIds(field);
    leaves.insert(leaves.end(), ids.begin(), ids.end());
  }
  std::vector<format::PageCopySource> sources;
  uint64_t rows = 0;
  for (const Fragment* fragment : fragments) {
    if (fragment->files.size() != 1 || fragment->deletion_file) return std::nullopt;
    const DataFile& file = fragment->files.front();
    if (file.version != manifest.file_version()) return std::nullopt;
    std::optional<std::vector<uint32_t>> columns = ColumnsOf(file, leaves);
    if (!columns) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(BaseStores::Place place, dataset.bases()->Find(context, file));
    std::optional<uint64_t> size;
    if (file.size_bytes != 0) size = file.size_bytes;
    sources.push_back({std::move(place.store), std::move(place.key), size, *std::move(columns)});
    rows += fragment->physical_rows;
  }
  const std::string name = NewDataFileName(context);
  const std::string key = "data/" + name;
  ARROW_ASSIGN_OR_RAISE(std::optional<format::WrittenFile> written,
                        format::CopyPages(context, sources, manifest.schema(),
                                          manifest.file_version(), dataset.store(), key));
  if (!written) return std::nullopt;
  if (written->num_rows != rows) {
    (void)dataset.store()->Delete(context, key);
    return Error(ErrorCode::kCorrupt,
                 "data files have another number of rows than their fragments: {}, not {}: {}",
                 written->num_rows, rows, dataset.store()->description());
  }
  CopiedFile copied;
  copied.key = key;
  copied.fragment.physical_rows = rows;
  DataFile& file = copied.fragment.files.emplace_back();
  file.path = name;
  file.field_ids = std::move(written->field_ids);
  file.column_indices = std::move(written->column_indices);
  file.version = written->version;
  file.size_bytes = written->size_bytes;
  return copied;
}

}  // namespace lake::table
