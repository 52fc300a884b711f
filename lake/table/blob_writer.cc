#include "lake/table/blob_writer.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/format/array_access.h"
#include "lake/table/dataset_impl.h"

namespace lake::table {

namespace {

using format::BlobKind;
using format::BlobPlace;

// Blobs that are copied from the table: so many bytes are read at once, larger ones in pieces.
constexpr uint64_t kCopyBytes = 8ull << 20;
constexpr std::string_view kFileScheme = "file://";

Status Bad(const std::string& path, int64_t row, std::string_view what) {
  return Error(ErrorCode::kInvalidArgument, "{}: column '{}', row {} of the batch", what, path,
               row);
}

bool IsPlaces(const arrow::DataType& type) { return type.Equals(*format::BlobPlaceType()); }

/// Blobs by value: bytes, or data and URI, with or without a range.
Status CheckBlobType(const arrow::DataType& type, const std::string& path) {
  if (type.id() == arrow::Type::EXTENSION) {
    return CheckBlobType(*static_cast<const arrow::ExtensionType&>(type).storage_type(), path);
  }
  if (type.id() == arrow::Type::BINARY || type.id() == arrow::Type::LARGE_BINARY) {
    return Status::OK();
  }
  constexpr std::pair<const char*, arrow::Type::type> kParts[] = {
      {"data", arrow::Type::LARGE_BINARY},
      {"uri", arrow::Type::STRING},
      {"position", arrow::Type::UINT64},
      {"size", arrow::Type::UINT64}};
  bool fits =
      type.id() == arrow::Type::STRUCT && (type.num_fields() == 2 || type.num_fields() == 4);
  for (int i = 0; fits && i < type.num_fields(); ++i) {
    fits =
        type.field(i)->name() == kParts[i].first && type.field(i)->type()->id() == kParts[i].second;
  }
  if (fits) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "a blob is written as bytes, or as a struct of data and uri, and maybe position and "
               "size: column '{}', rows {}",
               path, type.ToString());
}

/// `uri` below `base`, or nothing.
std::optional<std::string> Below(std::string_view uri, std::string_view base) {
  for (std::string_view* text : {&uri, &base}) {
    if (text->starts_with(kFileScheme)) text->remove_prefix(kFileScheme.size());
  }
  while (base.ends_with('/')) base.remove_suffix(1);
  if (!uri.starts_with(base) || uri.size() <= base.size() + 1 || uri[base.size()] != '/') {
    return std::nullopt;
  }
  std::string decoded;
  for (size_t i = base.size() + 1; i < uri.size(); ++i) {
    unsigned value = 0;
    if (uri[i] == '%' && i + 2 < uri.size()) {
      const char* const digits = uri.data() + i + 1;
      if (std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
        decoded += static_cast<char>(value);
        i += 2;
        continue;
      }
    }
    decoded += uri[i];
  }
  if (!storage::CheckKey(decoded).ok()) return std::nullopt;
  return decoded;
}

bool IsAbsolute(std::string_view uri) {
  const size_t colon = uri.find("://");
  return colon != std::string_view::npos && colon > 0 && uri.size() > colon + 3;
}

Result<uint64_t> Threshold(const format::Field& field, const char* name, uint64_t least,
                           uint64_t otherwise, const std::string& path) {
  const std::string key = fmt::format("lance-encoding:blob-{}-size-threshold", name);
  const auto found = field.metadata.find(key);
  if (found == field.metadata.end()) return otherwise;
  const std::string& text = found->second;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    return Error(ErrorCode::kInvalidArgument,
                 "metadata of a blob column is no number of bytes: column '{}', {} '{}'", path, key,
                 text);
  }
  return value;
}

}  // namespace

