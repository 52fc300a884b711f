#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/blob.h"
#include "lake/format/file_writer.h"
#include "lake/format/schema.h"
#include "lake/storage/object_store.h"
#include "lake/table/blob_location.h"
#include "lake/table/dataset.h"
#include "lake/table/manifest.h"

namespace arrow {
class Array;
class DataType;
class RecordBatch;
}  // namespace arrow

namespace lake::table {

/// Where rows come from whose blobs are told by place (format::BlobPlaceType) and not by value: the
/// table itself. Columns of such places are those of the same column of the rows at `addresses`.
struct BlobOrigin {
  const Dataset* dataset = nullptr;
  std::span<const RowAddress> addresses;
};

struct BlobWriteOptions {
  /// Bases of the table: an external blob below one that is no dataset's root is named relative to
  /// it.
  std::vector<BasePath> bases;
  /// External blobs may lie outside of the bases: named by an absolute URI.
  bool allow_outside_bases = false;
};

/// kInvalidArgument, naming `path`, unless arrays of `type` hold the blobs at and below `field` by
/// value. Says nothing of other fields.
Status CheckBlobValues(const format::Field& field, const arrow::DataType& type,
                       const std::string& path);

/// When the bytes of a blob go where: what field metadata says, else upstream's defaults.
struct BlobThresholds {
  uint64_t most_inline = 64ull << 10;
  uint64_t most_packed = 4ull << 20;
  uint64_t most_pack_file = 1ull << 30;

  /// kInvalidArgument, naming `path`, for metadata that is no number.
  static Result<BlobThresholds> From(const format::Field& field, const std::string& path);
};

/// Stores the blobs of rows on their way into one data file: inline into the file itself, packed
/// and dedicated ones into blob files beside it. Bytes pass; nothing is collected. Not thread-safe.
/// Destruction removes what is not published.
class BlobWriter {
 public:
  /// `file` is the data file in the making, `path` its DataFile::path. Keys of blob files are added
  /// to `keys` before they are published. All outlive this.
  static Result<std::unique_ptr<BlobWriter>> Open(
      const Context& context, std::shared_ptr<storage::ObjectStore> store,
      const format::Schema* schema, const std::string& path, const BlobWriteOptions* options,
      format::FileWriter* file, std::vector<std::string>* keys);
  ~BlobWriter();

  /// `batch` with places for the blobs that it holds. A column of blobs holds bytes (binary,
  /// large_binary), or structs of data and uri (docs/format/blobs.md), or, with an origin, places.
  /// kInvalidArgument, naming column and row, for a blob with both or none of data and uri, or with
  /// half of a range; kPermissionDenied for an external blob that is not allowed.
  Result<std::shared_ptr<arrow::RecordBatch>> Store(const arrow::RecordBatch& batch,
                                                    const BlobOrigin& origin);

  /// Publishes the blob files that are still open.
  Status Finish();

 private:
  struct Column;
  class Values;
  class Copier;

  BlobWriter(const Context& context, std::shared_ptr<storage::ObjectStore> store,
             const format::Schema* schema, std::string path, const BlobWriteOptions* options,
             format::FileWriter* file, std::vector<std::string>* keys);

  Status AddColumns(const format::Field& field, const std::string& path);
  Result<std::shared_ptr<arrow::Array>> StoreField(const format::Field& field,
                                                   const std::shared_ptr<arrow::Array>& array,
                                                   const BlobOrigin& origin, size_t* next_column);
  Result<std::shared_ptr<arrow::Array>> StoreColumn(Column* column, const arrow::Array& array,
                                                    const BlobOrigin& origin);
  Result<std::shared_ptr<arrow::Array>> StoreValues(Column* column, const Values& values);
  Result<format::BlobPlace> PlaceExternal(const Column& column, const Values& values, int64_t row,
                                          std::string* uri) const;

  /// A blob of `size` bytes begins; its bytes follow by Add, then End.
  Status Begin(Column* column, uint64_t size);
  Status Add(std::string_view bytes);
  Result<format::BlobPlace> End();
  Status OpenBlobFile(std::unique_ptr<storage::ObjectWriter>* writer, uint32_t* id);
  Status Publish(std::unique_ptr<storage::ObjectWriter>* writer, uint32_t id);

  const Context context_;
  const std::shared_ptr<storage::ObjectStore> store_;
  const format::Schema* const schema_;
  const std::string path_;
  const BlobWriteOptions* const options_;
  format::FileWriter* const file_;
  std::vector<std::string>* const keys_;
  /// In pre-order of the schema.
  std::vector<std::unique_ptr<Column>> columns_;
  uint32_t last_id_ = 0;

  /// The blob between Begin and End.
  Column* column_ = nullptr;
  format::BlobPlace place_;
  bool started_ = false;
  std::unique_ptr<storage::ObjectWriter> dedicated_;
};

}  // namespace lake::table
