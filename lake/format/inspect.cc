#include "lake/format/inspect.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <arrow/buffer.h>

#include "lake/base/checked.h"
#include "lake/format/column_metadata_internal.h"
#include "lake/format/describe_page_internal.h"
#include "lake/format/file_directory.h"
#include "lake/format/v20_column_internal.h"
#include "lake/format/v20_describe_internal.h"

namespace lake::format {
namespace {

// The fields that own a column, in column order: in 2.0 all but the fields of a packed struct, from
// 2.1 on the leaves.
void AppendOwners(const Field& field, const std::string& parent_path, FileVersion version,
                  std::vector<ColumnDescription>* columns) {
  const std::string path = parent_path.empty() ? field.name : parent_path + "." + field.name;
  const bool is_leaf = field.is_leaf();
  if (is_leaf || version == kFileVersion20) {
    ColumnDescription& column = columns->emplace_back();
    column.field = path;
    column.field_id = field.id;
    column.logical_type = field.logical_type;
    column.nullable = field.nullable;
  }
  if (is_leaf) return;
  for (const Field& child : field.children) AppendOwners(child, path, version, columns);
}

Status DescribePages(std::string_view block, uint64_t limit, const FileDescription& file,
                     ColumnDescription* column) {
  if (file.version == kFileVersion20) {
    ARROW_ASSIGN_OR_RAISE(const V20Column metadata, V20Column::DecodeFrom(block, limit));
    for (const V20Page& page : metadata.pages) column->pages.push_back(DescribeV20Page(page));
    return Status::OK();
  }
  ARROW_ASSIGN_OR_RAISE(const ColumnMetadata metadata,
                        ColumnMetadata::DecodeFrom(block, limit, file.num_rows));
  for (const PageMetadata& page : metadata.pages) column->pages.push_back(DescribePage(page));
  return Status::OK();
}

Status ReadColumns(const Context& context, storage::ObjectStore* store,
                   const std::vector<ByteRange>& table, uint64_t limit, FileDescription* file) {
  uint64_t total = 0;
  for (const ByteRange& range : table) {
    const auto sum = CheckedAdd(total, range.length);
    if (!sum || *sum > limit) {
      return Error(
          ErrorCode::kCorrupt,
          "column metadata of a Lance file overlaps: it would take more than the file's {} "
          "bytes: '{}'",
          file->file_size, file->key);
    }
    total = *sum;
  }
  for (const Field& field : file->schema.fields)
    AppendOwners(field, "", file->version, &file->columns);
  file->columns.resize(table.size());
  ARROW_ASSIGN_OR_RAISE(const auto blocks, store->GetMany(context, file->key, table));
  for (size_t i = 0; i < table.size(); ++i) {
    ColumnDescription& column = file->columns[i];
    const Status status = DescribePages(std::string_view(*blocks[i]), limit, *file, &column);
    if (!status.ok() && CodeOf(status) == ErrorCode::kUnsupported) {
      column.problem = ErrorText(status);
      continue;
    }
    ARROW_RETURN_NOT_OK(
        WithContext(status, fmt::format("column {} ('{}') of '{}'", i, column.field, file->key)));
  }
  return Status::OK();
}

}  // namespace

uint64_t PageDescription::num_bytes() const {
  uint64_t bytes = 0;
  for (const BufferDescription& buffer : buffers) bytes += buffer.range.length;
  return bytes;
}

uint64_t ColumnDescription::num_bytes() const {
  uint64_t bytes = 0;
  for (const PageDescription& page : pages) bytes += page.num_bytes();
  return bytes;
}

ReadingFloor FloorOf(const FileDescription& file) {
  ReadingFloor floor;
  floor.Add(file.version);
  for (const Field& field : file.schema.fields) floor.Add(field, file.version);
  for (const ColumnDescription& column : file.columns) {
    for (const PageDescription& page : column.pages) {
      if (page.encoding.find(" x constant") != std::string::npos) {
        floor.Add(FloorFact::kAllNullItems);
      }
    }
  }
  return floor;
}

Result<FileDescription> InspectFile(const Context& context, storage::ObjectStore* store,
                                    const std::string& key) {
  FileDescription file;
  file.key = key;
  ARROW_ASSIGN_OR_RAISE(const auto info, store->Head(context, key));
  file.file_size = info.size;
  ARROW_ASSIGN_OR_RAISE(FileDirectory directory,
                        FileDirectory::Load(info.size, key, [&](ByteRange range) {
                          return store->Get(context, key, range);
                        }));
  file.version = directory.version;
  file.num_rows = directory.num_rows;
  file.schema = std::move(directory.schema);
  file.global_buffers = std::move(directory.global_buffers);
  ARROW_RETURN_NOT_OK(ReadColumns(context, store, directory.columns, directory.data_end, &file));
  return file;
}

}  // namespace lake::format