Result<BlobThresholds> BlobThresholds::From(const format::Field& field, const std::string& path) {
  BlobThresholds thresholds;
  ARROW_ASSIGN_OR_RAISE(thresholds.most_inline,
                        Threshold(field, "inline", 0, thresholds.most_inline, path));
  ARROW_ASSIGN_OR_RAISE(thresholds.most_packed,
                        Threshold(field, "dedicated", 1, thresholds.most_packed, path));
  ARROW_ASSIGN_OR_RAISE(thresholds.most_pack_file,
                        Threshold(field, "pack-file", 1, thresholds.most_pack_file, path));
  return thresholds;
}

Status CheckBlobValues(const format::Field& field, const arrow::DataType& type,
                       const std::string& path) {
  if (field.is_blob_v2()) return CheckBlobType(type, path);
  for (size_t i = 0; i < field.children.size() && static_cast<int>(i) < type.num_fields(); ++i) {
    const format::Field& child = field.children[i];
    if (!format::HoldsBlobs(child)) continue;
    ARROW_RETURN_NOT_OK(
        CheckBlobValues(child, *type.field(static_cast<int>(i))->type(), path + "." + child.name));
  }
  return Status::OK();
}

struct BlobWriter::Column {
  std::string path;
  int32_t field_id = -1;
  BlobThresholds thresholds;
  /// The blob file that packed blobs go to, if one is open.
  std::unique_ptr<storage::ObjectWriter> pack;
  uint32_t pack_id = 0;
};

/// Blobs by value.
class BlobWriter::Values {
 public:
  static Result<Values> Of(const arrow::Array& array, const std::string& path) {
    Values values(&array, path);
    if (array.type_id() != arrow::Type::STRUCT) return values;
    const auto& parts = static_cast<const arrow::StructArray&>(array);
    values.data_ = std::static_pointer_cast<arrow::LargeBinaryArray>(parts.field(0));
    values.uris_ = std::static_pointer_cast<arrow::StringArray>(parts.field(1));
    if (parts.num_fields() == 2) return values;
    values.positions_ = std::static_pointer_cast<arrow::UInt64Array>(parts.field(2));
    values.sizes_ = std::static_pointer_cast<arrow::UInt64Array>(parts.field(3));
    return values;
  }

  int64_t length() const { return array_->length(); }
  const std::string& path() const { return path_; }
  bool IsNull(int64_t row) const { return array_->IsNull(row); }
  bool IsExternal(int64_t row) const { return uris_ != nullptr && uris_->IsValid(row); }
  std::string_view Uri(int64_t row) const { return uris_->GetView(row); }
  bool HasRange(int64_t row) const { return positions_ != nullptr && positions_->IsValid(row); }
  uint64_t Position(int64_t row) const { return positions_->Value(row); }
  uint64_t Size(int64_t row) const { return sizes_->Value(row); }
  std::string_view Bytes(int64_t row) const {
    if (data_ != nullptr) return data_->GetView(row);
    return array_->type_id() == arrow::Type::BINARY
               ? static_cast<const arrow::BinaryArray&>(*array_).GetView(row)
               : static_cast<const arrow::LargeBinaryArray&>(*array_).GetView(row);
  }

  /// Each value is either bytes or a URI, the latter maybe with a range.
  Status Check() const {
    if (data_ == nullptr) return Status::OK();
    for (int64_t row = 0; row < length(); ++row) {
      if (IsNull(row)) continue;
      if (data_->IsValid(row) == uris_->IsValid(row)) {
        return Bad(path_, row, "a blob must set exactly one of data and uri");
      }
      if (positions_ == nullptr) continue;
      if (positions_->IsValid(row) != sizes_->IsValid(row)) {
        return Bad(path_, row, "a blob must set both position and size, or neither");
      }
      if (!positions_->IsValid(row)) continue;
      if (data_->IsValid(row)) return Bad(path_, row, "a blob with data has position and size");
      if (Size(row) == 0 || Position(row) > std::numeric_limits<uint64_t>::max() - Size(row)) {
        return Bad(path_, row, "an external blob has an empty or endless range");
      }
    }
    return Status::OK();
  }

