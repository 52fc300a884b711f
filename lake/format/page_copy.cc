#include "lake/format/page_copy.h"

#include <algorithm>
#include <string_view>

#include <arrow/buffer.h>

#include "lake/format/blob.h"
#include "lake/format/column_metadata_internal.h"
#include "lake/format/file_directory.h"
#include "lake/format/file_parts_internal.h"

namespace lake::format {
namespace {

// Pages that are smaller on average cost more to scan than they saved to copy.
constexpr uint64_t kWorthwhileBytes = 2ull << 20;
constexpr uint64_t kWorthwhileRows = 128 * 1024;

struct SourcePages {
  const PageCopySource* source = nullptr;
  uint64_t num_rows = 0;
  /// One per leaf of the new file.
  std::vector<ColumnMetadata> columns;
};

/// Nothing for a file of another version.
Result<std::optional<SourcePages>> ReadPages(const Context& context, const PageCopySource& source,
                                             FileVersion version) {
  uint64_t size = source.size_bytes.value_or(0);
  if (!source.size_bytes) {
    ARROW_ASSIGN_OR_RAISE(const storage::ObjectInfo info, source.store->Head(context, source.key));
    size = info.size;
  }
  const auto get = [&](ByteRange range) { return source.store->Get(context, source.key, range); };
  ARROW_ASSIGN_OR_RAISE(const FileDirectory directory, FileDirectory::Load(size, source.key, get));
  if (directory.version != version) return std::nullopt;

  SourcePages pages;
  pages.source = &source;
  pages.num_rows = directory.num_rows;
  for (const uint32_t column : source.columns) {
    if (column >= directory.columns.size()) {
      return Error(ErrorCode::kCorrupt,
                   "a table names a column that its Lance file does not have: column {} of {}: "
                   "'{}'",
                   column, directory.columns.size(), source.key);
    }
    ARROW_ASSIGN_OR_RAISE(const auto bytes, get(directory.columns[column]));
    Result<ColumnMetadata> metadata =
        ColumnMetadata::DecodeFrom(std::string_view(*bytes), directory.data_end, pages.num_rows);
    if (!metadata.ok()) {
      // Pages of a kind that lake does not read are not copied either.
      if (CodeOf(metadata.status()) == ErrorCode::kUnsupported) return std::nullopt;
      return WithContext(metadata.status(),
                         fmt::format("file '{}', column {}", source.key, column));
    }
    const auto is_planar = [](const PageMetadata& page) { return page.is_planar; };
    // Slots inside lists are numbered otherwise than rows.
    if (!metadata->buffers.empty() || metadata->slots_per_row != 1 ||
        std::any_of(metadata->pages.begin(), metadata->pages.end(), is_planar)) {
      return std::nullopt;
    }
    pages.columns.push_back(*std::move(metadata));
  }
  return pages;
}

bool Worthwhile(const std::vector<SourcePages>& sources, size_t num_columns) {
  for (size_t column = 0; column < num_columns; ++column) {
    uint64_t pages = 0;
    uint64_t rows = 0;
    uint64_t bytes = 0;
    for (const SourcePages& source : sources) {
      pages += source.columns[column].pages.size();
      rows += source.num_rows;
      for (const PageMetadata& page : source.columns[column].pages) {
        for (const ByteRange& buffer : page.buffers) bytes += buffer.length;
      }
    }
    if (pages > 1 && rows / pages < kWorthwhileRows && bytes / pages < kWorthwhileBytes) {
      return false;
    }
  }
  return true;
}

/// Appends one column's pages of all sources to `object`; `encoded` receives their metadata.
Status CopyColumn(const Context& context, const std::vector<SourcePages>& sources, size_t column,
                  storage::ObjectWriter* object, std::string* encoded) {
  uint64_t first_row = 0;
  for (const SourcePages& source : sources) {
    for (const PageMetadata& page : source.columns[column].pages) {
      ARROW_RETURN_NOT_OK(context.Check());
      PageMetadata copy = page;
      copy.first_row = first_row + page.first_row;
      ARROW_ASSIGN_OR_RAISE(const auto buffers, source.source->store->GetMany(
                                                    context, source.source->key, page.buffers));
      for (size_t i = 0; i < buffers.size(); ++i) {
        ARROW_ASSIGN_OR_RAISE(copy.buffers[i], WriteBuffer(object, std::string_view(*buffers[i])));
      }
      ARROW_RETURN_NOT_OK(copy.EncodeTo(encoded));
    }
    first_row += source.num_rows;
  }
  return Status::OK();
}

}  // namespace

Result<std::optional<WrittenFile>> CopyPages(const Context& context,
                                             const std::vector<PageCopySource>& sources,
                                             const Schema& schema, FileVersion version,
                                             const std::shared_ptr<storage::ObjectStore>& store,
                                             const std::string& key) {
  WrittenFile file;
  // Pages are described in the form of these two.
  if (version != kFileVersion21 && version != kFileVersion22) return std::nullopt;
  for (const Field& field : schema.fields) {
    // Pages of blobs tell where they lie in their own file.
    if (HoldsBlobs(field)) return std::nullopt;
    for (const int32_t id : Schema::LeafIds(field)) {
      file.column_indices.push_back(static_cast<int32_t>(file.field_ids.size()));
      file.field_ids.push_back(id);
    }
  }
  std::vector<SourcePages> pages;
  for (const PageCopySource& source : sources) {
    if (source.columns.size() != file.field_ids.size()) {
      return Error(ErrorCode::kInvalidArgument,
                   "a copy of pages needs a column for each leaf: {} of {}: '{}'",
                   source.columns.size(), file.field_ids.size(), source.key);
    }
    ARROW_ASSIGN_OR_RAISE(std::optional<SourcePages> read, ReadPages(context, source, version));
    if (!read) return std::nullopt;
    file.num_rows += read->num_rows;
    pages.push_back(*std::move(read));
  }
  if (!Worthwhile(pages, file.field_ids.size())) return std::nullopt;

  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<storage::ObjectWriter> object,
                        store->OpenWriter(context, key, storage::PutCondition::kIfAbsent));
  std::vector<std::string> encoded(file.field_ids.size());
  for (size_t i = 0; i < encoded.size(); ++i) {
    ARROW_RETURN_NOT_OK(CopyColumn(context, pages, i, object.get(), &encoded[i]));
  }
  ARROW_RETURN_NOT_OK(WriteFileEnd(object.get(), schema, file.num_rows, version,
                                   {encoded.begin(), encoded.end()}, key));
  file.key = key;
  file.size_bytes = object->position();
  file.version = version;
  ARROW_RETURN_NOT_OK(object->Finish());
  return file;
}

}  // namespace lake::format
