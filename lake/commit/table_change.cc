#include "lake/commit/table_change.h"

#include <algorithm>

#include <arrow/record_batch.h>

#include "lake/base/crash_point.h"
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

class TableChangeImpl : public TableChange {
 public:
  TableChangeImpl(std::shared_ptr<LakehouseCore> core, std::shared_ptr<const OpenTable> table,
                  OperationKey operation, BegunChange begun, uint64_t max_buffered_bytes,
                  std::unique_ptr<SharedChecker> checker)
      : core_(std::move(core)),
        table_(std::move(table)),
        operation_(std::move(operation)),
        begun_(begun),
        checker_(std::move(checker)) {
    input_.dataset = table_->dataset;
    input_.max_buffered_bytes = max_buffered_bytes;
    input_.check = [checker = checker_.get()](const arrow::RecordBatch& new_values) {
      return checker->Check(new_values);
    };
  }

  const std::optional<CommitOutcome>& replayed() const override { return begun_.outcome; }
  const ChangeInput& input() const override { return input_; }

  Result<CommitOutcome> Commit(const Context& context, table::PreparedChange change) override {
    return CommitPrepared(context, core_.get(), *table_, operation_, begun_.replay_base,
                          input_.dataset->manifest().version(), std::move(change));
  }

  Status Renew(const Context& context) override {
    return table::Dataset::Open(context, table_->dataset->store()).Value(&input_.dataset);
  }

 private:
  const std::shared_ptr<LakehouseCore> core_;
  const std::shared_ptr<const OpenTable> table_;
  const OperationKey operation_;
  const BegunChange begun_;
  const std::unique_ptr<SharedChecker> checker_;
  ChangeInput input_;
};

}  // namespace

Result<std::unique_ptr<TableChange>> StartTableChange(const Context& context,
                                                      std::shared_ptr<LakehouseCore> core,
                                                      const catalog::Principal& principal,
                                                      std::shared_ptr<const OpenTable> table,
                                                      const WriteOptions& options) {
  ARROW_RETURN_NOT_OK(core->write_gate());
  ARROW_RETURN_NOT_OK(CheckOperationKey(options.operation));
  ARROW_RETURN_NOT_OK(
      table::CheckWritable(table->dataset->manifest(), table->entry.name.ToString()));
  ARROW_ASSIGN_OR_RAISE(auto stage, core->StageFor(context, principal.tenant));
  auto checker = std::make_unique<SharedChecker>(
      context, FileReferenceChecker(*table->dataset->arrow_schema(), std::move(stage),
                                    options.file_provenance_proved));
  ARROW_ASSIGN_OR_RAISE(BegunChange begun,
                        BeginChange(context, core.get(), *table, options.operation));
  return std::make_unique<TableChangeImpl>(std::move(core), std::move(table), options.operation,
                                           begun, options.max_buffered_bytes, std::move(checker));
}

Result<CommitOutcome> RunChange(const Context& context, TableChange* change,
                                const ChangeMaker& make) {
  if (change->replayed().has_value()) return *change->replayed();
  for (int run = 1;; ++run) {
    ARROW_ASSIGN_OR_RAISE(table::PreparedChange prepared, make(context, change->input()));
    Result<CommitOutcome> outcome = change->Commit(context, std::move(prepared));
    if (outcome.ok()) outcome->lost_attempts += run - 1;
    if (outcome.ok() || CodeOf(outcome.status()) != ErrorCode::kConflict ||
        !IsRetryable(outcome.status()) || run == kMaxRuns) {
      return outcome;
    }
    PauseBeforeRetry(context, run);
    ARROW_RETURN_NOT_OK(change->Renew(context));
  }
}

}  // namespace lake::commit
