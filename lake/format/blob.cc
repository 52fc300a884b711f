#include "lake/format/blob.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/buffer_builder.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

namespace lake::format {
namespace {

// Position and size only.
constexpr int kPartsV1 = 2;

Status NotPlaces(const arrow::Array& array) {
  return Error(ErrorCode::kInvalidArgument, "rows do not tell where blobs lie: {}",
               array.type()->ToString());
}

template <typename T>
std::shared_ptr<T> Part(const arrow::StructArray& array, const char* name) {
  return std::dynamic_pointer_cast<T>(array.GetFieldByName(name));
}

template <typename T>
void AppendLittle(T value, std::string* out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out->append(bytes, sizeof(T));
}

}  // namespace

std::string_view BlobKindName(BlobKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"inline", "packed", "dedicated", "external"};
  return kNames[static_cast<size_t>(kind)];
}

const std::shared_ptr<arrow::DataType>& BlobPlaceType() {
  static const std::shared_ptr<arrow::DataType> type =
      arrow::struct_({arrow::field("kind", arrow::uint8(), false),
                      arrow::field("position", arrow::uint64(), false),
                      arrow::field("size", arrow::uint64(), false),
                      arrow::field("blob_id", arrow::uint32(), false),
                      arrow::field("blob_uri", arrow::utf8(), false)});
  return type;
}

Result<BlobPlaces> BlobPlaces::Of(const arrow::Array& array) {
  BlobPlaces places;
  places.array_ = &array;
  if (array.type_id() != arrow::Type::STRUCT) return NotPlaces(array);
  const auto& parts = static_cast<const arrow::StructArray&>(array);
  places.positions_ = Part<arrow::UInt64Array>(parts, "position");
  places.sizes_ = Part<arrow::UInt64Array>(parts, "size");
  if (places.positions_ == nullptr || places.sizes_ == nullptr) return NotPlaces(array);
  if (parts.num_fields() == kPartsV1) return places;
  places.kinds_ = Part<arrow::UInt8Array>(parts, "kind");
  places.ids_ = Part<arrow::UInt32Array>(parts, "blob_id");
  places.uris_ = Part<arrow::StringArray>(parts, "blob_uri");
  if (places.kinds_ == nullptr || places.ids_ == nullptr || places.uris_ == nullptr ||
      parts.num_fields() != BlobPlaceType()->num_fields()) {
    return NotPlaces(array);
  }
  return places;
}

int64_t BlobPlaces::length() const { return array_->length(); }
bool BlobPlaces::IsNull(int64_t row) const {
  // Files of version 2.0 say so that a blob of version 1 is null.
  const bool none = kinds_ == nullptr && sizes_->Value(row) == 0 && positions_->Value(row) != 0;
  return none || array_->IsNull(row);
}

Result<BlobPlace> BlobPlaces::At(int64_t row) const {
  BlobPlace place;
  place.position = positions_->Value(row);
  place.size = sizes_->Value(row);
  if (kinds_ == nullptr) return place;
  const uint8_t kind = kinds_->Value(row);
  if (kind > static_cast<uint8_t>(BlobKind::kExternal)) {
    return Error(ErrorCode::kUnsupported, "a blob of this kind is not read: {}", kind);
  }
  place.kind = static_cast<BlobKind>(kind);
  place.blob_id = ids_->Value(row);
  place.uri = uris_->GetView(row);
  return place;
}

struct BlobPlacesBuilder::Parts {
  explicit Parts(arrow::MemoryPool* pool)
      : kinds(pool), positions(pool), sizes(pool), ids(pool), uris(pool), validity(pool) {}

  arrow::UInt8Builder kinds;
  arrow::UInt64Builder positions;
  arrow::UInt64Builder sizes;
  arrow::UInt32Builder ids;
  arrow::StringBuilder uris;
  arrow::TypedBufferBuilder<bool> validity;
};

BlobPlacesBuilder::BlobPlacesBuilder(arrow::MemoryPool* pool)
    : parts_(std::make_unique<Parts>(pool)) {}
BlobPlacesBuilder::~BlobPlacesBuilder() = default;

Status BlobPlacesBuilder::Append(const BlobPlace& place) {
  ARROW_RETURN_NOT_OK(parts_->kinds.Append(static_cast<uint8_t>(place.kind)));
  ARROW_RETURN_NOT_OK(parts_->positions.Append(place.position));
  ARROW_RETURN_NOT_OK(parts_->sizes.Append(place.size));
  ARROW_RETURN_NOT_OK(parts_->ids.Append(place.blob_id));
  ARROW_RETURN_NOT_OK(parts_->uris.Append(place.uri));
  return parts_->validity.Append(true);
}

