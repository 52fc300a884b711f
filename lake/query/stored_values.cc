#include "lake/query/stored_values.h"

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/util/bit_util.h>

#include "lake/base/uuid.h"

namespace lake::query {
namespace {

constexpr char kExtensionName[] = "ARROW:extension:name";
constexpr char kExtensionMetadata[] = "ARROW:extension:metadata";
constexpr char kUuid[] = "arrow.uuid";
constexpr char kJson[] = "arrow.json";
constexpr char kBfloat16[] = "lance.bfloat16";
constexpr int kMostDecimalDigits = 38;

std::string ExtensionOf(const arrow::Field& field) {
  if (field.metadata() == nullptr) return "";
  return field.metadata()->Get(kExtensionName).ValueOr("");
}

bool IsBfloat16Field(const arrow::Field& field) {
  return field.type()->id() == arrow::Type::FIXED_SIZE_BINARY &&
         static_cast<const arrow::FixedSizeBinaryType&>(*field.type()).byte_width() == 2 &&
         ExtensionOf(field) == kBfloat16;
}

std::shared_ptr<arrow::Field> WithExtension(const std::string& name,
                                            std::shared_ptr<arrow::DataType> type, bool nullable,
                                            const char* extension) {
  return arrow::field(
      name, std::move(type), nullable,
      arrow::key_value_metadata({kExtensionName, kExtensionMetadata}, {extension, ""}));
}

bool IsNested(arrow::Type::type id) {
  switch (id) {
    case arrow::Type::STRUCT:
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::MAP:
      return true;
    default:
      return false;
  }
}

/// A nested type of the same kind as `type` with other fields.
Result<std::shared_ptr<arrow::DataType>> WithFields(const arrow::DataType& type,
                                                    arrow::FieldVector fields) {
  switch (type.id()) {
    case arrow::Type::STRUCT:
      return arrow::struct_(std::move(fields));
    case arrow::Type::LIST:
      return arrow::list(std::move(fields[0]));
    case arrow::Type::LARGE_LIST:
      return arrow::large_list(std::move(fields[0]));
    case arrow::Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(std::move(fields[0]),
                                    static_cast<const arrow::FixedSizeListType&>(type).list_size());
    default:
      return arrow::MapType::Make(std::move(fields[0]),
                                  static_cast<const arrow::MapType&>(type).keys_sorted());
  }
}

Status NotShown(const std::string& column, const arrow::DataType& type, const char* why) {
  return Error(ErrorCode::kUnsupported,
               "unsupported in SQL: a column type that DuckDB does not have{}: column '{}', type "
               "{}",
               why, column, type.ToString());
}

/// The type of a leaf as it is shown.
Result<std::shared_ptr<arrow::DataType>> ShownLeaf(const std::string& column,
                                                   const arrow::Field& stored) {
  const std::shared_ptr<arrow::DataType>& type = stored.type();
  switch (type->id()) {
    case arrow::Type::HALF_FLOAT:
      return arrow::float32();
    case arrow::Type::DECIMAL256: {
      const auto& decimal = static_cast<const arrow::Decimal256Type&>(*type);
      if (decimal.precision() > kMostDecimalDigits || decimal.scale() < 0) {
        return NotShown(column, *type, " (decimals have at most 38 digits)");
      }
      return arrow::decimal128(decimal.precision(), decimal.scale());
    }
    case arrow::Type::DECIMAL128:
      if (static_cast<const arrow::Decimal128Type&>(*type).scale() < 0) {
        return NotShown(column, *type, " (decimals have no negative scale)");
      }
      return type;
    case arrow::Type::DICTIONARY: {
      const auto& value = static_cast<const arrow::DictionaryType&>(*type).value_type();
      if (IsNested(value->id())) return NotShown(column, *type, "");
      return ShownLeaf(column, arrow::Field(stored.name(), value));
    }
    default:
      return IsBfloat16Field(stored) ? arrow::float32() : type;
  }
}

arrow::Status CastFailed(const std::string& column, const arrow::DataType& type,
                         const std::string& why) {
  return Error(ErrorCode::kUnsupported,
               "unsupported in SQL: a value that DuckDB cannot hold exactly: column '{}' of type "
               "{}: {}",
               column, type.ToString(), why);
}

Result<std::shared_ptr<arrow::Buffer>> CopiedValidity(const arrow::Array& array) {
  if (array.null_count() == 0) return nullptr;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bits,
                        arrow::AllocateEmptyBitmap(array.length()));
  for (int64_t i = 0; i < array.length(); ++i) {
    arrow::bit_util::SetBitTo(bits->mutable_data(), i, array.IsValid(i));
  }
  return bits;
}

/// A bfloat16 is the upper half of a float.
Result<std::shared_ptr<arrow::Array>> FromBfloat16(const arrow::Array& array) {
  const auto& source = static_cast<const arrow::FixedSizeBinaryArray&>(array);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(array.length() * int64_t{sizeof(float)}));
  auto* out = reinterpret_cast<uint32_t*>(values->mutable_data());
  for (int64_t i = 0; i < array.length(); ++i) {
    uint16_t half;
    std::memcpy(&half, source.GetValue(i), sizeof(half));
    out[i] = uint32_t{half} << 16;
  }
  ARROW_ASSIGN_OR_RAISE(auto validity, CopiedValidity(array));
  return std::make_shared<arrow::FloatArray>(array.length(), std::move(values), std::move(validity),
                                             array.null_count());
}

