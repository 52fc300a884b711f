#include "lake/commit/table_change.h"

#include <algorithm>

#include <arrow/record_batch.h>

#include "lake/base/mutex.h"
#include "lake/base/retry_pause.h"
#include "lake/commit/commit_transaction.h"
#include "lake/commit/file_references.h"
#include "lake/commit/operations.h"

namespace lake::commit {
namespace {

// How often a change is worked out again because another commit came first.
constexpr int kMaxRuns = 20;

/// Checks the FILE values of all threads of one change.
class SharedChecker {
 public:
  SharedChecker(const Context& context, FileReferenceChecker checker)
      : context_(context), checker_(std::move(checker)) {}

  Status Check(const arrow::RecordBatch& new_values) LAKE_EXCLUDES(mutex_) {
    ARROW_RETURN_NOT_OK(RefuseNestedFile(*new_values.schema()));
    MutexLock lock(&mutex_);
    return checker_.CheckAll(context_, new_values);
  }

 private:
  const Context context_;
  Mutex mutex_;
  FileReferenceChecker checker_ LAKE_GUARDED_BY(mutex_);
};

}  // namespace

Result<CommitOutcome> ChangeTable(const Context& context, std::shared_ptr<LakehouseCore> core,
                                  const catalog::Principal& principal,
                                  std::shared_ptr<const OpenTable> table, const ChangeMaker& make,
                                  const WriteOptions& options) {
  ARROW_RETURN_NOT_OK(core->write_gate());
  ARROW_RETURN_NOT_OK(CheckOperationKey(options.operation));
  ARROW_RETURN_NOT_OK(
      table::CheckWritable(table->dataset->manifest(), table->entry.name.ToString()));
  ARROW_ASSIGN_OR_RAISE(auto stage, core->StageFor(context, principal.tenant));
  SharedChecker checker(context,
                        FileReferenceChecker(*table->dataset->arrow_schema(), std::move(stage),
                                             options.file_provenance_proved));
  ARROW_ASSIGN_OR_RAISE(const BegunChange begun,
                        BeginChange(context, core.get(), *table, options.operation));
  if (begun.outcome.has_value()) return *begun.outcome;
  ChangeInput input;
  input.dataset = table->dataset;
  input.max_buffered_bytes = options.max_buffered_bytes;
  input.check = [&checker](const arrow::RecordBatch& new_values) {
    return checker.Check(new_values);
  };
  for (int run = 1;; ++run) {
    ARROW_ASSIGN_OR_RAISE(table::PreparedChange prepared, make(context, input));
    Result<CommitOutcome> outcome =
        CommitPrepared(context, core.get(), *table, options.operation, begun.replay_base,
                       input.dataset->manifest().version(), std::move(prepared));
    if (outcome.ok()) outcome->lost_attempts += run - 1;
    if (outcome.ok() || CodeOf(outcome.status()) != ErrorCode::kConflict ||
        !IsRetryable(outcome.status()) || run == kMaxRuns) {
      return outcome;
    }
    PauseBeforeRetry(context, run);
    ARROW_ASSIGN_OR_RAISE(input.dataset, table->dataset->Reopen(context));
  }
}

}  // namespace lake::commit
