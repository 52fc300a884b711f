#include <algorithm>

#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/arrow_compute.h"
#include "lake/base/thread_pool.h"
#include "lake/table/dataset_impl.h"
#include "lake/table/row_ids_of_fragment.h"

namespace lake::table {

namespace {

// Rows that are read together: enough to share what reading a page costs, few enough that the
// groups of a large take keep all cores busy and their buffers stay small.
constexpr size_t kRowsPerGroup = 256;

/// The wanted rows of one fragment, from sorted addresses; kNotFound for one that does not exist.
Result<format::RowSelection> RowsOf(const Context& context, FragmentSource* source,
                                    const Fragment& fragment,
                                    std::span<const RowAddress> addresses) {
  ARROW_ASSIGN_OR_RAISE(uint64_t physical_rows, source->PhysicalRows(context, fragment));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const DeletionVector> deletions,
                        source->Deletions(context, fragment));
  format::RowSelection rows;
  for (RowAddress address : addresses) {
    const uint64_t row = address & 0xffffffff;
    if (row >= physical_rows) {
      return Error(ErrorCode::kNotFound,
                   "row address is behind its fragment: fragment {}, row {} of {}", fragment.id,
                   row, physical_rows);
    }
    if (deletions->Contains(row)) {
      return Error(ErrorCode::kNotFound, "row is deleted: fragment {}, row {}", fragment.id, row);
    }
    rows.Append(row, 1);
  }
  return rows;
}

/// Cuts sorted addresses into parts of one fragment each, which are read on their own.
std::vector<std::span<const RowAddress>> GroupAddresses(std::span<const RowAddress> sorted) {
  std::vector<std::span<const RowAddress>> groups;
  for (size_t begin = 0; begin < sorted.size();) {
    size_t end = begin + 1;
    while (end < sorted.size() && end - begin < kRowsPerGroup &&
           sorted[end] >> 32 == sorted[begin] >> 32) {
      ++end;
    }
    groups.push_back(sorted.subspan(begin, end - begin));
    begin = end;
  }
  return groups;
}

/// The columns of a take: the table's own, and others.
struct TakenColumns {
  struct Column {
    /// Its place among `fields`, or nothing for one that is not the table's own.
    std::optional<size_t> field;
    RowMetaColumn meta = RowMetaColumn::kRowAddress;
  };
  std::vector<Column> columns;
  std::vector<const format::Field*> fields;
  std::shared_ptr<arrow::Schema> schema;

  static Result<TakenColumns> Find(const Manifest& manifest,
                                   const std::vector<std::string>& names) {
    TakenColumns taken;
    arrow::FieldVector arrow_fields;
    for (const std::string& name : names) {
      Column& column = taken.columns.emplace_back();
      const std::optional<RowMetaColumn> meta = FindRowMetaColumn(name);
      if (meta && manifest.schema().Find(name) == nullptr) {
        ARROW_RETURN_NOT_OK(CheckRowMetaColumn(manifest, *meta));
        column.meta = *meta;
        arrow_fields.push_back(RowMetaField(*meta));
        continue;
      }
      column.field = taken.fields.size();
      ARROW_ASSIGN_OR_RAISE(taken.fields.emplace_back(), FindColumn(manifest.schema(), name));
      ARROW_ASSIGN_OR_RAISE(arrow_fields.emplace_back(), format::ToArrow(*taken.fields.back()));
    }
    taken.schema = arrow::schema(std::move(arrow_fields));
    return taken;
  }
};

/// The columns for rows of one fragment.
Result<arrow::ArrayVector> ReadGroup(const Context& context, FragmentSource* source,
                                     const TakenColumns& taken, std::span<const RowAddress> group) {
  const uint64_t id = group[0] >> 32;
  const Fragment* fragment = FindFragment(source->manifest(), id);
  if (fragment == nullptr) {
    return Error(ErrorCode::kNotFound, "row address names no fragment of the version: fragment {}",
                 id);
  }
  ARROW_ASSIGN_OR_RAISE(format::RowSelection rows, RowsOf(context, source, *fragment, group));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                        source->Read(context, *fragment, taken.fields, rows));
  arrow::ArrayVector arrays;
  for (const TakenColumns::Column& column : taken.columns) {
    if (column.field) {
      arrays.push_back(batch->column(static_cast<int>(*column.field)));
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(arrays.emplace_back(),
                          ReadRowMetaColumn(context, source, *fragment, column.meta, rows));
  }
  return arrays;
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> DatasetImpl::Take(
    const Context& context, std::span<const RowAddress> addresses,
    const std::vector<std::string>& columns) const {
  ARROW_RETURN_NOT_OK(InitializeArrowCompute());
  ARROW_ASSIGN_OR_RAISE(const TakenColumns taken, TakenColumns::Find(*manifest_, columns));

  // Each row is read once, in the order of the files; then rows are brought into the caller's
  // order.
  std::vector<RowAddress> sorted(addresses.begin(), addresses.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.empty()) return arrow::RecordBatch::MakeEmpty(taken.schema, context.pool());
  const std::vector<std::span<const RowAddress>> groups = GroupAddresses(sorted);
  std::vector<arrow::ArrayVector> pieces(columns.size(), arrow::ArrayVector(groups.size()));
  ARROW_RETURN_NOT_OK(ParallelFor(ScanThreadPool(), groups.size(), [&](size_t i) -> Status {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(arrow::ArrayVector arrays,
                          ReadGroup(context, source_.get(), taken, groups[i]));
    for (size_t j = 0; j < pieces.size(); ++j) pieces[j][i] = std::move(arrays[j]);
    return Status::OK();
  }));
  const bool in_order =
      std::equal(sorted.begin(), sorted.end(), addresses.begin(), addresses.end());

  arrow::UInt64Builder places(context.pool());
  ARROW_RETURN_NOT_OK(places.Reserve(addresses.size()));
  for (RowAddress address : addresses) {
    places.UnsafeAppend(std::lower_bound(sorted.begin(), sorted.end(), address) - sorted.begin());
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> order, places.Finish());
  arrow::compute::ExecContext exec(context.pool(), nullptr);
  arrow::ArrayVector arrays;
  for (const arrow::ArrayVector& column : pieces) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> values,
                          column.size() == 1 ? Result<std::shared_ptr<arrow::Array>>(column[0])
                                             : arrow::Concatenate(column, context.pool()));
    if (in_order) {
      arrays.push_back(std::move(values));
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(
        arrow::Datum reordered,
        arrow::compute::Take(values, order, arrow::compute::TakeOptions::NoBoundsCheck(), &exec));
    arrays.push_back(reordered.make_array());
  }
  return arrow::RecordBatch::Make(taken.schema, addresses.size(), std::move(arrays));
}

}  // namespace lake::table
