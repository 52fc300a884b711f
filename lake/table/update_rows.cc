#include "lake/table/update_rows.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/thread_pool.h"
#include "lake/format/blob.h"
#include "lake/table/batch_stream.h"
#include "lake/table/column_expression.h"

namespace lake::table {

namespace {

struct ChangedRows {
  std::shared_ptr<arrow::Array> addresses;
  std::shared_ptr<arrow::RecordBatch> rows;
};

class Updater {
 public:
  Updater(const Context& context, std::shared_ptr<const Dataset> dataset,
          const UpdateRowsOptions& options)
      : context_(context), dataset_(std::move(dataset)), options_(options) {}

  Result<PreparedChange> Run() {
    ARROW_RETURN_NOT_OK(
        VersionOfNewFiles(dataset_->manifest(), dataset_->store()->description()).status());
    ARROW_RETURN_NOT_OK(Bind());
    ScanOptions scan;
    scan.filter = options_.filter;
    scan.with_row_address = true;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Scanner> scanner, dataset_->Scan(context_, scan));
    RowChangeOptions row_options{
        .writer = options_.writer, .changed_columns = {}, .check = options_.check};
    row_options.changed_columns.emplace();
    for (const auto& [column, expression] : options_.assignments) {
      row_options.changed_columns->insert(column);
    }
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RowChange> change,
                          RowChange::Open(context_, dataset_, std::move(row_options)));
    // Read and computed side by side, written in order: a bounded number of morsels at a time.
    const size_t wave = MorselsAtOnce(context_, *scanner);
    for (size_t first = 0; first < scanner->num_morsels(); first += wave) {
      std::vector<ChangedRows> changed(std::min(wave, scanner->num_morsels() - first));
      ARROW_RETURN_NOT_OK(ParallelFor(ScanThreadPool(), changed.size(), [&](size_t i) -> Status {
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                              scanner->Read(context_, first + i));
        if (batch == nullptr || batch->num_rows() == 0) return Status::OK();
        return Compute(*batch).Value(&changed[i]);
      }));
      for (const ChangedRows& rows : changed) {
        if (rows.rows == nullptr) continue;
        const auto& addresses = static_cast<const arrow::UInt64Array&>(*rows.addresses);
        ARROW_RETURN_NOT_OK(change->Update(
            {addresses.raw_values(), static_cast<size_t>(addresses.length())}, *rows.rows));
      }
    }
    return change->Finish({});
  }

 private:
  Status Bind() {
    const arrow::Schema& schema = *dataset_->arrow_schema();
    if (options_.assignments.empty()) {
      return Error(ErrorCode::kInvalidArgument, "an update must assign a column");
    }
    for (const auto& [column, expression] : options_.assignments) {
      const int index = schema.GetFieldIndex(column);
      if (index < 0) {
        return Error(ErrorCode::kNotFound, "table has no such column: \"{}\"", column);
      }
      if (format::HoldsBlobs(dataset_->manifest().schema().fields[index])) {
        return Error(ErrorCode::kUnsupported,
                     "blobs are not updated by an expression: column \"{}\"", column);
      }
      ARROW_ASSIGN_OR_RAISE(ColumnExpression bound,
                            ColumnExpression::Bind(expression, schema, schema.field(index)));
      assignments_.emplace_back(index, std::move(bound));
    }
    return Status::OK();
  }

  Result<ChangedRows> Compute(const arrow::RecordBatch& batch) const {
    const int columns = dataset_->arrow_schema()->num_fields();
    arrow::ArrayVector arrays(batch.columns().begin(), batch.columns().begin() + columns);
    auto old = arrow::RecordBatch::Make(dataset_->arrow_schema(), batch.num_rows(), arrays);
    for (const auto& [index, assignment] : assignments_) {
      ARROW_ASSIGN_OR_RAISE(arrays[index], assignment.Evaluate(context_, *old));
    }
    return ChangedRows{
        batch.column(columns),
        arrow::RecordBatch::Make(dataset_->arrow_schema(), batch.num_rows(), std::move(arrays))};
  }

  const Context& context_;
  const std::shared_ptr<const Dataset> dataset_;
  const UpdateRowsOptions& options_;
  std::vector<std::pair<int, ColumnExpression>> assignments_;
};

}  // namespace

Result<PreparedChange> UpdateRows(const Context& context, std::shared_ptr<const Dataset> dataset,
                                  const UpdateRowsOptions& options) {
  return Updater(context, std::move(dataset), options).Run();
}

}  // namespace lake::table
