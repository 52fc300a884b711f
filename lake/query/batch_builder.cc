#include <utility>

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <duckdb/common/arrow/arrow_appender.hpp>
#include <duckdb/common/arrow/arrow_converter.hpp>

#include "lake/objects/data_location.h"
#include "lake/query/batch_builder_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/stored_values.h"

namespace lake::query {
namespace {

/// Roughly what one FILE value takes.
constexpr int64_t kFileBytes = 256;

/// Bytes of value number `row`, with what lies in it, about.
int64_t ValueBytes(const duckdb::RecursiveUnifiedVectorFormat& values, duckdb::idx_t row) {
  using duckdb::PhysicalType;
  using duckdb::UnifiedVectorFormat;
  const PhysicalType type = values.logical_type.InternalType();
  auto bytes = static_cast<int64_t>(duckdb::GetTypeIdSize(type));
  if (type == PhysicalType::STRUCT) {
    // The entries of a struct have its rows, whatever its own selection.
    for (const auto& child : values.children) bytes += ValueBytes(child, row);
    return bytes;
  }
  const duckdb::idx_t index = values.unified.sel->get_index(row);
  if (!values.unified.validity.RowIsValid(index)) return bytes;
  duckdb::list_entry_t items{0, 0};
  if (type == PhysicalType::VARCHAR) {
    return bytes +
           static_cast<int64_t>(
               UnifiedVectorFormat::GetData<duckdb::string_t>(values.unified)[index].GetSize());
  }
  if (type == PhysicalType::LIST) {
    items = UnifiedVectorFormat::GetData<duckdb::list_entry_t>(values.unified)[index];
  } else if (type == PhysicalType::ARRAY) {
    const duckdb::idx_t size = duckdb::ArrayType::GetSize(values.logical_type);
    items = {index * size, size};
  } else {
    return bytes;
  }
  const duckdb::RecursiveUnifiedVectorFormat& child = values.children[0];
  if (duckdb::TypeIsConstantSize(child.logical_type.InternalType())) {
    return bytes + static_cast<int64_t>(items.length *
                                        duckdb::GetTypeIdSize(child.logical_type.InternalType()));
  }
  for (duckdb::idx_t i = 0; i < items.length; ++i) bytes += ValueBytes(child, items.offset + i);
  return bytes;
}

int64_t VectorBytes(duckdb::Vector& vector, duckdb::idx_t count) {
  if (IsFileSqlType(vector.GetType())) return kFileBytes * static_cast<int64_t>(count);
  const duckdb::PhysicalType type = vector.GetType().InternalType();
  if (duckdb::TypeIsConstantSize(type)) {
    return static_cast<int64_t>(count * duckdb::GetTypeIdSize(type));
  }
  duckdb::RecursiveUnifiedVectorFormat values;
  duckdb::Vector::RecursiveToUnifiedFormat(vector, count, values);
  int64_t bytes = 0;
  for (duckdb::idx_t row = 0; row < count; ++row) bytes += ValueBytes(values, row);
  return bytes;
}

/// A DuckDB struct of FILE's shape as an array of `type`, which is FILE's up to the nullability of
/// its children: these carry no nulls; those below a null value are filled.
Result<std::shared_ptr<arrow::Array>> ToFileArray(const std::string& column,
                                                  const std::shared_ptr<arrow::DataType>& type,
                                                  const arrow::Array& array) {
  const auto& file = static_cast<const arrow::StructArray&>(array);
  arrow::ArrayVector children;
  for (int i = 0; i < type->num_fields(); ++i) {
    std::shared_ptr<arrow::Array> child = file.field(i);
    if (child->null_count() > 0) {
      for (int64_t row = 0; row < file.length(); ++row) {
        if (child->IsNull(row) && file.IsValid(row)) {
          return Error(ErrorCode::kInvalidArgument,
                       "a FILE value with a null part is refused: column '{}', part '{}'", column,
                       type->field(i)->name());
        }
      }
      const auto& part = type->field(i)->type();
      const std::shared_ptr<arrow::Scalar> filler =
          part->id() == arrow::Type::STRING
              ? std::static_pointer_cast<arrow::Scalar>(std::make_shared<arrow::StringScalar>(""))
              : std::make_shared<arrow::UInt64Scalar>(0);
      ARROW_ASSIGN_OR_RAISE(arrow::Datum filled,
                            arrow::compute::CallFunction("coalesce", {child, filler}));
      child = filled.make_array();
    }
    children.push_back(std::move(child));
  }
  return std::make_shared<arrow::StructArray>(type, file.length(), std::move(children),
                                              file.null_bitmap(), file.null_count());
}

duckdb::vector<duckdb::string> NamesOf(const arrow::Schema& schema) {
  duckdb::vector<duckdb::string> names;
  for (const auto& field : schema.fields()) names.push_back(field->name());
  return names;
}

}  // namespace

BatchBuilder::BatchBuilder(duckdb::ClientContext& context,
                           const duckdb::vector<duckdb::LogicalType>& types)
    : context_(context), types_(types), properties_(context.GetClientProperties()) {
  properties_.arrow_offset_size = duckdb::ArrowOffsetSize::REGULAR;
  properties_.arrow_use_list_view = false;
  properties_.produce_arrow_string_view = false;
  properties_.arrow_lossless_conversion = false;
  properties_.arrow_output_version = duckdb::ArrowFormatVersion::V1_0;
}

BatchBuilder::~BatchBuilder() = default;

Status BatchBuilder::Init(const duckdb::vector<duckdb::string>& names) {
  ArrowSchema exported;
  try {
    duckdb::ArrowConverter::ToArrowSchema(&exported, types_, names, properties_);
  } catch (const std::exception& exception) {
    return StatusFromDuckDb(duckdb::ErrorData(exception));
  }
  return arrow::ImportSchema(&exported).Value(&natural_);
}

Result<std::unique_ptr<BatchBuilder>> BatchBuilder::ForTable(
    duckdb::ClientContext& context, const std::string& table,
    const duckdb::vector<duckdb::LogicalType>& types, std::shared_ptr<arrow::Schema> schema) {
  std::unique_ptr<BatchBuilder> builder(new BatchBuilder(context, types));
  builder->properties_.time_zone = "UTC";
  builder->table_ = table;
  ARROW_RETURN_NOT_OK(builder->Init(NamesOf(*schema)));
  builder->schema_ = std::move(schema);
  return builder;
}

Result<std::unique_ptr<BatchBuilder>> BatchBuilder::ForResult(
    duckdb::ClientContext& context, const duckdb::vector<duckdb::LogicalType>& types,
    const duckdb::vector<duckdb::string>& names) {
  std::unique_ptr<BatchBuilder> builder(new BatchBuilder(context, types));
  ARROW_RETURN_NOT_OK(builder->Init(names));
  builder->schema_ = builder->natural_;
  return builder;
}

Status BatchBuilder::Append(duckdb::DataChunk& chunk) {
  try {
    if (!appender_) {
      appender_ = std::make_unique<duckdb::ArrowAppender>(
          types_, chunk.size(), properties_,
          duckdb::ArrowTypeExtensionData::GetExtensionTypes(context_, types_));
    }
    appender_->Append(chunk, 0, chunk.size(), chunk.size());
    num_rows_ += static_cast<int64_t>(chunk.size());
    for (auto& vector : chunk.data) num_bytes_ += VectorBytes(vector, chunk.size());
  } catch (const std::exception& exception) {
    return StatusFromDuckDb(duckdb::ErrorData(exception));
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> BatchBuilder::Finish() {
  if (!appender_) return arrow::RecordBatch::MakeEmpty(schema_);
  ArrowArray finished;
  try {
    finished = appender_->Finalize();
  } catch (const std::exception& exception) {
    appender_.reset();
    return StatusFromDuckDb(duckdb::ErrorData(exception));
  }
  appender_.reset();
  const int64_t num_rows = std::exchange(num_rows_, 0);
  num_bytes_ = 0;
  ARROW_ASSIGN_OR_RAISE(auto batch, arrow::ImportRecordBatch(&finished, natural_));
  if (schema_ == natural_) return batch;
  arrow::ArrayVector columns;
  for (int i = 0; i < batch->num_columns(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto column, Convert(i, batch->column(i)));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(schema_, num_rows, std::move(columns));
}

Result<std::shared_ptr<arrow::Array>> BatchBuilder::Convert(int column,
                                                            std::shared_ptr<arrow::Array> array) {
  const auto& field = schema_->field(column);
  if (!field->nullable() && array->null_count() > 0) {
    return Error(ErrorCode::kInvalidArgument,
                 "NOT NULL constraint failed: column '{}' of table '{}'", field->name(), table_);
  }
  if (objects::IsFileType(*field->type())) {
    return ToFileArray(field->name(), field->type(), *array);
  }
  auto stored = StoreArray(field->name(), *field, array);
  return stored.ok() ? stored : WithContext(stored.status(), "table '" + table_ + "'");
}

}  // namespace lake::query