 private:
  Values(const arrow::Array* array, const std::string& path) : array_(array), path_(path) {}

  const arrow::Array* array_;
  const std::string& path_;
  std::shared_ptr<arrow::LargeBinaryArray> data_;
  std::shared_ptr<arrow::StringArray> uris_;
  std::shared_ptr<arrow::UInt64Array> positions_;
  std::shared_ptr<arrow::UInt64Array> sizes_;
};

/// Copies blobs of the table's own rows: small ones many at a time, large ones in pieces.
class BlobWriter::Copier {
 public:
  Copier(BlobWriter* writer, Column* column, const BlobOrigin& origin)
      : writer_(writer),
        column_(column),
        origin_(origin),
        // The table's own external blobs are named again, not opened.
        finder_(origin.dataset->bases(), nullptr),
        builder_(writer->context_.pool()) {}

  Result<std::shared_ptr<arrow::Array>> Run(const arrow::Array& array) {
    ARROW_ASSIGN_OR_RAISE(const format::BlobPlaces places, format::BlobPlaces::Of(array));
    for (int64_t row = 0; row < places.length(); ++row) {
      Waiting blob;
      blob.is_null = places.IsNull(row);
      if (!blob.is_null) {
        ARROW_ASSIGN_OR_RAISE(blob.place, places.At(row));
      }
      if (blob.is_bytes()) {
        ARROW_ASSIGN_OR_RAISE(const DataFile* file, FileOf(origin_.addresses[row]));
        ARROW_ASSIGN_OR_RAISE(blob.location, finder_.Find(writer_->context_, *file, blob.place));
        waiting_bytes_ += std::min(blob.place.size, kCopyBytes);
      }
      waiting_.push_back(std::move(blob));
      if (waiting_bytes_ >= kCopyBytes) ARROW_RETURN_NOT_OK(Flush());
    }
    ARROW_RETURN_NOT_OK(Flush());
    return builder_.Finish();
  }

 private:
  struct Waiting {
    bool is_null = false;
    BlobPlace place;
    BlobLocation location;

    bool is_bytes() const { return !is_null && place.kind != BlobKind::kExternal; }
  };

  Result<const DataFile*> FileOf(RowAddress address) {
    const uint64_t id = address >> 32;
    if (file_ != nullptr && fragment_id_ == id) return file_;
    // DatasetImpl is the only Dataset.
    ARROW_ASSIGN_OR_RAISE(const Fragment* fragment,
                          static_cast<const DatasetImpl&>(*origin_.dataset).FragmentById(id));
    file_ = FileOfField(*fragment, column_->field_id);
    fragment_id_ = id;
    if (file_ != nullptr) return file_;
    return Error(ErrorCode::kInternal, "no file of fragment {} holds the blobs of column '{}'", id,
                 column_->path);
  }

  Status Flush() {
    std::vector<BlobRead> reads;
    for (const Waiting& blob : waiting_) {
      if (!blob.is_bytes() || blob.place.size == 0 || blob.place.size > kCopyBytes) continue;
      reads.push_back({&blob.location, {blob.place.position, blob.place.size}});
    }
    ARROW_ASSIGN_OR_RAISE(auto buffers, ReadBlobBytes(writer_->context_, reads));
    auto next = buffers.begin();
    for (const Waiting& blob : waiting_) {
      if (blob.is_null) {
        ARROW_RETURN_NOT_OK(builder_.AppendNull());
        continue;
      }
      if (!blob.is_bytes()) {
        ARROW_RETURN_NOT_OK(builder_.Append(blob.place));
        continue;
      }
      ARROW_RETURN_NOT_OK(writer_->Begin(column_, blob.place.size));
      if (blob.place.size > kCopyBytes) {
        ARROW_RETURN_NOT_OK(CopyPieces(blob));
      } else if (blob.place.size != 0) {
        ARROW_RETURN_NOT_OK(writer_->Add(std::string_view(**next++)));
      }
      ARROW_ASSIGN_OR_RAISE(const BlobPlace place, writer_->End());
      ARROW_RETURN_NOT_OK(builder_.Append(place));
    }
    waiting_.clear();
    waiting_bytes_ = 0;
    return Status::OK();
  }

