#include "lake/table/deletion_file.h"

#include <arrow/buffer.h>

#include "lake/table/manifest_internal.h"

namespace lake::table {

namespace {

constexpr uint64_t kMaxDeletionFileSize = 16ull << 30;
// From this many rows on upstream writes a bitmap.
constexpr uint64_t kBitmapRows = 5000;

}  // namespace

Result<DeletionVector> ReadDeletionFile(const Context& context, storage::ObjectStore* store,
                                        const Fragment& fragment, uint64_t physical_rows) {
  if (!fragment.deletion_file) return DeletionVector();
  const DeletionFile& file = *fragment.deletion_file;
  const std::string key = DeletionFileKey(fragment.id, file);
  if (file.base_id) {
    return Error(ErrorCode::kUnsupported, "deletion file lies in another base folder: {}: base {}",
                 key, *file.base_id);
  }
  return ReadDeletionFileAt(context, store, key, file, physical_rows);
}

Result<DeletionVector> ReadDeletionFileAt(const Context& context, storage::ObjectStore* store,
                                          const std::string& key, const DeletionFile& file,
                                          uint64_t physical_rows) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                        store->GetAll(context, key, kMaxDeletionFileSize));
  ARROW_ASSIGN_OR_RAISE(
      DeletionVector vector,
      file.kind == DeletionFile::Kind::kArrow
          ? DeletionVector::FromArrowFile(context, std::string_view(*bytes), physical_rows, key)
          : DeletionVector::FromBitmap(std::string_view(*bytes), physical_rows, key));
  if (file.num_deleted_rows != 0 && file.num_deleted_rows != vector.num_deleted()) {
    return Error(
        ErrorCode::kCorrupt,
        "deletion file holds another number of rows than the manifest says: {}: {}, not {}", key,
        vector.num_deleted(), file.num_deleted_rows);
  }
  return vector;
}

Result<DeletionFile> WriteDeletionFile(const Context& context, storage::ObjectStore* store,
                                       uint64_t fragment_id, uint64_t read_version,
                                       const DeletionVector& rows, std::string* key) {
  DeletionFile file;
  file.kind =
      rows.num_deleted() < kBitmapRows ? DeletionFile::Kind::kArrow : DeletionFile::Kind::kBitmap;
  file.read_version = read_version;
  file.id = context.random->NextUint64();
  file.num_deleted_rows = rows.num_deleted();
  *key = DeletionFileKey(fragment_id, file);
  std::string bytes;
  if (file.kind == DeletionFile::Kind::kArrow) {
    ARROW_ASSIGN_OR_RAISE(bytes, rows.ToArrowFile(context));
  } else {
    bytes = rows.ToBitmap();
  }
  ARROW_RETURN_NOT_OK(store->Put(context, *key, bytes, storage::PutCondition::kIfAbsent));
  return file;
}

}  // namespace lake::table
