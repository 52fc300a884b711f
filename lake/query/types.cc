#include <cctype>
#include <limits>
#include <map>

#include <arrow/api.h>
#include <duckdb/common/arrow/arrow_wrapper.hpp>
#include <duckdb/common/type_visitor.hpp>
#include <duckdb/main/config.hpp>

#include "lake/objects/data_location.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/types_internal.h"

namespace lake::query {
namespace {

using duckdb::LogicalType;
using duckdb::LogicalTypeId;

constexpr char kFileTypeName[] = "FILE";

/// What a column's values must satisfy to fit a DuckDB vector.
struct ValueRule {
  /// The value must be a multiple of this.
  int64_t multiple_of = 1;
  /// The value times this must fit 64 bits.
  int64_t scale = 1;
};

/// The rule for a type, or null if every value fits.
const ValueRule* RuleFor(const arrow::DataType& type) {
  static const ValueRule kNanos{.multiple_of = 1000, .scale = 1};
  static const ValueRule kDays{.multiple_of = 86'400'000, .scale = 1};
  static const ValueRule kMillis{.multiple_of = 1, .scale = 1000};
  static const ValueRule kSeconds{.multiple_of = 1, .scale = 1'000'000};
  const auto by_unit = [](arrow::TimeUnit::type unit) -> const ValueRule* {
    switch (unit) {
      case arrow::TimeUnit::SECOND:
        return &kSeconds;
      case arrow::TimeUnit::MILLI:
        return &kMillis;
      case arrow::TimeUnit::MICRO:
        return nullptr;
      case arrow::TimeUnit::NANO:
        return &kNanos;
    }
    return nullptr;
  };
  switch (type.id()) {
    case arrow::Type::DATE64:
      return &kDays;
    case arrow::Type::TIME64: {
      const auto unit = static_cast<const arrow::Time64Type&>(type).unit();
      return unit == arrow::TimeUnit::NANO ? &kNanos : nullptr;
    }
    case arrow::Type::DURATION:
      return by_unit(static_cast<const arrow::DurationType&>(type).unit());
    case arrow::Type::TIMESTAMP: {
      const auto& timestamp = static_cast<const arrow::TimestampType&>(type);
      return timestamp.timezone().empty() ? nullptr : by_unit(timestamp.unit());
    }
    default:
      return nullptr;
  }
}

bool NeedsCheck(const arrow::DataType& type) {
  if (type.id() == arrow::Type::STRUCT) {
    for (const auto& field : type.fields()) {
      if (NeedsCheck(*field->type())) return true;
    }
    return false;
  }
  return RuleFor(type) != nullptr;
}

/// The same type without field metadata, which DuckDB would read as extension types.
std::shared_ptr<arrow::Field> Bare(const std::shared_ptr<arrow::Field>& field) {
  std::shared_ptr<arrow::DataType> type = field->type();
  if (type->id() == arrow::Type::STRUCT) {
    arrow::FieldVector children;
    for (const auto& child : type->fields()) children.push_back(Bare(child));
    type = arrow::struct_(std::move(children));
  } else if (type->id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(*type);
    type = arrow::fixed_size_list(Bare(list.value_field()), list.list_size());
  }
  return arrow::field(field->name(), std::move(type), field->nullable());
}

std::string LowerAscii(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Status CheckNamesDiffer(const std::string& table, const arrow::Schema& schema) {
  std::map<std::string, std::string> seen;
  for (const auto& field : schema.fields()) {
    const auto [entry, fresh] = seen.emplace(LowerAscii(field->name()), field->name());
    if (!fresh) {
      return Error(
          ErrorCode::kUnsupported,
          "unsupported in SQL: two columns whose names differ in case only: table '{}', columns "
          "'{}' and '{}'",
          table, entry->second, field->name());
    }
  }
  return Status::OK();
}

std::string ValueText(const arrow::Array& array, int64_t row) {
  const auto scalar = array.GetScalar(row);
  return scalar.ok() ? (*scalar)->ToString() : "?";
}

Status CheckValues(const std::string& column, const arrow::Array& array, const ValueRule& rule) {
  const int64_t* values = array.data()->GetValues<int64_t>(1);
  const int64_t limit = std::numeric_limits<int64_t>::max() / rule.scale;
  for (int64_t row = 0; row < array.length(); ++row) {
    const int64_t value = values[row];
    const bool fits = value % rule.multiple_of == 0 && value <= limit && value >= -limit;
    if (fits || array.IsNull(row)) continue;
    return Error(
        ErrorCode::kUnsupported,
        "unsupported in SQL: a value that DuckDB cannot hold exactly (its type counts whole "
        "{}): column '{}' of type {}, value {}",
        array.type_id() == arrow::Type::DATE64 ? "days" : "microseconds", column,
        array.type()->ToString(), ValueText(array, row));
  }
  return Status::OK();
}

Status Refused(const std::string& column, const LogicalType& type, const char* hint) {
  return Error(ErrorCode::kUnsupported,
               "unsupported column type: lake tables do not store it yet{}: "
               "column '{}', type {}",
               hint, column, type.ToString());
}

}  // namespace

const LogicalType& FileSqlType() {
  static const LogicalType type = [] {
    duckdb::child_list_t<LogicalType> children;
    children.emplace_back("uri", LogicalType::VARCHAR);
    children.emplace_back("content_type", LogicalType::VARCHAR);
    children.emplace_back("size_bytes", LogicalType::UBIGINT);
    children.emplace_back("sha256", LogicalType::VARCHAR);
    LogicalType file = LogicalType::STRUCT(std::move(children));
    file.SetAlias(kFileTypeName);
    return file;
  }();
  return type;
}

bool IsFileSqlType(const LogicalType& type) { return type == FileSqlType(); }

bool ContainsFileSqlType(const LogicalType& type) {
  return duckdb::TypeVisitor::Contains(type,
                                       [](const LogicalType& part) { return IsFileSqlType(part); });
}

Result<std::shared_ptr<const SqlTable>> SqlTableFromArrow(duckdb::ClientContext& context,
                                                          const std::string& table,
                                                          const arrow::Schema& schema) {
  ARROW_RETURN_NOT_OK(CheckNamesDiffer(table, schema));
  auto result = std::make_shared<SqlTable>();
  arrow::FieldVector bare;
  for (const auto& field : schema.fields()) bare.push_back(Bare(field));
  duckdb::ArrowSchemaWrapper exported;
  ARROW_RETURN_NOT_OK(arrow::ExportSchema(arrow::Schema(bare), &exported.arrow_schema));
  try {
    duckdb::ArrowTableFunction::PopulateArrowTableSchema(duckdb::DBConfig::GetConfig(context),
                                                         result->conversion, exported.arrow_schema);
  } catch (const std::exception& exception) {
    return WithContext(StatusFromDuckDb(duckdb::ErrorData(exception)),
                       "unsupported in SQL: a column type of table '" + table + "'");
  }
  const auto& types = result->conversion.GetTypes();
  for (int i = 0; i < schema.num_fields(); ++i) {
    const auto& field = schema.field(i);
    if (objects::ContainsNestedFile(*field->type())) {
      return Error(ErrorCode::kUnsupported,
                   "unsupported: FILE nested inside another type: table '{}', column '{}'", table,
                   field->name());
    }
    SqlColumn column;
    column.name = field->name();
    column.type = objects::IsFileType(*field->type()) ? FileSqlType() : types[i];
    column.needs_check = NeedsCheck(*field->type());
    column.not_null = !field->nullable();
    result->columns.push_back(std::move(column));
  }
  return result;
}

Status CheckRepresentable(const std::string& column, const arrow::Array& array) {
  if (array.type_id() == arrow::Type::STRUCT) {
    const auto& structure = static_cast<const arrow::StructArray&>(array);
    for (int i = 0; i < structure.num_fields(); ++i) {
      const auto& child = structure.field(i);
      ARROW_RETURN_NOT_OK(
          CheckRepresentable(column + "." + structure.type()->field(i)->name(), *child));
    }
    return Status::OK();
  }
  const ValueRule* rule = RuleFor(*array.type());
  return rule == nullptr ? Status::OK() : CheckValues(column, array, *rule);
}

Result<std::shared_ptr<arrow::DataType>> ArrowTypeForCreate(const std::string& column,
                                                            const LogicalType& type) {
  if (IsFileSqlType(type)) return objects::DataLocationType();
  if (ContainsFileSqlType(type)) {
    return Refused(column, type, " (FILE must be a column of its own)");
  }
  if (type.HasAlias()) return Refused(column, type, "");
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
      if (!duckdb::StringType::GetCollation(type).empty()) {
        return Refused(column, type, " (with a collation)");
      }
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
    case LogicalTypeId::ARRAY: {
      const LogicalType& child = duckdb::ArrayType::GetChildType(type);
      if (!child.IsNumeric() || child.id() == LogicalTypeId::DECIMAL) {
        return Refused(column, type, " (only numbers in fixed-size lists)");
      }
      ARROW_ASSIGN_OR_RAISE(auto value_type, ArrowTypeForCreate(column, child));
      return arrow::fixed_size_list(arrow::field("item", std::move(value_type)),
                                    static_cast<int32_t>(duckdb::ArrayType::GetSize(type)));
    }
    case LogicalTypeId::HUGEINT:
    case LogicalTypeId::UHUGEINT:
      return Refused(column, type, " (cast it to BIGINT or DECIMAL(38,0))");
    default:
      return Refused(column, type, "");
  }
}

}  // namespace lake::query
