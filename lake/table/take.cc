#include <algorithm>
#include <functional>

#include <arrow/array/array_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/arrow_select.h"
#include "lake/base/thread_pool.h"
#include "lake/table/dataset_impl.h"
#include "lake/table/row_ids_of_fragment.h"

namespace lake::table {

namespace {

// Rows that are read together: enough to share what reading a page costs, few enough that the
// groups of a large take keep all cores busy and their buffers stay small.
constexpr size_t kRowsPerGroup = 256;
// Bringing fewer rows into order takes less time than another thread takes to begin.
constexpr size_t kRowsWorthThreads = 1000;

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

/// The wanted addresses, each once and ascending.
struct SortedAddresses {
  std::vector<RowAddress> rows;
  /// For each address as the caller gave it, its place in `rows`; null if that is the same.
  std::shared_ptr<arrow::Array> order;

  static Result<SortedAddresses> From(std::span<const RowAddress> addresses,
                                      arrow::MemoryPool* pool) {
    SortedAddresses sorted;
    if (std::adjacent_find(addresses.begin(), addresses.end(), std::greater_equal<>()) ==
        addresses.end()) {
      sorted.rows.assign(addresses.begin(), addresses.end());
      return sorted;
    }
    std::vector<std::pair<RowAddress, size_t>> numbered(addresses.size());
    for (size_t i = 0; i < addresses.size(); ++i) numbered[i] = {addresses[i], i};
    std::sort(numbered.begin(), numbered.end());
    const auto count = static_cast<int64_t>(addresses.size());
    ARROW_ASSIGN_OR_RAISE(
        std::unique_ptr<arrow::Buffer> places,
        arrow::AllocateBuffer(count * static_cast<int64_t>(sizeof(uint64_t)), pool));
    auto* const place_of = places->mutable_data_as<uint64_t>();
    sorted.rows.reserve(addresses.size());
    for (const auto& [address, i] : numbered) {
      if (sorted.rows.empty() || sorted.rows.back() != address) sorted.rows.push_back(address);
      place_of[i] = sorted.rows.size() - 1;
    }
    sorted.order = std::make_shared<arrow::UInt64Array>(count, std::move(places));
    return sorted;
  }
};

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

/// One column from its parts, its values at the places of `order` unless that is null.
Result<std::shared_ptr<arrow::Array>> Join(const arrow::ArrayVector& parts,
                                           const std::shared_ptr<arrow::Array>& order,
                                           arrow::MemoryPool* pool) {
  std::shared_ptr<arrow::Array> values = parts[0];
  if (parts.size() != 1) {
    ARROW_ASSIGN_OR_RAISE(values, arrow::Concatenate(parts, pool));
  }
  if (order == nullptr) return values;
  return TakeValues(values, order, pool);
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> DatasetImpl::Take(
    const Context& context, std::span<const RowAddress> addresses,
    const std::vector<std::string>& columns) const {
  ARROW_ASSIGN_OR_RAISE(const TakenColumns taken, TakenColumns::Find(*manifest_, columns));

  // Each row is read once, in the order of the files; then rows are brought into the caller's
  // order.
  ARROW_ASSIGN_OR_RAISE(const SortedAddresses sorted,
                        SortedAddresses::From(addresses, context.pool()));
  if (sorted.rows.empty()) return arrow::RecordBatch::MakeEmpty(taken.schema, context.pool());
  const std::vector<std::span<const RowAddress>> groups = GroupAddresses(sorted.rows);
  std::vector<arrow::ArrayVector> pieces(columns.size(), arrow::ArrayVector(groups.size()));
  ARROW_RETURN_NOT_OK(ParallelFor(ScanThreadPool(), groups.size(), [&](size_t i) -> Status {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(arrow::ArrayVector arrays,
                          ReadGroup(context, source_.get(), taken, groups[i]));
    for (size_t j = 0; j < pieces.size(); ++j) pieces[j][i] = std::move(arrays[j]);
    return Status::OK();
  }));

  arrow::ArrayVector arrays(columns.size());
  const auto join = [&](size_t i) -> Status {
    ARROW_ASSIGN_OR_RAISE(arrays[i], Join(pieces[i], sorted.order, context.pool()));
    return Status::OK();
  };
  if (addresses.size() < kRowsWorthThreads) {
    for (size_t i = 0; i < arrays.size(); ++i) ARROW_RETURN_NOT_OK(join(i));
  } else {
    ARROW_RETURN_NOT_OK(ParallelFor(ScanThreadPool(), arrays.size(), join));
  }
  return arrow::RecordBatch::Make(taken.schema, addresses.size(), std::move(arrays));
}

}  // namespace lake::table