Result<std::shared_ptr<arrow::Array>> ToBfloat16(const std::string& column,
                                                 const std::shared_ptr<arrow::DataType>& type,
                                                 const arrow::Array& array) {
  const auto& source = static_cast<const arrow::FloatArray&>(array);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(array.length() * int64_t{sizeof(uint16_t)}));
  auto* out = reinterpret_cast<uint16_t*>(values->mutable_data());
  for (int64_t i = 0; i < array.length(); ++i) {
    uint32_t bits = 0;
    if (array.IsValid(i)) {
      const float value = source.Value(i);
      std::memcpy(&bits, &value, sizeof(bits));
      if (std::isnan(value)) bits = (bits & 0xFFFF0000u) | 0x00400000u;
      if ((bits & 0xFFFFu) != 0) {
        return Error(ErrorCode::kInvalidArgument,
                     "a value cannot be stored exactly: column '{}', type bfloat16: {}", column,
                     value);
      }
    }
    out[i] = static_cast<uint16_t>(bits >> 16);
  }
  ARROW_ASSIGN_OR_RAISE(auto validity, CopiedValidity(array));
  return std::make_shared<arrow::FixedSizeBinaryArray>(type, array.length(), std::move(values),
                                                       std::move(validity), array.null_count());
}

Result<std::shared_ptr<arrow::Array>> ToUuids(const std::string& column,
                                              const std::shared_ptr<arrow::DataType>& type,
                                              const arrow::Array& array) {
  const auto& texts = static_cast<const arrow::StringArray&>(array);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> values,
                        arrow::AllocateBuffer(array.length() * 16));
  std::memset(values->mutable_data(), 0, static_cast<size_t>(values->size()));
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) continue;
    const Result<Uuid> uuid = Uuid::Parse(texts.GetView(i));
    if (!uuid.ok()) return WithContext(uuid.status(), "column '" + column + "'");
    std::memcpy(values->mutable_data() + i * 16, uuid->bytes.data(), 16);
  }
  ARROW_ASSIGN_OR_RAISE(auto validity, CopiedValidity(array));
  return std::make_shared<arrow::FixedSizeBinaryArray>(type, array.length(), std::move(values),
                                                       std::move(validity), array.null_count());
}

Result<std::shared_ptr<arrow::Array>> CastExactly(const arrow::Array& array,
                                                  const std::shared_ptr<arrow::DataType>& type) {
  return arrow::compute::Cast(array, type, arrow::compute::CastOptions::Safe());
}