  Status CopyPieces(const Waiting& blob) {
    for (uint64_t done = 0; done < blob.place.size; done += kCopyBytes) {
      ARROW_RETURN_NOT_OK(writer_->context_.Check());
      const BlobRead read{
          &blob.location,
          {blob.place.position + done, std::min(kCopyBytes, blob.place.size - done)}};
      ARROW_ASSIGN_OR_RAISE(auto piece, ReadBlobBytes(writer_->context_, std::span(&read, 1)));
      ARROW_RETURN_NOT_OK(writer_->Add(std::string_view(*piece[0])));
    }
    return Status::OK();
  }

  BlobWriter* const writer_;
  Column* const column_;
  const BlobOrigin& origin_;
  const BlobFinder finder_;
  format::BlobPlacesBuilder builder_;
  std::vector<Waiting> waiting_;
  uint64_t waiting_bytes_ = 0;
  const DataFile* file_ = nullptr;
  uint64_t fragment_id_ = 0;
};

BlobWriter::BlobWriter(const Context& context, std::shared_ptr<storage::ObjectStore> store,
                       const format::Schema* schema, std::string path,
                       const BlobWriteOptions* options, format::FileWriter* file,
                       std::vector<std::string>* keys)
    : context_(context),
      store_(std::move(store)),
      schema_(schema),
      path_(std::move(path)),
      options_(options),
      file_(file),
      keys_(keys) {}

BlobWriter::~BlobWriter() = default;

Result<std::unique_ptr<BlobWriter>> BlobWriter::Open(
    const Context& context, std::shared_ptr<storage::ObjectStore> store,
    const format::Schema* schema, const std::string& path, const BlobWriteOptions* options,
    format::FileWriter* file, std::vector<std::string>* keys) {
  std::unique_ptr<BlobWriter> writer(
      new BlobWriter(context, std::move(store), schema, path, options, file, keys));
  for (const format::Field& field : schema->fields) {
    ARROW_RETURN_NOT_OK(writer->AddColumns(field, field.name));
  }
  return writer;
}

