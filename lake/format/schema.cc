#include "lake/format/schema.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "lake/format/blob.h"

namespace lake::format {
namespace {

constexpr char kOldPackedKey[] = "packed";
constexpr char kPrimaryKeyKey[] = "lance-schema:unenforced-primary-key";
constexpr char kArrowJson[] = "arrow.json";
constexpr char kLanceJson[] = "lance.json";
constexpr char kLanceBlob[] = "lance.blob.v2";
constexpr char kJson[] = "json";

using Metadata = std::map<std::string, std::string>;

std::string_view Get(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string_view() : std::string_view(found->second);
}

// Extension types of Lance's own name whose columns are stored as something else than their storage
// type says are refused until they are known.
Status CheckExtension(const Metadata& metadata, const std::string& path) {
  const std::string_view name = Get(metadata, kExtensionNameKey);
  if (!name.starts_with("lance.") || name == kLanceJson || name == kLanceBlob ||
      name == "lance.bfloat16") {
    return Status::OK();
  }
  return Error(ErrorCode::kUnsupported,
               "a column of this extension type is neither read nor written: column '{}', {}", path,
               name);
}

Metadata MetadataOf(const arrow::KeyValueMetadata* metadata) {
  Metadata map;
  if (metadata == nullptr) return map;
  for (int64_t i = 0; i < metadata->size(); ++i) map[metadata->key(i)] = metadata->value(i);
  return map;
}

std::shared_ptr<const arrow::KeyValueMetadata> ToArrowMetadata(const Metadata& map) {
  if (map.empty()) return nullptr;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  for (const auto& [key, value] : map) {
    keys.push_back(key);
    values.push_back(value);
  }
  return arrow::key_value_metadata(std::move(keys), std::move(values));
}

bool IsString(arrow::Type::type id) {
  return id == arrow::Type::STRING || id == arrow::Type::LARGE_STRING ||
         id == arrow::Type::STRING_VIEW;
}

bool IsBytes(arrow::Type::type id) {
  return id == arrow::Type::BINARY || id == arrow::Type::LARGE_BINARY ||
         id == arrow::Type::BINARY_VIEW;
}

/// The fields of the struct that a blob is written as, two of them or all.
arrow::FieldVector BlobValueFields() {
  return {arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8()),
          arrow::field("position", arrow::uint64()), arrow::field("size", arrow::uint64())};
}

Status CheckBlobValue(const arrow::DataType& type, const std::string& path) {
  const arrow::FieldVector wanted = BlobValueFields();
  bool fits =
      type.id() == arrow::Type::STRUCT && (type.num_fields() == 2 || type.num_fields() == 4);
  for (int i = 0; fits && i < type.num_fields(); ++i) {
    fits = type.field(i)->name() == wanted[i]->name() &&
           type.field(i)->type()->Equals(*wanted[i]->type()) && type.field(i)->nullable();
  }
  if (fits) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "a blob is a struct of data (large_binary) and uri (string), and maybe position and "
               "size (uint64), all nullable: column '{}', {}",
               path, type.ToString());
}

std::string PathOf(const std::string& parent, const std::string& name) {
  return parent.empty() ? name : parent + "." + name;
}

