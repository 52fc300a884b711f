#include "lake/table/delete_rows.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "lake/base/mutex.h"
#include "lake/table/batch_stream.h"

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
  Mutex mutex;
  ARROW_RETURN_NOT_OK(
      ForEachBatch(context, scanner.get(), [&](std::shared_ptr<arrow::RecordBatch> batch) {
        const auto& addresses = static_cast<const arrow::UInt64Array&>(*batch->column(0));
        MutexLock lock(&mutex);
        return change->Delete({addresses.raw_values(), static_cast<size_t>(addresses.length())});
      }));
  return change->Finish({.predicate = filter->ToString()});
}

}  // namespace lake::table
