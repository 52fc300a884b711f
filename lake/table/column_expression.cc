#include "lake/table/column_expression.h"

#include <arrow/array/util.h>
#include <arrow/compute/cast.h>
#include <arrow/compute/exec.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/arrow_compute.h"

namespace lake::table {

namespace cp = arrow::compute;

Result<ColumnExpression> ColumnExpression::Bind(const cp::Expression& expression,
                                                const arrow::Schema& schema,
                                                std::shared_ptr<arrow::Field> target) {
  ARROW_RETURN_NOT_OK(InitializeArrowCompute());
  Result<cp::Expression> bound = expression.Bind(schema);
  if (!bound.ok()) {
    return Error(ErrorCode::kInvalidArgument,
                 "expression cannot be evaluated: column \"{}\": {}: {}", target->name(),
                 expression.ToString(), bound.status().message());
  }
  const arrow::DataType& type = *bound->type();
  if (!type.Equals(*target->type()) && type.id() != arrow::Type::NA &&
      !cp::CanCast(type, *target->type())) {
    return Error(ErrorCode::kInvalidArgument,
                 "expression has a type that cannot become the column's: column \"{}\" is {}: {}",
                 target->name(), target->type()->ToString(), type.ToString());
  }
  return ColumnExpression(*std::move(bound), std::move(target));
}

Result<std::shared_ptr<arrow::Array>> ColumnExpression::Evaluate(
    const Context& context, const arrow::RecordBatch& batch) const {
  cp::ExecContext exec(context.pool(), nullptr);
  auto wrong = [&](const Status& status) {
    return Error(ErrorCode::kInvalidArgument, "value does not fit its column: \"{}\": {}",
                 target_->name(), status.message());
  };
  std::vector<arrow::Datum> values(batch.columns().begin(), batch.columns().end());
  Result<arrow::Datum> result = cp::ExecuteScalarExpression(
      bound_, cp::ExecBatch(std::move(values), batch.num_rows()), &exec);
  if (!result.ok()) return wrong(result.status());
  std::shared_ptr<arrow::Array> array;
  if (result->is_scalar()) {
    ARROW_ASSIGN_OR_RAISE(
        array, arrow::MakeArrayFromScalar(*result->scalar(), batch.num_rows(), context.pool()));
  } else {
    array = result->make_array();
  }
  if (array->type_id() == arrow::Type::NA && target_->type()->id() != arrow::Type::NA) {
    return arrow::MakeArrayOfNull(target_->type(), batch.num_rows(), context.pool());
  }
  if (array->type()->Equals(*target_->type())) return array;
  Result<arrow::Datum> cast = cp::Cast(array, target_->type(), cp::CastOptions::Safe(), &exec);
  if (!cast.ok()) return wrong(cast.status());
  return cast->make_array();
}

}  // namespace lake::table
