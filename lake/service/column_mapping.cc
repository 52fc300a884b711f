#include "lake/service/column_mapping.h"

#include <set>

#include <arrow/array/array_base.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/format/blob.h"
#include "lake/format/file_writer.h"
#include "lake/format/schema.h"
#include "lake/objects/data_location.h"
#include "lake/service/exact_cast.h"

namespace lake::service {
namespace {

Status CheckNames(const arrow::Schema& source, const std::string& source_name) {
  std::set<std::string> names;
  for (const auto& field : source.fields()) {
    if (names.insert(field->name()).second) continue;
    return Error(ErrorCode::kInvalidArgument, "the source '{}' has a column twice: '{}'",
                 source_name, field->name());
  }
  return Status::OK();
}

bool HoldsFiles(const arrow::DataType& type) {
  return objects::IsFileType(type) || objects::ContainsNestedFile(type);
}

Status RefuseFile(const std::string& source_name, const std::string& column) {
  return Error(
      ErrorCode::kUnsupported,
      "FILE columns cannot be ingested, since nothing proves where their objects come from; "
      "use 'lake file import' or INSERT with file: parameters: source '{}', column '{}'",
      source_name, column);
}

// The first row of `array` that is NULL. REQUIRES: there is one.
int64_t FirstNull(const arrow::Array& array) {
  int64_t row = 0;
  while (array.IsValid(row)) ++row;
  return row;
}

std::shared_ptr<arrow::DataType> PlainType(const std::shared_ptr<arrow::DataType>& type) {
  switch (type->id()) {
    case arrow::Type::DICTIONARY:
      return PlainType(static_cast<const arrow::DictionaryType&>(*type).value_type());
    case arrow::Type::STRING_VIEW:
      return arrow::utf8();
    case arrow::Type::BINARY_VIEW:
      return arrow::binary();
    default:
      return type;
  }
}

/// Bytes become the blobs of a column of blobs.
bool TakesBytes(const arrow::Field& target, const arrow::DataType& source) {
  return format::TellsBlobs(target) &&
         (source.id() == arrow::Type::BINARY || source.id() == arrow::Type::LARGE_BINARY);
}

}  // namespace

Result<ColumnMapping> ColumnMapping::Make(const arrow::Schema& source,
                                          std::shared_ptr<arrow::Schema> table,
                                          const std::string& source_name) {
  ARROW_RETURN_NOT_OK(CheckNames(source, source_name));
  for (const auto& field : source.fields()) {
    auto target = table->GetFieldByName(field->name());
    if (target == nullptr) {
      return Error(ErrorCode::kInvalidArgument,
                   "the source '{}' has a column that the table does not have: '{}'", source_name,
                   field->name());
    }
    if (HoldsFiles(*field->type()) || HoldsFiles(*target->type())) {
      return RefuseFile(source_name, field->name());
    }
    if (TakesBytes(*target, *field->type())) continue;
    if (!field->type()->Equals(*target->type()) &&
        !MayCastExactly(*field->type(), *target->type())) {
      return Error(ErrorCode::kInvalidArgument,
                   "the source '{}' has a column of another type than the table: '{}' is {}, the "
                   "table has {}",
                   source_name, field->name(), field->type()->ToString(),
                   target->type()->ToString());
    }
  }
  ColumnMapping mapping;
  for (const auto& field : table->fields()) {
    int index = source.GetFieldIndex(field->name());
    if (index < 0 && !field->nullable()) {
      return Error(ErrorCode::kInvalidArgument,
                   "the source '{}' lacks a column that the table needs in each row: '{}'",
                   source_name, field->name());
    }
    mapping.sources_.push_back(index);
  }
  mapping.source_name_ = source_name;
  mapping.table_ = std::move(table);
  return mapping;
}

Result<std::shared_ptr<arrow::RecordBatch>> ColumnMapping::Convert(const Context& context,
                                                                   const arrow::RecordBatch& batch,
                                                                   uint64_t first_row) const {
  arrow::ArrayVector columns;
  arrow::FieldVector shown = table_->fields();
  for (size_t i = 0; i < sources_.size(); ++i) {
    const arrow::Field& field = *table_->field(static_cast<int>(i));
    if (sources_[i] < 0) {
      ARROW_ASSIGN_OR_RAISE(auto nulls,
                            arrow::MakeArrayOfNull(field.type(), batch.num_rows(), context.pool()));
      columns.push_back(std::move(nulls));
      continue;
    }
    if (TakesBytes(field, *batch.column(sources_[i])->type())) {
      columns.push_back(batch.column(sources_[i]));
      shown[i] = field.WithType(columns.back()->type());
      continue;
    }
    InexactRow failed;
    auto column = ExactCast(context, batch.column(sources_[i]), field.type(), &failed);
    if (!column.ok()) {
      if (CodeOf(column.status()) == ErrorCode::kOutOfMemory) return column.status();
      return Error(ErrorCode::kInvalidArgument,
                   "a value cannot be kept exactly: source '{}', column '{}', row {}: {}",
                   source_name_, field.name(), first_row + static_cast<uint64_t>(failed.row),
                   failed.reason.message());
    }
    if (!field.nullable() && (*column)->null_count() > 0) {
      return Error(ErrorCode::kInvalidArgument,
                   "a NULL stands where the table takes none: source '{}', column '{}', row {}",
                   source_name_, field.name(),
                   first_row + static_cast<uint64_t>(FirstNull(**column)));
    }
    columns.push_back(*std::move(column));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(shown)), batch.num_rows(),
                                  std::move(columns));
}

Result<std::shared_ptr<arrow::Schema>> SchemaForSource(const arrow::Schema& source,
                                                       const std::string& source_name,
                                                       const format::FileVersion& file_version) {
  ARROW_RETURN_NOT_OK(CheckNames(source, source_name));
  arrow::FieldVector fields;
  for (const auto& field : source.fields()) {
    if (HoldsFiles(*field->type())) return RefuseFile(source_name, field->name());
    std::shared_ptr<arrow::DataType> type = PlainType(field->type());
    ARROW_RETURN_NOT_OK(WithContext(format::LogicalType(*type, field->name()).status(),
                                    fmt::format("cannot make a table for '{}'", source_name)));
    fields.push_back(arrow::field(field->name(), std::move(type), field->nullable()));
  }
  auto schema = arrow::schema(std::move(fields));
  const std::string place = fmt::format("cannot make a table for '{}'", source_name);
  const Result<format::Schema> written = format::SchemaFromArrow(*schema);
  ARROW_RETURN_NOT_OK(WithContext(written.status(), place));
  ARROW_RETURN_NOT_OK(WithContext(format::CheckWritable(*written, file_version), place));
  return schema;
}

}  // namespace lake::service