Status BlobPlacesBuilder::AppendNull() {
  ARROW_RETURN_NOT_OK(parts_->kinds.Append(0));
  ARROW_RETURN_NOT_OK(parts_->positions.Append(0));
  ARROW_RETURN_NOT_OK(parts_->sizes.Append(0));
  ARROW_RETURN_NOT_OK(parts_->ids.Append(0));
  ARROW_RETURN_NOT_OK(parts_->uris.Append(std::string_view()));
  return parts_->validity.Append(false);
}

Result<std::shared_ptr<arrow::Array>> BlobPlacesBuilder::Finish() {
  const int64_t length = parts_->validity.length();
  const int64_t nulls = parts_->validity.false_count();
  arrow::ArrayVector arrays(5);
  ARROW_RETURN_NOT_OK(parts_->kinds.Finish(&arrays[0]));
  ARROW_RETURN_NOT_OK(parts_->positions.Finish(&arrays[1]));
  ARROW_RETURN_NOT_OK(parts_->sizes.Finish(&arrays[2]));
  ARROW_RETURN_NOT_OK(parts_->ids.Finish(&arrays[3]));
  ARROW_RETURN_NOT_OK(parts_->uris.Finish(&arrays[4]));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> validity, parts_->validity.Finish());
  if (nulls == 0) validity = nullptr;
  return std::make_shared<arrow::StructArray>(BlobPlaceType(), length, std::move(arrays),
                                              std::move(validity), nulls);
}

std::string BlobRemark(const Field& field) {
  if (field.is_blob_v1()) return ", blobs of version 1: their bytes lie in the data file";
  if (!field.is_blob_v2()) return {};
  return ", blobs of version 2: their bytes lie in the data file, in files beside it, or outside";
}

bool HoldsBlobs(const Field& field) {
  return field.is_blob_v1() || field.is_blob_v2() ||
         std::any_of(field.children.begin(), field.children.end(), HoldsBlobs);
}

bool TellsBlobs(const arrow::Field& field) {
  return field.type()->Equals(*BlobPlaceType()) && field.metadata() != nullptr &&
         field.metadata()->Get(kBlobKey).ValueOr("") == "true";
}

Field StoredBlobField(const Field& field) {
  Field stored = field;
  stored.metadata.erase(kExtensionNameKey);
  stored.metadata.erase(kExtensionMetadataKey);
  std::erase_if(stored.metadata,
                [](const auto& entry) { return entry.first.starts_with("lance-encoding:blob-"); });
  stored.metadata[kBlobKey] = "true";
  stored.metadata[kPackedKey] = "true";
  stored.children.clear();
  constexpr std::array<std::pair<const char*, const char*>, 5> kParts = {{{"kind", "uint8"},
                                                                          {"position", "uint64"},
                                                                          {"size", "uint64"},
                                                                          {"blob_id", "uint32"},
                                                                          {"blob_uri", "string"}}};
  for (const auto& [name, type] : kParts) {
    Field& part = stored.children.emplace_back();
    part.name = name;
    part.logical_type = type;
    part.nullable = false;
  }
  return stored;
}

Schema StoredSchema(Schema schema) {
  const auto convert = [](const auto& self, Field* field) -> void {
    if (field->is_blob_v2()) {
      *field = StoredBlobField(*field);
      return;
    }
    for (Field& child : field->children) self(self, &child);
  };
  for (Field& field : schema.fields) convert(convert, &field);
  return schema;
}

Result<std::shared_ptr<arrow::Array>> PackBlobPlaces(const arrow::Array& places,
                                                     const std::string& path,
                                                     arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(const BlobPlaces rows, BlobPlaces::Of(places));
  for (const auto& part : static_cast<const arrow::StructArray&>(places).fields()) {
    if (part->null_count() == 0) continue;
    for (int64_t i = 0; i < places.length(); ++i) {
      if (part->IsValid(i) || places.IsNull(i)) continue;
      return Error(ErrorCode::kInvalidArgument, "a part of a blob's place is null: column '{}'",
                   path);
    }
  }
  arrow::BinaryBuilder builder(pool);
  std::string row;
  for (int64_t i = 0; i < rows.length(); ++i) {
    if (rows.IsNull(i)) {
      ARROW_RETURN_NOT_OK(builder.AppendNull());
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(const BlobPlace place, rows.At(i));
    row.clear();
    AppendLittle(static_cast<uint8_t>(place.kind), &row);
    AppendLittle(place.position, &row);
    AppendLittle(place.size, &row);
    AppendLittle(place.blob_id, &row);
    AppendLittle(static_cast<uint32_t>(place.uri.size()), &row);
    row.append(place.uri);
    ARROW_RETURN_NOT_OK(builder.Append(row));
  }
  return builder.Finish();
}

}  // namespace lake::format