/// Arrow rounds to float16 without a word.
Result<std::shared_ptr<arrow::Array>> ToFloat16(const std::string& column,
                                                const arrow::Array& array) {
  ARROW_ASSIGN_OR_RAISE(auto halves, CastExactly(array, arrow::float16()));
  ARROW_ASSIGN_OR_RAISE(auto back, CastExactly(*halves, arrow::float32()));
  const auto& before = static_cast<const arrow::FloatArray&>(array);
  const auto& after = static_cast<const arrow::FloatArray&>(*back);
  for (int64_t i = 0; i < array.length(); ++i) {
    const bool same = array.IsNull(i) || before.Value(i) == after.Value(i) ||
                      (std::isnan(before.Value(i)) && std::isnan(after.Value(i)));
    if (same) continue;
    return Error(ErrorCode::kInvalidArgument,
                 "a value cannot be stored exactly: column '{}', type float16: {}", column,
                 before.Value(i));
  }
  return halves;
}

Result<std::shared_ptr<arrow::Array>> StoreLeaf(const std::string& column,
                                                const arrow::Field& stored,
                                                const std::shared_ptr<arrow::Array>& array) {
  const std::shared_ptr<arrow::DataType>& type = stored.type();
  if (IsBfloat16Field(stored) && array->type_id() == arrow::Type::FLOAT) {
    return ToBfloat16(column, type, *array);
  }
  if (IsUuidField(stored) && array->type_id() == arrow::Type::STRING) {
    return ToUuids(column, type, *array);
  }
  if (array->type()->Equals(*type)) return array;
  Result<std::shared_ptr<arrow::Array>> converted = nullptr;
  if (type->id() == arrow::Type::HALF_FLOAT && array->type_id() == arrow::Type::FLOAT) {
    return ToFloat16(column, *array);
  }
  if (type->id() == arrow::Type::DICTIONARY) {
    const auto& dictionary = static_cast<const arrow::DictionaryType&>(*type);
    ARROW_ASSIGN_OR_RAISE(
        auto values,
        StoreLeaf(column, arrow::Field(stored.name(), dictionary.value_type()), array));
    ARROW_ASSIGN_OR_RAISE(arrow::Datum encoded, arrow::compute::DictionaryEncode(values));
    const std::shared_ptr<arrow::Array> array_made = encoded.make_array();
    const auto& made = static_cast<const arrow::DictionaryArray&>(*array_made);
    converted = CastExactly(*made.indices(), dictionary.index_type());
    if (converted.ok()) {
      return arrow::DictionaryArray::FromArrays(type, *converted, made.dictionary());
    }
  } else {
    converted = CastExactly(*array, type);
  }
  if (converted.ok()) return converted;
  return Error(ErrorCode::kInvalidArgument,
               "a value cannot be stored exactly: column '{}', type {}: {}", column,
               type->ToString(), converted.status().message());
}

/// `data` with other children, of type `type`; offsets and nulls stay.
std::shared_ptr<arrow::Array> WithChildren(
    const arrow::ArrayData& data, std::shared_ptr<arrow::DataType> type,
    std::vector<std::shared_ptr<arrow::ArrayData>> children) {
  std::shared_ptr<arrow::ArrayData> copy = data.Copy();
  copy->type = std::move(type);
  copy->child_data = std::move(children);
  return arrow::MakeArray(std::move(copy));
}

std::string PathOf(const std::string& column, const arrow::DataType& parent,
                   const arrow::Field& child) {
  return parent.id() == arrow::Type::STRUCT ? column + "." + child.name() : column;
}

}  // namespace

bool IsUuidField(const arrow::Field& field) {
  return field.type()->id() == arrow::Type::FIXED_SIZE_BINARY &&
         static_cast<const arrow::FixedSizeBinaryType&>(*field.type()).byte_width() == 16 &&
         ExtensionOf(field) == kUuid;
}

bool IsJsonField(const arrow::Field& field) {
  return (field.type()->id() == arrow::Type::STRING ||
          field.type()->id() == arrow::Type::LARGE_STRING) &&
         ExtensionOf(field) == kJson;
}

std::shared_ptr<arrow::Field> UuidField(const std::string& name, bool nullable) {
  return WithExtension(name, arrow::fixed_size_binary(16), nullable, kUuid);
}

std::shared_ptr<arrow::Field> JsonField(const std::string& name, bool nullable) {
  return WithExtension(name, arrow::utf8(), nullable, kJson);
}