Result<Field> FieldFromArrow(const arrow::Field& arrow_field, const std::string& parent_path,
                             int depth, int64_t* next_id) {
  const std::string path = PathOf(parent_path, arrow_field.name());
  if (depth > kMaxTypeDepth) {
    return Error(ErrorCode::kUnsupported, "a column is nested deeper than {}: column '{}'",
                 kMaxTypeDepth, path);
  }
  Field field;
  field.name = arrow_field.name();
  field.nullable = arrow_field.nullable();
  field.metadata = MetadataOf(arrow_field.metadata().get());
  const arrow::DataType* type = arrow_field.type().get();
  if (type->id() == arrow::Type::EXTENSION) {
    const auto& extension = static_cast<const arrow::ExtensionType&>(*type);
    field.metadata[kExtensionNameKey] = extension.extension_name();
    field.metadata[kExtensionMetadataKey] = extension.Serialize();
    type = extension.storage_type().get();
  }
  ARROW_RETURN_NOT_OK(CheckExtension(field.metadata, path));
  const std::string_view primary_key = Get(field.metadata, kPrimaryKeyKey);
  field.unenforced_primary_key = primary_key == "true" || primary_key == "1";
  if (*next_id > std::numeric_limits<int32_t>::max()) {
    return Error(ErrorCode::kUnsupported, "table has used up its 2^31 field ids: column '{}'",
                 path);
  }
  field.id = static_cast<int32_t>((*next_id)++);
  const std::string_view extension = Get(field.metadata, kExtensionNameKey);
  if ((extension == kArrowJson && IsString(type->id())) || extension == kLanceJson) {
    field.logical_type = kJson;
    field.metadata[kExtensionNameKey] = kLanceJson;
    field.metadata[kExtensionMetadataKey] = "";
    return field;
  }
  arrow::FieldVector children = type->fields();
  if (Get(field.metadata, kBlobKey) == "true" && IsBytes(type->id())) {
    field.metadata.erase(kBlobKey);
    field.metadata[kExtensionNameKey] = kLanceBlob;
    field.logical_type = "struct";
    children = BlobValueFields();
    children.resize(2);
  } else {
    if (extension == kLanceBlob) {
      ARROW_RETURN_NOT_OK(CheckBlobValue(*type, path));
    } else if (Get(field.metadata, kBlobKey) == "true") {
      return Error(ErrorCode::kUnsupported,
                   "a column tells where blobs of another table lie, which is not written; give "
                   "their bytes: column '{}', {}",
                   path, type->ToString());
    }
    ARROW_ASSIGN_OR_RAISE(field.logical_type, LogicalType(*type, path));
  }
  if (!HasChildFields(field.logical_type)) return field;
  std::set<std::string> names;
  for (const auto& child : children) {
    if (!names.insert(child->name()).second) {
      return Error(ErrorCode::kInvalidArgument, "a struct has two fields of the same name: '{}.{}'",
                   path, child->name());
    }
    ARROW_ASSIGN_OR_RAISE(Field converted, FieldFromArrow(*child, path, depth + 1, next_id));
    field.children.push_back(std::move(converted));
  }
  return field;
}

Status BadChildren(const Field& field, const std::string& path) {
  return Error(ErrorCode::kCorrupt,
               "a column has fields that its type does not have: column '{}', type {}, {} fields",
               path, field.logical_type, field.children.size());
}

// The struct that is read for a blob: where its bytes lie.
std::shared_ptr<arrow::Field> BlobToArrow(const Field& field) {
  if (field.is_blob_v1()) {
    return arrow::field(field.name,
                        arrow::struct_({arrow::field("position", arrow::uint64()),
                                        arrow::field("size", arrow::uint64())}),
                        field.nullable, ToArrowMetadata(field.metadata));
  }
  Metadata metadata = field.metadata;
  metadata.erase(kExtensionNameKey);
  metadata.erase(kExtensionMetadataKey);
  metadata[kBlobKey] = "true";
  metadata[kPackedKey] = "true";
  return arrow::field(field.name, BlobPlaceType(), field.nullable, ToArrowMetadata(metadata));
}

Result<std::shared_ptr<arrow::DataType>> NestedType(const Field& field, arrow::FieldVector children,
                                                    const std::string& path) {
  const std::string_view logical = field.logical_type;
  if (logical == "struct") return arrow::struct_(std::move(children));
  if (children.size() != 1) return BadChildren(field, path);
  if (logical.starts_with("list")) return arrow::list(std::move(children[0]));
  if (logical.starts_with("large_list")) return arrow::large_list(std::move(children[0]));
  if (logical == "map") {
    const auto map = arrow::MapType::Make(std::move(children[0]));
    if (!map.ok()) return BadChildren(field, path);
    return *map;
  }
  // The size of a fixed-size list of structs is read by the parser of plain types, with an item
  // that it knows.
  const std::string plain = "fixed_size_list:int8" + std::string(logical.substr(22));
  const auto sized = TypeOfLogicalType(plain, path);
  if (!sized.ok()) return WithContext(sized.status(), field.logical_type);
  if (children[0]->type()->id() != arrow::Type::STRUCT) return BadChildren(field, path);
  return arrow::fixed_size_list(std::move(children[0]),
                                static_cast<const arrow::FixedSizeListType&>(**sized).list_size());
}

