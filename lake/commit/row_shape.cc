#include "lake/commit/row_shape.h"

#include <map>
#include <string>
#include <vector>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/catalog/types.h"
#include "lake/format/blob.h"

namespace lake::commit {
namespace {

// Equal but for the names and nullability that nested fields declare.
bool SameLayout(const arrow::DataType& a, const arrow::DataType& b) {
  if (a.id() != b.id()) return false;
  if (a.num_fields() == 0) return a.Equals(b);
  if (a.num_fields() != b.num_fields()) return false;
  if (a.id() == arrow::Type::FIXED_SIZE_LIST &&
      static_cast<const arrow::FixedSizeListType&>(a).list_size() !=
          static_cast<const arrow::FixedSizeListType&>(b).list_size()) {
    return false;
  }
  for (int i = 0; i < a.num_fields(); ++i) {
    if (a.id() == arrow::Type::STRUCT && a.field(i)->name() != b.field(i)->name()) return false;
    if (!SameLayout(*a.field(i)->type(), *b.field(i)->type())) return false;
  }
  return true;
}

std::shared_ptr<arrow::ArrayData> Retyped(const arrow::ArrayData& data,
                                          const std::shared_ptr<arrow::DataType>& type) {
  std::shared_ptr<arrow::ArrayData> retyped = data.Copy();
  retyped->type = type;
  for (int i = 0; i < type->num_fields(); ++i) {
    retyped->child_data[i] = Retyped(*data.child_data[i], type->field(i)->type());
  }
  return retyped;
}

bool HoldsNull(const arrow::Array& child, const arrow::Array& parent) {
  if (child.null_count() == 0) return false;
  if (parent.null_count() == 0) return true;
  for (int64_t i = 0; i < child.length(); ++i) {
    if (child.IsNull(i) && parent.IsValid(i)) return true;
  }
  return false;
}

Status CheckNulls(const arrow::Field& field, const arrow::Array& column) {
  if (!field.nullable() && column.null_count() != 0) {
    return Error(ErrorCode::kInvalidArgument, "column takes no nulls: '{}'", field.name());
  }
  if (field.type()->id() != arrow::Type::STRUCT) return Status::OK();
  const auto& parent = static_cast<const arrow::StructArray&>(column);
  for (int i = 0; i < field.type()->num_fields(); ++i) {
    const arrow::Field& child = *field.type()->field(i);
    if (!child.nullable() && HoldsNull(*parent.field(i), parent)) {
      return Error(ErrorCode::kInvalidArgument, "field takes no nulls: '{}.{}'", field.name(),
                   child.name());
    }
  }
  return Status::OK();
}

}  // namespace

Status CheckNewColumns(const arrow::Schema& schema) {
  if (schema.num_fields() == 0) {
    return MakeError(ErrorCode::kInvalidArgument, "table needs at least one column");
  }
  std::map<std::string, std::string> by_folded;
  for (const auto& field : schema.fields()) {
    ARROW_ASSIGN_OR_RAISE(std::string name, catalog::CheckedName(field->name(), "column"));
    if (name != field->name()) {
      return Error(ErrorCode::kInvalidArgument, "column name is not in Unicode form NFC: '{}'",
                   field->name());
    }
    // Lance refuses the dot, and its tools cannot select a column with a backtick.
    if (name.find_first_of(".`") != std::string::npos) {
      return Error(ErrorCode::kInvalidArgument,
                   "column name holds '.' or '`', which Lance tables do not take: '{}'", name);
    }
    ARROW_ASSIGN_OR_RAISE(std::string folded, catalog::FoldedName(name));
    auto [other, added] = by_folded.emplace(folded, name);
    if (!added) {
      return Error(ErrorCode::kInvalidArgument,
                   "two columns have names that are equal or differ by case only: '{}' and '{}'",
                   other->second, name);
    }
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> ConformRows(
    const arrow::RecordBatch& batch, const std::shared_ptr<arrow::Schema>& schema) {
  if (batch.num_columns() != schema->num_fields()) {
    return Error(ErrorCode::kInvalidArgument, "rows have {} columns, the table has {}",
                 batch.num_columns(), schema->num_fields());
  }
  std::vector<std::shared_ptr<arrow::Array>> columns;
  columns.reserve(static_cast<size_t>(batch.num_columns()));
  std::shared_ptr<arrow::Schema> conformed = schema;
  for (int i = 0; i < batch.num_columns(); ++i) {
    const arrow::Field& field = *schema->field(i);
    std::shared_ptr<arrow::Array> column = batch.column(i);
    if (batch.column_name(i) != field.name()) {
      return Error(ErrorCode::kInvalidArgument, "column {} is called '{}', the table's is '{}'", i,
                   batch.column_name(i), field.name());
    }
    if (format::TellsBlobs(field) && !SameLayout(*column->type(), *field.type())) {
      // The writer knows the ways to give a blob by value.
      ARROW_ASSIGN_OR_RAISE(conformed, conformed->SetField(i, field.WithType(column->type())));
      ARROW_RETURN_NOT_OK(
          CheckNulls(*arrow::field(field.name(), arrow::null(), field.nullable()), *column));
      columns.push_back(std::move(column));
      continue;
    }
    if (!SameLayout(*column->type(), *field.type())) {
      return Error(ErrorCode::kInvalidArgument, "column '{}' holds {}, the table's holds {}",
                   field.name(), column->type()->ToString(), field.type()->ToString());
    }
    if (!column->type()->Equals(*field.type(), /*check_metadata=*/true)) {
      column = arrow::MakeArray(Retyped(*column->data(), field.type()));
    }
    ARROW_RETURN_NOT_OK(CheckNulls(field, *column));
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(std::move(conformed), batch.num_rows(), std::move(columns));
}

}  // namespace lake::commit
