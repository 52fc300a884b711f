#include "lake/base/arrow_select.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/arrow_compute.h"

namespace lake {
namespace {

bool HoldsListsOfLists(const arrow::DataType& type) {
  if (type.id() == arrow::Type::EXTENSION) {
    return HoldsListsOfLists(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  }
  return std::ranges::any_of(type.fields(), [&](const auto& field) {
    const bool is_list = type.id() == arrow::Type::FIXED_SIZE_LIST;
    return (is_list && field->type()->id() == arrow::Type::FIXED_SIZE_LIST) ||
           HoldsListsOfLists(*field->type());
  });
}

/// The same values so that Arrow finds them: a copy, which is no slice, of a type that it misreads.
Result<std::shared_ptr<arrow::Array>> Selectable(const std::shared_ptr<arrow::Array>& values,
                                                 arrow::MemoryPool* pool) {
  if (!HoldsListsOfLists(*values->type())) return values;
  return arrow::Concatenate({values}, pool);
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> TakeValues(const std::shared_ptr<arrow::Array>& values,
                                                 const std::shared_ptr<arrow::Array>& places,
                                                 arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(InitializeArrowCompute());
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> selectable, Selectable(values, pool));
  arrow::compute::ExecContext exec(pool, nullptr);
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum taken,
                        arrow::compute::Take(selectable, places,
                                             arrow::compute::TakeOptions::NoBoundsCheck(), &exec));
  return taken.make_array();
}

Result<std::shared_ptr<arrow::RecordBatch>> FilterRows(
    const std::shared_ptr<arrow::RecordBatch>& batch,
    const std::shared_ptr<arrow::BooleanArray>& mask, arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(InitializeArrowCompute());
  arrow::ArrayVector columns = batch->columns();
  for (std::shared_ptr<arrow::Array>& column : columns) {
    ARROW_ASSIGN_OR_RAISE(column, Selectable(column, pool));
  }
  const auto selectable =
      arrow::RecordBatch::Make(batch->schema(), batch->num_rows(), std::move(columns));
  arrow::compute::ExecContext exec(pool, nullptr);
  ARROW_ASSIGN_OR_RAISE(
      const arrow::Datum kept,
      arrow::compute::Filter(selectable, mask, arrow::compute::FilterOptions::Defaults(), &exec));
  return kept.record_batch();
}

}  // namespace lake