Result<std::shared_ptr<arrow::Field>> ShownField(const std::string& column,
                                                 const arrow::Field& stored) {
  const arrow::DataType& type = *stored.type();
  if (IsUuidField(stored)) return UuidField(stored.name(), stored.nullable());
  if (IsJsonField(stored)) {
    return WithExtension(stored.name(), stored.type(), stored.nullable(), kJson);
  }
  if (!IsNested(type.id())) {
    ARROW_ASSIGN_OR_RAISE(auto shown, ShownLeaf(column, stored));
    return arrow::field(stored.name(), std::move(shown), stored.nullable());
  }
  if (type.num_fields() == 0) return NotShown(column, type, " (a struct without fields)");
  arrow::FieldVector fields;
  for (const auto& child : type.fields()) {
    ARROW_ASSIGN_OR_RAISE(auto shown, ShownField(PathOf(column, type, *child), *child));
    fields.push_back(std::move(shown));
  }
  ARROW_ASSIGN_OR_RAISE(auto shown, WithFields(type, std::move(fields)));
  return arrow::field(stored.name(), std::move(shown), stored.nullable());
}

bool ShowsAsStored(const arrow::Field& stored, const arrow::Field& shown) {
  return stored.type()->Equals(*shown.type());
}

Result<std::shared_ptr<arrow::Array>> ShowArray(const std::string& column,
                                                const arrow::Field& stored,
                                                const arrow::Field& shown,
                                                const std::shared_ptr<arrow::Array>& array) {
  if (ShowsAsStored(stored, shown)) return array;
  const arrow::DataType& type = *stored.type();
  if (IsNested(type.id())) {
    std::vector<std::shared_ptr<arrow::ArrayData>> children;
    for (int i = 0; i < type.num_fields(); ++i) {
      const arrow::Field& field = *type.field(i);
      ARROW_ASSIGN_OR_RAISE(auto child,
                            ShowArray(PathOf(column, type, field), field, *shown.type()->field(i),
                                      arrow::MakeArray(array->data()->child_data[i])));
      children.push_back(child->data());
    }
    return WithChildren(*array->data(), shown.type(), std::move(children));
  }
  if (IsBfloat16Field(stored)) return FromBfloat16(*array);
  std::shared_ptr<arrow::Array> values = array;
  if (type.id() == arrow::Type::DICTIONARY) {
    const auto& value = static_cast<const arrow::DictionaryType&>(type).value_type();
    ARROW_ASSIGN_OR_RAISE(values, CastExactly(*array, value));
  }
  if (values->type()->Equals(*shown.type())) return values;
  auto converted = CastExactly(*values, shown.type());
  if (!converted.ok()) return CastFailed(column, type, converted.status().message());
  return converted;
}

Result<std::shared_ptr<arrow::Array>> StoreArray(const std::string& column,
                                                 const arrow::Field& stored,
                                                 const std::shared_ptr<arrow::Array>& array) {
  const arrow::DataType& type = *stored.type();
  if (!IsNested(type.id())) return StoreLeaf(column, stored, array);
  const bool same_kind = array->type_id() == type.id() || (array->type_id() == arrow::Type::LIST &&
                                                           type.id() == arrow::Type::LARGE_LIST);
  if (!same_kind || array->num_fields() != type.num_fields()) {
    return Error(ErrorCode::kInvalidArgument, "values of type {} do not fit column '{}' of type {}",
                 array->type()->ToString(), column, type.ToString());
  }
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  for (int i = 0; i < type.num_fields(); ++i) {
    const arrow::Field& field = *type.field(i);
    ARROW_ASSIGN_OR_RAISE(auto child, StoreArray(PathOf(column, type, field), field,
                                                 arrow::MakeArray(array->data()->child_data[i])));
    children.push_back(child->data());
  }
  if (array->type_id() == type.id()) {
    return WithChildren(*array->data(), stored.type(), std::move(children));
  }
  const auto list = WithChildren(*array->data(), arrow::list(type.field(0)), std::move(children));
  return CastExactly(*list, stored.type());
}

}  // namespace lake::query