Status BlobWriter::AddColumns(const format::Field& field, const std::string& path) {
  if (field.is_blob_v2()) {
    Column& column = *columns_.emplace_back(std::make_unique<Column>());
    column.path = path;
    column.field_id = field.id;
    ARROW_ASSIGN_OR_RAISE(column.thresholds, BlobThresholds::From(field, path));
    return Status::OK();
  }
  for (const format::Field& child : field.children) {
    ARROW_RETURN_NOT_OK(AddColumns(child, path + "." + child.name));
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> BlobWriter::Store(const arrow::RecordBatch& batch,
                                                              const BlobOrigin& origin) {
  if (batch.num_columns() != static_cast<int>(schema_->fields.size())) {
    return Error(ErrorCode::kInvalidArgument,
                 "rows have another number of columns than the file: {} instead of {}",
                 batch.num_columns(), schema_->fields.size());
  }
  arrow::ArrayVector arrays;
  arrow::FieldVector fields;
  size_t next_column = 0;
  for (int i = 0; i < batch.num_columns(); ++i) {
    ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(),
                          StoreField(schema_->fields[i], batch.column(i), origin, &next_column));
    fields.push_back(batch.schema()->field(i)->WithType(arrays.back()->type()));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(),
                                  std::move(arrays));
}

Result<std::shared_ptr<arrow::Array>> BlobWriter::StoreField(
    const format::Field& field, const std::shared_ptr<arrow::Array>& array,
    const BlobOrigin& origin, size_t* next_column) {
  if (field.is_blob_v2()) {
    return StoreColumn(columns_[(*next_column)++].get(), *format::StorageOf(array), origin);
  }
  // Blobs lie in structs only; other nesting is refused by the file.
  if (!format::HoldsBlobs(field) || array->type_id() != arrow::Type::STRUCT ||
      array->num_fields() != static_cast<int>(field.children.size())) {
    return array;
  }
  const auto& parent = static_cast<const arrow::StructArray&>(*array);
  // A blob below a null has no bytes.
  ARROW_ASSIGN_OR_RAISE(const arrow::ArrayVector flat, parent.Flatten(context_.pool()));
  arrow::ArrayVector children;
  arrow::FieldVector fields;
  for (int i = 0; i < parent.num_fields(); ++i) {
    const format::Field& child = field.children[i];
    const bool blobs = format::HoldsBlobs(child);
    ARROW_ASSIGN_OR_RAISE(
        children.emplace_back(),
        StoreField(child, blobs ? flat[i] : parent.field(i), origin, next_column));
    fields.push_back(parent.type()->field(i)->WithType(children.back()->type()));
  }
  ARROW_ASSIGN_OR_RAISE(auto validity, format::ValidityFromBit0(parent, context_.pool()));
  return std::make_shared<arrow::StructArray>(arrow::struct_(std::move(fields)), parent.length(),
                                              std::move(children), std::move(validity),
                                              parent.null_count());
}

Result<std::shared_ptr<arrow::Array>> BlobWriter::StoreColumn(Column* column,
                                                              const arrow::Array& array,
                                                              const BlobOrigin& origin) {
  ARROW_RETURN_NOT_OK(WithContext(array.Validate(), fmt::format("column '{}'", column->path)));
  if (!IsPlaces(*array.type())) {
    ARROW_RETURN_NOT_OK(CheckBlobType(*array.type(), column->path));
    ARROW_ASSIGN_OR_RAISE(const Values values, Values::Of(array, column->path));
    return StoreValues(column, values);
  }
  if (origin.dataset != nullptr) {
    if (static_cast<int64_t>(origin.addresses.size()) != array.length()) {
      return Error(ErrorCode::kInvalidArgument, "blobs of {} rows come with {} addresses",
                   array.length(), origin.addresses.size());
    }
    return Copier(this, column, origin).Run(array);
  }
  if (array.null_count() == array.length()) return arrow::MakeArray(array.data());
  return Error(ErrorCode::kInvalidArgument,
               "places of blobs are not written, give their bytes: column '{}'", column->path);
}

Result<std::shared_ptr<arrow::Array>> BlobWriter::StoreValues(Column* column,
                                                              const Values& values) {
  ARROW_RETURN_NOT_OK(values.Check());
  // All that can be refused is refused before a byte is written.
  std::string uri;
  for (int64_t row = 0; row < values.length(); ++row) {
    if (values.IsNull(row) || !values.IsExternal(row)) continue;
    ARROW_RETURN_NOT_OK(PlaceExternal(*column, values, row, &uri).status());
  }
  format::BlobPlacesBuilder builder(context_.pool());
  for (int64_t row = 0; row < values.length(); ++row) {
    if (values.IsNull(row)) {
      ARROW_RETURN_NOT_OK(builder.AppendNull());
      continue;
    }
    BlobPlace place;
    if (values.IsExternal(row)) {
      ARROW_ASSIGN_OR_RAISE(place, PlaceExternal(*column, values, row, &uri));
    } else {
      ARROW_RETURN_NOT_OK(context_.Check());
      const std::string_view bytes = values.Bytes(row);
      ARROW_RETURN_NOT_OK(Begin(column, bytes.size()));
      if (!bytes.empty()) ARROW_RETURN_NOT_OK(Add(bytes));
      ARROW_ASSIGN_OR_RAISE(place, End());
    }
    ARROW_RETURN_NOT_OK(builder.Append(place));
  }
  return builder.Finish();
}

Result<BlobPlace> BlobWriter::PlaceExternal(const Column& column, const Values& values, int64_t row,
                                            std::string* uri) const {
  BlobPlace place;
  place.kind = BlobKind::kExternal;
  if (values.HasRange(row)) {
    place.position = values.Position(row);
    place.size = values.Size(row);
  }
  for (const BasePath& base : options_->bases) {
    if (base.is_dataset_root || base.id == 0) continue;
    std::optional<std::string> relative = Below(values.Uri(row), base.path);
    if (!relative) continue;
    *uri = *std::move(relative);
    place.blob_id = base.id;
    place.uri = *uri;
    return place;
  }
  *uri = values.Uri(row);
  if (!IsAbsolute(*uri)) {
    return Bad(column.path, row, fmt::format("an external blob needs an absolute URI: '{}'", *uri));
  }
  if (!options_->allow_outside_bases) {
    return Error(ErrorCode::kPermissionDenied,
                 "an external blob lies outside of the table's bases, which the writer does not "
                 "allow: column '{}', '{}'",
                 column.path, *uri);
  }
  place.uri = *uri;
  return place;
}

Status BlobWriter::OpenBlobFile(std::unique_ptr<storage::ObjectWriter>* writer, uint32_t* id) {
  if (last_id_ == std::numeric_limits<uint32_t>::max()) {
    return Error(ErrorCode::kUnsupported, "a data file has too many blob files: '{}'", path_);
  }
  *id = ++last_id_;
  ARROW_ASSIGN_OR_RAISE(*writer, store_->OpenWriter(context_, BlobFileKey(path_, *id),
                                                    storage::PutCondition::kIfAbsent));
  return Status::OK();
}

Status BlobWriter::Publish(std::unique_ptr<storage::ObjectWriter>* writer, uint32_t id) {
  keys_->push_back(BlobFileKey(path_, id));
  ARROW_RETURN_NOT_OK((*writer)->Finish());
  writer->reset();
  return Status::OK();
}

Status BlobWriter::Begin(Column* column, uint64_t size) {
  column_ = column;
  started_ = false;
  place_ = BlobPlace();
  place_.size = size;
  if (size > column->thresholds.most_packed) {
    place_.kind = BlobKind::kDedicated;
    return OpenBlobFile(&dedicated_, &place_.blob_id);
  }
  if (size <= column->thresholds.most_inline) return Status::OK();
  place_.kind = BlobKind::kPacked;
  if (column->pack != nullptr && column->pack->position() > 0 &&
      size > column->thresholds.most_pack_file -
                 std::min(column->pack->position(), column->thresholds.most_pack_file)) {
    ARROW_RETURN_NOT_OK(Publish(&column->pack, column->pack_id));
  }
  if (column->pack == nullptr) ARROW_RETURN_NOT_OK(OpenBlobFile(&column->pack, &column->pack_id));
  place_.blob_id = column->pack_id;
  place_.position = column->pack->position();
  return Status::OK();
}

Status BlobWriter::Add(std::string_view bytes) {
  switch (place_.kind) {
    case BlobKind::kDedicated:
      return dedicated_->Write(bytes);
    case BlobKind::kPacked:
      return column_->pack->Write(bytes);
    default: {
      ARROW_ASSIGN_OR_RAISE(const uint64_t position, file_->WriteBytes(bytes, started_));
      if (!started_) place_.position = position;
      started_ = true;
      return Status::OK();
    }
  }
}

Result<BlobPlace> BlobWriter::End() {
  if (place_.kind == BlobKind::kDedicated)
    ARROW_RETURN_NOT_OK(Publish(&dedicated_, place_.blob_id));
  return place_;
}

Status BlobWriter::Finish() {
  for (const auto& column : columns_) {
    if (column->pack != nullptr) ARROW_RETURN_NOT_OK(Publish(&column->pack, column->pack_id));
  }
  return Status::OK();
}

}  // namespace lake::table
