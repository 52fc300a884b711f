#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "lake/base/error.h"
#include "lake/format/schema.h"

namespace lake::format {

/// What stores the bytes of a blob. Format facts: docs/format/blobs.md.
enum class BlobKind : uint8_t {
  kInline = 0,     ///< The data file itself.
  kPacked = 1,     ///< A blob file that several blobs share.
  kDedicated = 2,  ///< A blob file of its own.
  kExternal = 3,   ///< An object that the table does not own, named by a URI.
};

/// Such as "inline". Static storage.
std::string_view BlobKindName(BlobKind kind);

/// Where the bytes of a blob lie.
struct BlobPlace {
  BlobKind kind = BlobKind::kInline;
  uint64_t position = 0;
  /// Of an external blob 0 means: all of the object.
  uint64_t size = 0;
  /// The number of the blob file; of an external blob the base that `uri` is relative to, 0 for a
  /// `uri` that is absolute.
  uint32_t blob_id = 0;
  std::string_view uri;
};

/// The type of the struct that tells where blobs of version 2 lie.
const std::shared_ptr<arrow::DataType>& BlobPlaceType();

/// The places that a column of blobs, of either version, was read as. Borrows from the array.
class BlobPlaces {
 public:
  /// kInvalidArgument unless `array` is of a type that ToArrow gives for a blob.
  static Result<BlobPlaces> Of(const arrow::Array& array);

  int64_t length() const;
  bool IsNull(int64_t row) const;
  /// kUnsupported, by number, for a kind that is not read. REQUIRES: !IsNull(row).
  Result<BlobPlace> At(int64_t row) const;

 private:
  const arrow::Array* array_ = nullptr;
  std::shared_ptr<arrow::UInt64Array> positions_;
  std::shared_ptr<arrow::UInt64Array> sizes_;
  // Of version 2 only.
  std::shared_ptr<arrow::UInt8Array> kinds_;
  std::shared_ptr<arrow::UInt32Array> ids_;
  std::shared_ptr<arrow::StringArray> uris_;
};

/// Makes the struct column that tells where blobs of version 2 lie. Not thread-safe.
class BlobPlacesBuilder {
 public:
  explicit BlobPlacesBuilder(arrow::MemoryPool* pool);
  ~BlobPlacesBuilder();

  Status Append(const BlobPlace& place);
  Status AppendNull();
  Result<std::shared_ptr<arrow::Array>> Finish();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// What `lake inspect` says of a field that holds blobs, such as ", blobs of version 2: ..."; empty
/// for another.
std::string BlobRemark(const Field& field);

/// True if the field, or one below it, is a blob of either version.
bool HoldsBlobs(const Field& field);
/// True if rows of an Arrow field that ToArrow gave tell where blobs of version 2 lie.
bool TellsBlobs(const arrow::Field& field);

/// The field of a blob of version 2 as a data file declares it: its parts have no ids.
Field StoredBlobField(const Field& field);

/// `schema` as a data file declares it.
Schema StoredSchema(Schema schema);

/// The rows of a column of places as a data file holds them: the parts of each one behind the
/// other. kInvalidArgument, naming `path`, if a part is null where its row is not.
Result<std::shared_ptr<arrow::Array>> PackBlobPlaces(const arrow::Array& places,
                                                     const std::string& path,
                                                     arrow::MemoryPool* pool);

}  // namespace lake::format
