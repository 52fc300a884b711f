#include "lake/commit/change_write.h"

#include <optional>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/crash_point.h"
#include "lake/commit/commit_transaction.h"
#include "lake/commit/file_references.h"
#include "lake/commit/operations.h"
#include "lake/commit/row_shape.h"

namespace lake::commit {
namespace {

Status AlreadyEnded() {
  return MakeError(ErrorCode::kInvalidArgument, "change was committed or given up before");
}

class ChangeWriteImpl : public ChangeWrite {
 public:
  ChangeWriteImpl(const Context& context, std::shared_ptr<LakehouseCore> core,
                  std::shared_ptr<const OpenTable> table, OperationKey operation,
                  std::optional<uint64_t> replay_base, bool inserts_by_key,
                  std::unique_ptr<table::RowChange> rows)
      : context_(context),
        core_(std::move(core)),
        table_(std::move(table)),
        operation_(std::move(operation)),
        replay_base_(replay_base),
        inserts_by_key_(inserts_by_key),
        rows_(std::move(rows)) {}

  ~ChangeWriteImpl() override {
    // Nobody is left to hear of an error; what stays behind is a leftover that no version names.
    Abort(context_).ok();
  }

  const std::shared_ptr<arrow::Schema>& schema() const override {
    return table_->dataset->arrow_schema();
  }
  uint64_t num_rows() const override { return num_rows_; }

  Status Write(const arrow::RecordBatch& batch) override {
    if (rows_ == nullptr) return AlreadyEnded();
    ARROW_RETURN_NOT_OK(context_.Check());
    ARROW_ASSIGN_OR_RAISE(auto rows, ConformRows(batch, schema()));
    num_rows_ += static_cast<uint64_t>(batch.num_rows());
    return rows_->Insert(*rows);
  }

  Status Delete(std::span<const table::RowAddress> addresses) override {
    if (rows_ == nullptr) return AlreadyEnded();
    num_rows_ += addresses.size();
    return rows_->Delete(addresses);
  }

  Status DeleteAll() override { return rows_ == nullptr ? AlreadyEnded() : rows_->DeleteAll(); }

  Status Update(std::span<const table::RowAddress> addresses,
                const arrow::RecordBatch& batch) override {
    if (rows_ == nullptr) return AlreadyEnded();
    ARROW_RETURN_NOT_OK(context_.Check());
    ARROW_ASSIGN_OR_RAISE(auto rows, ConformRows(batch, schema()));
    num_rows_ += addresses.size();
    return rows_->Update(addresses, *rows);
  }

  Status Finish() override {
    if (rows_ == nullptr) return AlreadyEnded();
    const auto rows = std::move(rows_);
    ARROW_ASSIGN_OR_RAISE(prepared_,
                          rows->Finish({.predicate = "", .inserted_by_key = inserts_by_key_}));
    num_rows_ = prepared_->num_deleted + prepared_->num_updated + prepared_->num_inserted;
    return Status::OK();
  }

  Result<CommitOutcome> Commit(const Context& context) override {
    if (rows_ != nullptr) ARROW_RETURN_NOT_OK(Finish());
    if (!prepared_.has_value()) return AlreadyEnded();
    return CommitPrepared(context, core_.get(), *table_, operation_, replay_base_,
                          table_->dataset->manifest().version(),
                          *std::exchange(prepared_, std::nullopt));
  }

  Status Abort(const Context& context) override {
    rows_.reset();
    if (!prepared_.has_value()) return Status::OK();
    const table::PreparedChange change = *std::exchange(prepared_, std::nullopt);
    return table::RemoveUncommitted(SettlingContext(context), table_->dataset->store().get(),
                                    change.transaction.new_objects);
  }

 private:
  const Context context_;
  const std::shared_ptr<LakehouseCore> core_;
  const std::shared_ptr<const OpenTable> table_;
  const OperationKey operation_;
  const std::optional<uint64_t> replay_base_;
  const bool inserts_by_key_;
  std::unique_ptr<table::RowChange> rows_;
  std::optional<table::PreparedChange> prepared_;
  uint64_t num_rows_ = 0;
};

/// A change whose operation is done already: it takes everything and gives the first outcome.
class ReplayedChange : public ChangeWrite {
 public:
  ReplayedChange(std::shared_ptr<arrow::Schema> schema, CommitOutcome outcome)
      : schema_(std::move(schema)), outcome_(outcome) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  Status Write(const arrow::RecordBatch&) override { return Status::OK(); }
  Status Delete(std::span<const table::RowAddress>) override { return Status::OK(); }
  Status DeleteAll() override { return Status::OK(); }
  Status Update(std::span<const table::RowAddress>, const arrow::RecordBatch&) override {
    return Status::OK();
  }
  Status Finish() override { return Status::OK(); }
  uint64_t num_rows() const override { return outcome_.num_rows; }
  Result<CommitOutcome> Commit(const Context&) override { return outcome_; }
  Status Abort(const Context&) override { return Status::OK(); }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  const CommitOutcome outcome_;
};

}  // namespace

Result<std::unique_ptr<ChangeWrite>> StartChangeRows(const Context& context,
                                                     std::shared_ptr<LakehouseCore> core,
                                                     const catalog::Principal& principal,
                                                     std::shared_ptr<const OpenTable> table,
                                                     const std::set<std::string>& changed_columns,
                                                     const WriteOptions& options) {
  ARROW_RETURN_NOT_OK(core->write_gate());
  ARROW_RETURN_NOT_OK(CheckOperationKey(options.operation));
  const table::Dataset& dataset = *table->dataset;
  ARROW_RETURN_NOT_OK(table::CheckWritable(dataset.manifest(), table->entry.name.ToString()));
  ARROW_RETURN_NOT_OK(RefuseNestedFile(*dataset.arrow_schema()));
  ARROW_ASSIGN_OR_RAISE(auto stage, core->StageFor(context, principal.tenant));
  ARROW_ASSIGN_OR_RAISE(BegunChange begun,
                        BeginChange(context, core.get(), *table, options.operation));
  if (begun.outcome.has_value()) {
    return std::make_unique<ReplayedChange>(dataset.arrow_schema(), *begun.outcome);
  }
  table::RowChangeOptions rows;
  rows.writer.max_buffered_bytes = options.max_buffered_bytes;
  rows.changed_columns = changed_columns;
  auto checker = std::make_shared<FileReferenceChecker>(*dataset.arrow_schema(), std::move(stage),
                                                        options.file_provenance_proved);
  if (checker->needed()) {
    rows.check = [context, checker](const arrow::RecordBatch& batch) {
      return checker->CheckAll(context, batch);
    };
  }
  ARROW_ASSIGN_OR_RAISE(auto change,
                        table::RowChange::Open(context, table->dataset, std::move(rows)));
  return std::make_unique<ChangeWriteImpl>(context, std::move(core), std::move(table),
                                           options.operation, begun.replay_base,
                                           options.inserts_by_key, std::move(change));
}

}  // namespace lake::commit
