#pragma once

#include <memory>

#include <arrow/compute/expression.h>

#include "lake/base/context.h"

namespace lake::table {

/// An expression over the columns of batches of one schema, whose values become those of a column.
/// Immutable, thread-safe.
class ColumnExpression {
 public:
  /// kInvalidArgument, naming `target`, if the expression cannot be evaluated over `schema` or its
  /// type cannot be cast.
  static Result<ColumnExpression> Bind(const arrow::compute::Expression& expression,
                                       const arrow::Schema& schema,
                                       std::shared_ptr<arrow::Field> target);

  const std::shared_ptr<arrow::Field>& target() const { return target_; }

  /// One value per row of `batch`, of the target's type. kInvalidArgument for a value that does not
  /// fit the type.
  Result<std::shared_ptr<arrow::Array>> Evaluate(const Context& context,
                                                 const arrow::RecordBatch& batch) const;

 private:
  ColumnExpression(arrow::compute::Expression bound, std::shared_ptr<arrow::Field> target)
      : bound_(std::move(bound)), target_(std::move(target)) {}

  arrow::compute::Expression bound_;
  std::shared_ptr<arrow::Field> target_;
};

}  // namespace lake::table