Result<std::shared_ptr<arrow::Field>> ToArrowField(const Field& field,
                                                   const std::string& parent_path, int depth) {
  const std::string path = PathOf(parent_path, field.name);
  if (depth > kMaxTypeDepth) {
    return Error(ErrorCode::kUnsupported, "a column is nested deeper than {}: column '{}'",
                 kMaxTypeDepth, path);
  }
  ARROW_RETURN_NOT_OK(CheckExtension(field.metadata, path));
  if (field.is_blob_v1() && !field.children.empty()) return BadChildren(field, path);
  if (field.is_blob_v1() || field.is_blob_v2()) return BlobToArrow(field);
  if (field.logical_type == kJson) {
    Metadata metadata = field.metadata;
    metadata[kExtensionNameKey] = kArrowJson;
    metadata[kExtensionMetadataKey] = "";
    if (!field.children.empty()) return BadChildren(field, path);
    return arrow::field(field.name, arrow::utf8(), field.nullable, ToArrowMetadata(metadata));
  }
  std::shared_ptr<arrow::DataType> type;
  if (HasChildFields(field.logical_type)) {
    arrow::FieldVector children;
    for (const Field& child : field.children) {
      ARROW_ASSIGN_OR_RAISE(auto converted, ToArrowField(child, path, depth + 1));
      children.push_back(std::move(converted));
    }
    ARROW_ASSIGN_OR_RAISE(type, NestedType(field, std::move(children), path));
  } else {
    ARROW_ASSIGN_OR_RAISE(type, TypeOfLogicalType(field.logical_type, path));
    if (!field.children.empty()) return BadChildren(field, path);
  }
  return arrow::field(field.name, std::move(type), field.nullable, ToArrowMetadata(field.metadata));
}

int32_t MaxIdOf(const std::vector<Field>& fields) {
  int32_t max = -1;
  for (const Field& field : fields) {
    max = std::max({max, field.id, MaxIdOf(field.children)});
  }
  return max;
}

void AppendColumnIds(const Field& field, bool with_parents, std::vector<int32_t>* ids) {
  if (field.is_leaf()) {
    ids->push_back(field.id);
    return;
  }
  if (with_parents) ids->push_back(field.id);
  for (const Field& child : field.children) AppendColumnIds(child, with_parents, ids);
}

}  // namespace

bool Field::is_packed() const {
  return logical_type == "struct" &&
         (Get(metadata, kPackedKey) == "true" || Get(metadata, kOldPackedKey) == "true");
}

bool Field::is_blob_v1() const {
  return logical_type == "large_binary" && Get(metadata, kBlobKey) == "true";
}

bool Field::is_blob_v2() const {
  return logical_type == "struct" &&
         (Get(metadata, kExtensionNameKey) == kLanceBlob || Get(metadata, kBlobKey) == "true");
}

bool Field::is_leaf() const { return children.empty() || is_packed() || is_blob_v2(); }

const Field* Schema::Find(const std::string& name) const {
  for (const Field& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

int32_t Schema::MaxFieldId() const { return MaxIdOf(fields); }

std::vector<int32_t> Schema::LeafIds(const Field& field) {
  std::vector<int32_t> ids;
  AppendColumnIds(field, false, &ids);
  return ids;
}

std::vector<int32_t> Schema::ColumnIds(const Field& field, const FileVersion& version) {
  std::vector<int32_t> ids;
  AppendColumnIds(field, version < kFileVersion21, &ids);
  return ids;
}

Result<Schema> SchemaFromArrow(const arrow::Schema& schema, int64_t first_id) {
  Schema result;
  result.metadata = MetadataOf(schema.metadata().get());
  std::set<std::string> names;
  int64_t next_id = first_id;
  for (const auto& arrow_field : schema.fields()) {
    if (!names.insert(arrow_field->name()).second) {
      return Error(ErrorCode::kInvalidArgument, "two columns have the same name: '{}'",
                   arrow_field->name());
    }
    ARROW_ASSIGN_OR_RAISE(Field field, FieldFromArrow(*arrow_field, "", 1, &next_id));
    result.fields.push_back(std::move(field));
  }
  return result;
}

Result<std::shared_ptr<arrow::Field>> ToArrow(const Field& field) {
  return ToArrowField(field, "", 1);
}

Result<std::shared_ptr<arrow::Schema>> ToArrow(const Schema& schema) {
  arrow::FieldVector fields;
  for (const Field& field : schema.fields) {
    ARROW_ASSIGN_OR_RAISE(auto converted, ToArrow(field));
    fields.push_back(std::move(converted));
  }
  return arrow::schema(std::move(fields), ToArrowMetadata(schema.metadata));
}

}  // namespace lake::format
