#include "lake/format/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/key_value_metadata.h>

namespace lake::format {
namespace {

constexpr char kExtensionName[] = "ARROW:extension:name";
constexpr char kExtensionMetadata[] = "ARROW:extension:metadata";
constexpr std::string_view kFixedSizeList = "fixed_size_list:";
constexpr int kMaxPath = 256;

struct NamedType {
  std::string_view logical;
  std::shared_ptr<arrow::DataType> type;
};

// Every type whose name has no free part.
const std::vector<NamedType>& NamedTypes() {
  static const std::vector<NamedType>* const types = new std::vector<NamedType>{
      {"bool", arrow::boolean()},
      {"int8", arrow::int8()},
      {"uint8", arrow::uint8()},
      {"int16", arrow::int16()},
      {"uint16", arrow::uint16()},
      {"int32", arrow::int32()},
      {"uint32", arrow::uint32()},
      {"int64", arrow::int64()},
      {"uint64", arrow::uint64()},
      {"float", arrow::float32()},
      {"double", arrow::float64()},
      {"string", arrow::utf8()},
      {"large_string", arrow::large_utf8()},
      {"binary", arrow::binary()},
      {"large_binary", arrow::large_binary()},
      {"date32:day", arrow::date32()},
      {"date64:ms", arrow::date64()},
      {"time32:s", arrow::time32(arrow::TimeUnit::SECOND)},
      {"time32:ms", arrow::time32(arrow::TimeUnit::MILLI)},
      {"time64:us", arrow::time64(arrow::TimeUnit::MICRO)},
      {"time64:ns", arrow::time64(arrow::TimeUnit::NANO)},
      {"duration:s", arrow::duration(arrow::TimeUnit::SECOND)},
      {"duration:ms", arrow::duration(arrow::TimeUnit::MILLI)},
      {"duration:us", arrow::duration(arrow::TimeUnit::MICRO)},
      {"duration:ns", arrow::duration(arrow::TimeUnit::NANO)},
  };
  return *types;
}

struct NamedUnit {
  std::string_view name;
  arrow::TimeUnit::type unit;
};
constexpr std::array<NamedUnit, 4> kUnits{{{"s", arrow::TimeUnit::SECOND},
                                           {"ms", arrow::TimeUnit::MILLI},
                                           {"us", arrow::TimeUnit::MICRO},
                                           {"ns", arrow::TimeUnit::NANO}}};

bool IsNumber(arrow::Type::type id) {
  return arrow::is_integer(id) || id == arrow::Type::FLOAT || id == arrow::Type::DOUBLE;
}

// Types of Lance that are known by name but not read, so that the error can say "not read" and not
// "damaged".
bool IsKnownUnread(std::string_view logical) {
  for (const std::string_view name : {"null", "halffloat", "list", "list.struct", "large_list",
                                      "large_list.struct", "json", "blob", "map"}) {
    if (logical == name) return true;
  }
  return logical.starts_with("decimal:256:") || logical.starts_with("dict:");
}

Status Unread(const std::string& logical, const std::string& path) {
  return Error(ErrorCode::kUnsupported,
               "a column of this Lance type is not read: column '{}', type {}", path, logical);
}

Status BadLogicalType(const std::string& logical, const std::string& path) {
  return Error(ErrorCode::kCorrupt,
               "the type of a column is not well-formed: column '{}', type '{}'", path,
               logical.substr(0, kMaxPath));
}

template <typename T>
std::optional<T> ParseInt(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

// The field's metadata or those keys of it that change how the column is stored and that we do not
// do.
Status CheckMetadata(const std::map<std::string, std::string>& metadata, const std::string& path) {
  const auto refuse = [&](std::string_view what) {
    return Error(ErrorCode::kUnsupported,
                 "a column stored in this way is neither read nor written: column '{}', {}", path,
                 what);
  };
  for (const char* key : {"lance-encoding:packed", "packed"}) {
    const auto found = metadata.find(key);
    if (found != metadata.end() && found->second == "true") return refuse("packed struct");
  }
  const auto blob = metadata.find("lance-encoding:blob");
  if (blob != metadata.end() && blob->second == "true") return refuse("blob");
  const auto extension = metadata.find(kExtensionName);
  if (extension != metadata.end() && extension->second.starts_with("lance.")) {
    return refuse("type " + extension->second);
  }
  return Status::OK();
}

std::map<std::string, std::string> MetadataOf(const arrow::KeyValueMetadata* metadata) {
  std::map<std::string, std::string> map;
  if (metadata == nullptr) return map;
  for (int64_t i = 0; i < metadata->size(); ++i) map[metadata->key(i)] = metadata->value(i);
  return map;
}

std::shared_ptr<const arrow::KeyValueMetadata> ToArrowMetadata(
    const std::map<std::string, std::string>& map) {
  if (map.empty()) return nullptr;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  for (const auto& [key, value] : map) {
    keys.push_back(key);
    values.push_back(value);
  }
  return arrow::key_value_metadata(std::move(keys), std::move(values));
}

Result<Field> FieldFromArrow(const arrow::Field& arrow_field, const std::string& parent_path,
                             int32_t* next_id) {
  const std::string path =
      parent_path.empty() ? arrow_field.name() : parent_path + "." + arrow_field.name();
  Field field;
  field.name = arrow_field.name();
  field.nullable = arrow_field.nullable();
  field.metadata = MetadataOf(arrow_field.metadata().get());
  const arrow::DataType* type = arrow_field.type().get();
  if (type->id() == arrow::Type::EXTENSION) {
    const auto& extension = static_cast<const arrow::ExtensionType&>(*type);
    field.metadata[kExtensionName] = extension.extension_name();
    field.metadata[kExtensionMetadata] = extension.Serialize();
    type = extension.storage_type().get();
  }
  ARROW_RETURN_NOT_OK(CheckMetadata(field.metadata, path));
  ARROW_ASSIGN_OR_RAISE(field.logical_type, LogicalType(*type, path));
  field.id = (*next_id)++;
  if (type->id() != arrow::Type::STRUCT) return field;
  if (!parent_path.empty()) {
    return Error(ErrorCode::kUnsupported,
                 "a struct inside a struct is neither read nor written: column '{}'", path);
  }
  std::set<std::string> names;
  for (const auto& child : type->fields()) {
    if (!names.insert(child->name()).second) {
      return Error(ErrorCode::kInvalidArgument, "a struct has two fields of the same name: '{}.{}'",
                   path, child->name());
    }
    ARROW_ASSIGN_OR_RAISE(Field converted, FieldFromArrow(*child, path, next_id));
    field.children.push_back(std::move(converted));
  }
  return field;
}

Result<std::shared_ptr<arrow::DataType>> ToArrowType(const std::string& logical,
                                                     const std::string& path) {
  for (const NamedType& named : NamedTypes()) {
    if (named.logical == logical) return named.type;
  }
  const std::string_view view = logical;
  if (view.starts_with("decimal:128:")) {
    const std::string_view rest = view.substr(12);
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return BadLogicalType(logical, path);
    const auto precision = ParseInt<int32_t>(rest.substr(0, colon));
    const auto scale = ParseInt<int32_t>(rest.substr(colon + 1));
    if (!precision || !scale || *precision < 1 || *precision > 38 || *scale < -128 ||
        *scale > 127) {
      return BadLogicalType(logical, path);
    }
    return arrow::decimal128(*precision, *scale);
  }
  if (view.starts_with("timestamp:")) {
    // The zone may hold colons itself, as in "+01:00".
    const std::string_view rest = view.substr(10);
    const size_t colon = rest.find(':');
    for (const NamedUnit& unit : kUnits) {
      if (colon == std::string_view::npos || rest.substr(0, colon) != unit.name) continue;
      const std::string_view zone = rest.substr(colon + 1);
      return zone == "-" ? arrow::timestamp(unit.unit)
                         : arrow::timestamp(unit.unit, std::string(zone));
    }
    return BadLogicalType(logical, path);
  }
  if (view.starts_with("fixed_size_binary:")) {
    const auto width = ParseInt<int32_t>(view.substr(18));
    if (!width || *width < 0) return BadLogicalType(logical, path);
    if (*width == 0) return Unread(logical, path);
    return arrow::fixed_size_binary(*width);
  }
  if (view.starts_with(kFixedSizeList)) {
    const size_t colon = view.rfind(':');
    const auto size = ParseInt<int32_t>(view.substr(colon + 1));
    if (colon < kFixedSizeList.size() || !size || *size < 0) return BadLogicalType(logical, path);
    const std::string_view item = view.substr(kFixedSizeList.size(), colon - kFixedSizeList.size());
    for (const NamedType& named : NamedTypes()) {
      if (named.logical != item || !IsNumber(named.type->id()) || *size == 0) continue;
      return arrow::fixed_size_list(arrow::field("item", named.type), *size);
    }
    return Unread(logical, path);
  }
  if (IsKnownUnread(view)) return Unread(logical, path);
  return Error(ErrorCode::kUnsupported,
               "a column has a type that is not known: column '{}', type '{}'", path,
               logical.substr(0, kMaxPath));
}

Result<std::shared_ptr<arrow::Field>> ToArrowField(const Field& field,
                                                   const std::string& parent_path) {
  const std::string path = parent_path.empty() ? field.name : parent_path + "." + field.name;
  ARROW_RETURN_NOT_OK(CheckMetadata(field.metadata, path));
  std::shared_ptr<arrow::DataType> type;
  if (field.logical_type == "struct") {
    if (!parent_path.empty() || field.children.empty()) {
      return Error(ErrorCode::kUnsupported,
                   "a struct inside a struct, or one without fields, is not read: column '{}'",
                   path);
    }
    arrow::FieldVector children;
    for (const Field& child : field.children) {
      ARROW_ASSIGN_OR_RAISE(auto converted, ToArrowField(child, path));
      children.push_back(std::move(converted));
    }
    type = arrow::struct_(std::move(children));
  } else {
    ARROW_ASSIGN_OR_RAISE(type, ToArrowType(field.logical_type, path));
    if (!field.children.empty()) {
      return field.logical_type.starts_with(kFixedSizeList)
                 ? Unread(field.logical_type, path)
                 : Error(ErrorCode::kCorrupt,
                         "a column of a type without fields has fields: column '{}', type {}", path,
                         field.logical_type);
    }
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

void AppendLeafIds(const Field& field, std::vector<int32_t>* ids) {
  if (field.is_leaf()) ids->push_back(field.id);
  for (const Field& child : field.children) AppendLeafIds(child, ids);
}

}  // namespace

const Field* Schema::Find(const std::string& name) const {
  for (const Field& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

int32_t Schema::MaxFieldId() const { return MaxIdOf(fields); }

std::vector<int32_t> Schema::LeafIds(const Field& field) {
  std::vector<int32_t> ids;
  AppendLeafIds(field, &ids);
  return ids;
}

Result<std::string> LogicalType(const arrow::DataType& type, const std::string& path) {
  for (const NamedType& named : NamedTypes()) {
    if (named.type->Equals(type)) return std::string(named.logical);
  }
  const auto refuse = [&] {
    return Error(ErrorCode::kUnsupported,
                 "a column of this type is neither read nor written: column '{}', type {}", path,
                 type.ToString());
  };
  switch (type.id()) {
    case arrow::Type::DECIMAL128: {
      const auto& decimal = static_cast<const arrow::Decimal128Type&>(type);
      return fmt::format("decimal:128:{}:{}", decimal.precision(), decimal.scale());
    }
    case arrow::Type::TIMESTAMP: {
      const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
      const std::string zone = timestamp.timezone().empty() ? "-" : timestamp.timezone();
      return fmt::format("timestamp:{}:{}", kUnits[timestamp.unit()].name, zone);
    }
    case arrow::Type::FIXED_SIZE_BINARY: {
      const auto& binary = static_cast<const arrow::FixedSizeBinaryType&>(type);
      if (binary.byte_width() == 0) return refuse();
      return fmt::format("fixed_size_binary:{}", binary.byte_width());
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
      if (!IsNumber(list.value_type()->id()) || list.list_size() == 0) return refuse();
      ARROW_ASSIGN_OR_RAISE(const std::string item, LogicalType(*list.value_type(), path));
      return fmt::format("{}{}:{}", kFixedSizeList, item, list.list_size());
    }
    case arrow::Type::STRUCT:
      if (type.num_fields() == 0) return refuse();
      return std::string("struct");
    default:
      return refuse();
  }
}

Result<Schema> SchemaFromArrow(const arrow::Schema& schema, int32_t first_id) {
  Schema result;
  result.metadata = MetadataOf(schema.metadata().get());
  std::set<std::string> names;
  int32_t next_id = first_id;
  for (const auto& arrow_field : schema.fields()) {
    if (!names.insert(arrow_field->name()).second) {
      return Error(ErrorCode::kInvalidArgument, "two columns have the same name: '{}'",
                   arrow_field->name());
    }
    ARROW_ASSIGN_OR_RAISE(Field field, FieldFromArrow(*arrow_field, "", &next_id));
    result.fields.push_back(std::move(field));
  }
  return result;
}

Result<std::shared_ptr<arrow::Field>> ToArrow(const Field& field) {
  return ToArrowField(field, "");
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
