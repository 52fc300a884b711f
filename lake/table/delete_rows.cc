#include "lake/table/delete_rows.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "lake/base/thread_pool.h"

namespace lake::table {

Result<PreparedChange> DeleteRows(const Context& context, std::shared_ptr<const Dataset> dataset,
                                  const std::optional<arrow::compute::Expression>& filter) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<RowChange> change, RowChange::Open(context, dataset));
  if (!filter) {
    ARROW_RETURN_NOT_OK(change->DeleteAll());
    return change->Finish({.predicate = "true"});
  }
  ScanOptions options;
  options.columns.emplace();
  options.filter = *filter;
  options.with_row_address = true;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Scanner> scanner, dataset->Scan(context, options));
  std::vector<std::shared_ptr<arrow::Array>> found(scanner->num_morsels());
  ARROW_RETURN_NOT_OK(ParallelFor(CpuThreadPool(), found.size(), [&](size_t morsel) -> Status {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> batch,
                          scanner->Read(context, morsel));
    if (batch != nullptr && batch->num_rows() > 0) found[morsel] = batch->column(0);
    return Status::OK();
  }));
  for (const std::shared_ptr<arrow::Array>& addresses : found) {
    if (addresses == nullptr) continue;
    const auto& values = static_cast<const arrow::UInt64Array&>(*addresses);
    ARROW_RETURN_NOT_OK(
        change->Delete({values.raw_values(), static_cast<size_t>(values.length())}));
  }
  return change->Finish({.predicate = filter->ToString()});
}

}  // namespace lake::table
