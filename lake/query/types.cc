#include <cctype>
#include <limits>
#include <map>

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <duckdb/common/arrow/arrow_wrapper.hpp>
#include <duckdb/common/type_visitor.hpp>
#include <duckdb/main/config.hpp>

#include "lake/objects/data_location.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/stored_values.h"
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
  for (const auto& field : type.fields()) {
    if (NeedsCheck(*field->type())) return true;
  }
  return RuleFor(type) != nullptr;
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
  arrow::FieldVector shown;
  for (const auto& field : schema.fields()) {
    Result<std::shared_ptr<arrow::Field>> converted = ShownField(field->name(), *field);
    if (!converted.ok()) return WithContext(converted.status(), "table '" + table + "'");
    shown.push_back(*std::move(converted));
  }
  duckdb::ArrowSchemaWrapper exported;
  ARROW_RETURN_NOT_OK(arrow::ExportSchema(arrow::Schema(shown), &exported.arrow_schema));
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
    column.stored = field;
    column.shown = shown[i];
    column.converts = !ShowsAsStored(*field, *shown[i]);
    column.needs_check = NeedsCheck(*shown[i]->type());
    column.not_null = !field->nullable();
    result->columns.push_back(std::move(column));
  }
  return result;
}

Status ShowColumn(const SqlColumn& column, int index, std::shared_ptr<arrow::RecordBatch>* batch) {
  if (column.converts) {
    std::shared_ptr<arrow::Array> array = (*batch)->column(index);
    // A scan may have kept the dictionary of a page.
    if (array->type_id() == arrow::Type::DICTIONARY &&
        column.stored->type()->id() != arrow::Type::DICTIONARY) {
      ARROW_ASSIGN_OR_RAISE(array, arrow::compute::Cast(*array, column.stored->type()));
    }
    ARROW_ASSIGN_OR_RAISE(array, ShowArray(column.name, *column.stored, *column.shown, array));
    ARROW_ASSIGN_OR_RAISE(*batch, (*batch)->SetColumn(index, column.shown, array));
  }
  if (!column.needs_check) return Status::OK();
  return CheckRepresentable(column.name, *(*batch)->column(index));
}

Status CheckRepresentable(const std::string& column, const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::STRUCT: {
      const auto& structure = static_cast<const arrow::StructArray&>(array);
      for (int i = 0; i < structure.num_fields(); ++i) {
        const auto& child = structure.field(i);
        ARROW_RETURN_NOT_OK(
            CheckRepresentable(column + "." + structure.type()->field(i)->name(), *child));
      }
      return Status::OK();
    }
    case arrow::Type::LIST:
    case arrow::Type::MAP: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      const int32_t start = list.value_offset(0);
      return CheckRepresentable(
          column, *list.values()->Slice(start, list.value_offset(list.length()) - start));
    }
    case arrow::Type::LARGE_LIST: {
      const auto& list = static_cast<const arrow::LargeListArray&>(array);
      const int64_t start = list.value_offset(0);
      return CheckRepresentable(
          column, *list.values()->Slice(start, list.value_offset(list.length()) - start));
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListArray&>(array);
      const int64_t start = list.value_offset(0);
      return CheckRepresentable(
          column, *list.values()->Slice(start, list.value_offset(list.length()) - start));
    }
    default: {
      const ValueRule* rule = RuleFor(*array.type());
      return rule == nullptr ? Status::OK() : CheckValues(column, array, *rule);
    }
  }
}

}  // namespace lake::query
