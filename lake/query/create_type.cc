// Which Arrow type CREATE TABLE stores a SQL type as.

#include <utility>

#include <arrow/api.h>

#include "lake/objects/data_location.h"
#include "lake/query/stored_values.h"
#include "lake/query/types_internal.h"

namespace lake::query {
namespace {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;

Status Refused(const std::string& column, const LogicalType& type, const char* hint) {
  return Error(ErrorCode::kUnsupported,
               "unsupported column type: lake tables do not store it{}: "
               "column '{}', type {}",
               hint, column, type.ToString());
}

/// What to use instead of a type that is not stored.
const char* HintFor(LogicalTypeId type) {
  switch (type) {
    case LogicalTypeId::HUGEINT:
    case LogicalTypeId::UHUGEINT:
      return " (cast it to BIGINT or DECIMAL(38,0))";
    case LogicalTypeId::ENUM:
      return " (cast it to VARCHAR)";
    case LogicalTypeId::TIME_TZ:
      return " (use TIME or TIMESTAMPTZ)";
    case LogicalTypeId::INTERVAL:
      return " (store a number and its unit)";
    case LogicalTypeId::BIT:
      return " (cast it to VARCHAR or BLOB)";
    default:
      return "";
  }
}

/// The type of a SQL type without child types, or null.
std::shared_ptr<arrow::DataType> PlainType(const LogicalType& type) {
  switch (type.id()) {
    case LogicalTypeId::BOOLEAN:
      return arrow::boolean();
    case LogicalTypeId::TINYINT:
      return arrow::int8();
    case LogicalTypeId::SMALLINT:
      return arrow::int16();
    case LogicalTypeId::INTEGER:
      return arrow::int32();
    case LogicalTypeId::BIGINT:
      return arrow::int64();
    case LogicalTypeId::UTINYINT:
      return arrow::uint8();
    case LogicalTypeId::USMALLINT:
      return arrow::uint16();
    case LogicalTypeId::UINTEGER:
      return arrow::uint32();
    case LogicalTypeId::UBIGINT:
      return arrow::uint64();
    case LogicalTypeId::FLOAT:
      return arrow::float32();
    case LogicalTypeId::DOUBLE:
      return arrow::float64();
    case LogicalTypeId::DECIMAL:
      return arrow::decimal128(duckdb::DecimalType::GetWidth(type),
                               duckdb::DecimalType::GetScale(type));
    case LogicalTypeId::VARCHAR:
      return arrow::utf8();
    case LogicalTypeId::BLOB:
      return arrow::binary();
    case LogicalTypeId::DATE:
      return arrow::date32();
    case LogicalTypeId::TIME:
      return arrow::time64(arrow::TimeUnit::MICRO);
    case LogicalTypeId::TIMESTAMP_SEC:
      return arrow::timestamp(arrow::TimeUnit::SECOND);
    case LogicalTypeId::TIMESTAMP_MS:
      return arrow::timestamp(arrow::TimeUnit::MILLI);
    case LogicalTypeId::TIMESTAMP:
      return arrow::timestamp(arrow::TimeUnit::MICRO);
    case LogicalTypeId::TIMESTAMP_NS:
      return arrow::timestamp(arrow::TimeUnit::NANO);
    case LogicalTypeId::TIMESTAMP_TZ:
      return arrow::timestamp(arrow::TimeUnit::MICRO, "UTC");
    default:
      return nullptr;
  }
}

Result<std::shared_ptr<arrow::Field>> Convert(const std::string& path, const std::string& name,
                                              const LogicalType& type, bool nullable);

Result<std::shared_ptr<arrow::Field>> ConvertStruct(const std::string& path,
                                                    const std::string& name,
                                                    const LogicalType& type, bool nullable) {
  if (duckdb::StructType::IsUnnamed(type))
    return Refused(path, type, " (its fields have no names)");
  arrow::FieldVector fields;
  for (const auto& [child_name, child] : duckdb::StructType::GetChildTypes(type)) {
    ARROW_ASSIGN_OR_RAISE(auto field, Convert(path + "." + child_name, child_name, child, true));
    fields.push_back(std::move(field));
  }
  auto result = arrow::struct_(std::move(fields));
  // Readers would take it for FILE, whose values are never made of plain ones.
  if (objects::IsFileType(*result)) {
    return Refused(path, type, " (it has the fields of FILE; name one otherwise)");
  }
  return arrow::field(name, std::move(result), nullable);
}

Result<std::shared_ptr<arrow::Field>> Convert(const std::string& path, const std::string& name,
                                              const LogicalType& type, bool nullable) {
  if (type.IsJSONType()) return JsonField(name, nullable);
  if (type.HasAlias()) return Refused(path, type, HintFor(type.id()));
  if (auto plain = PlainType(type)) {
    if (type.id() == LogicalTypeId::VARCHAR && !duckdb::StringType::GetCollation(type).empty()) {
      return Refused(path, type, " (with a collation)");
    }
    return arrow::field(name, std::move(plain), nullable);
  }
  switch (type.id()) {
    case LogicalTypeId::UUID:
      return UuidField(name, nullable);
    case LogicalTypeId::STRUCT:
      return ConvertStruct(path, name, type, nullable);
    case LogicalTypeId::LIST: {
      ARROW_ASSIGN_OR_RAISE(auto item,
                            Convert(path, "item", duckdb::ListType::GetChildType(type), true));
      return arrow::field(name, arrow::list(std::move(item)), nullable);
    }
    case LogicalTypeId::ARRAY: {
      ARROW_ASSIGN_OR_RAISE(auto item,
                            Convert(path, "item", duckdb::ArrayType::GetChildType(type), true));
      return arrow::field(
          name,
          arrow::fixed_size_list(std::move(item),
                                 static_cast<int32_t>(duckdb::ArrayType::GetSize(type))),
          nullable);
    }
    case LogicalTypeId::MAP: {
      ARROW_ASSIGN_OR_RAISE(auto key, Convert(path, "key", duckdb::MapType::KeyType(type), false));
      ARROW_ASSIGN_OR_RAISE(auto value,
                            Convert(path, "value", duckdb::MapType::ValueType(type), true));
      return arrow::field(name, std::make_shared<arrow::MapType>(std::move(key), std::move(value)),
                          nullable);
    }
    default:
      return Refused(path, type, HintFor(type.id()));
  }
}

}  // namespace

Result<std::shared_ptr<arrow::Field>> FieldForCreate(const std::string& column,
                                                     const LogicalType& type, bool nullable) {
  if (IsFileSqlType(type)) return arrow::field(column, objects::DataLocationType(), nullable);
  if (ContainsFileSqlType(type)) {
    return Refused(column, type, " (FILE must be a column of its own)");
  }
  return Convert(column, column, type, nullable);
}

}  // namespace lake::query
