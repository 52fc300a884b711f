#include "lake/commit/table_write.h"

#include <optional>
#include <utility>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "lake/base/crash_point.h"
#include "lake/base/uuid.h"
#include "lake/commit/commit_transaction.h"
#include "lake/commit/file_references.h"
#include "lake/commit/incarnation.h"
#include "lake/commit/lease_keeper.h"
#include "lake/commit/operations.h"
#include "lake/commit/recovery.h"
#include "lake/commit/row_shape.h"
#include "lake/commit/row_sink.h"
#include "lake/format/file_writer.h"
#include "lake/table/column_files.h"
#include "lake/table/commit.h"

namespace lake::commit {
namespace {

// A name that an expired creation holds is settled and tried again; more often only if others keep
// racing for it.
constexpr int kNameAttempts = 3;

Status AlreadyEnded() {
  return MakeError(ErrorCode::kInvalidArgument, "write was committed or given up before");
}

/// A write whose operation is done already: it takes the rows and gives the first outcome.
class ReplayedWrite : public TableWrite {
 public:
  ReplayedWrite(std::shared_ptr<arrow::Schema> schema, CommitOutcome outcome)
      : schema_(std::move(schema)), outcome_(outcome) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  Status Write(const arrow::RecordBatch& batch) override {
    num_rows_ += static_cast<uint64_t>(batch.num_rows());
    return Status::OK();
  }
  uint64_t num_rows() const override { return num_rows_; }
  Result<CommitOutcome> Commit(const Context& context) override { return outcome_; }
  Status Abort(const Context& context) override { return Status::OK(); }

 private:
  const std::shared_ptr<arrow::Schema> schema_;
  const CommitOutcome outcome_;
  uint64_t num_rows_ = 0;
};

/// What a table becomes whose rows are all replaced.
struct Replacement {
  format::Schema schema;
  format::FileVersion file_version;
};

/// New rows of a table that is there, besides its old ones or in their place.
class AppendWrite : public TableWrite {
 public:
  /// With `replacement` the rows replace all that the table has.
  AppendWrite(std::shared_ptr<LakehouseCore> core, std::shared_ptr<const OpenTable> table,
              const WriteOptions& options, std::optional<uint64_t> replay_base,
              std::unique_ptr<RowSink> sink, std::optional<Replacement> replacement = {})
      : core_(std::move(core)),
        table_(std::move(table)),
        operation_(options.operation),
        replaces_what_was_read_(options.replaces_what_was_read),
        replay_base_(replay_base),
        replacement_(std::move(replacement)),
        sink_(std::move(sink)) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return sink_->schema(); }
  Status Write(const arrow::RecordBatch& batch) override {
    return ended_ ? AlreadyEnded() : sink_->Write(batch);
  }
  uint64_t num_rows() const override { return sink_->num_rows(); }

  Result<CommitOutcome> Commit(const Context& context) override {
    if (std::exchange(ended_, true)) return AlreadyEnded();
    ARROW_ASSIGN_OR_RAISE(std::vector<table::Fragment> fragments, sink_->TakeFragments());
    CrashPoint("data_written");
    const uint64_t read_version = table_->dataset->manifest().version();
    CommitOutcome outcome{.version = read_version, .num_rows = sink_->num_rows()};
    bool hint_is_due = true;
    if (!fragments.empty() || replacement_) {
      ARROW_ASSIGN_OR_RAISE(table::CommitResult result,
                            CommitRows(context, read_version, std::move(fragments)));
      outcome.version = result.version;
      outcome.replayed = result.replayed;
      outcome.lost_attempts = result.lost_attempts;
      hint_is_due = result.hint_is_due;
    }
    PublishOutcome(context, core_.get(), *table_, operation_, outcome, hint_is_due);
    return outcome;
  }

  Status Abort(const Context& context) override {
    ended_ = true;
    sink_->Discard();
    return Status::OK();
  }

 private:
  Result<table::CommitResult> CommitRows(const Context& context, uint64_t read_version,
                                         std::vector<table::Fragment> fragments) {
    const std::shared_ptr<storage::ObjectStore>& store = table_->dataset->store();
    table::Operation operation;
    if (replacement_) {
      table::OverwriteOperation overwrite;
      overwrite.fragments = std::move(fragments);
      overwrite.schema = replacement_->schema;
      overwrite.file_version = replacement_->file_version;
      operation = std::move(overwrite);
    } else {
      operation = table::AppendOperation{std::move(fragments)};
    }
    table::Transaction transaction =
        table::NewTransaction(context, read_version, std::move(operation), sink_->TakeNewObjects());
    table::CommitOptions options = OptionsFor(context, *table_, replay_base_);
    if (replacement_ && replaces_what_was_read_) {
      options.authority = [this, belongs = std::move(options.authority),
                           read_version](const table::Manifest* newest) -> Status {
        ARROW_RETURN_NOT_OK(belongs(newest));
        if (newest->version() == read_version) return Status::OK();
        return RetryableError(ErrorCode::kConflict,
                              "table was changed since the rows were read that shall replace its "
                              "own; run it again: '{}': version {} was read, {} is the newest",
                              table_->entry.name.ToString(), read_version, newest->version());
      };
    }
    return CommitTransaction(context, store, std::move(transaction), operation_,
                             std::move(options));
  }

  const std::shared_ptr<LakehouseCore> core_;
  const std::shared_ptr<const OpenTable> table_;
  const OperationKey operation_;
  const bool replaces_what_was_read_;
  /// Set if an attempt of the operation may have been made before.
  const std::optional<uint64_t> replay_base_;
  const std::optional<Replacement> replacement_;
  const std::unique_ptr<RowSink> sink_;
  bool ended_ = false;
};

class CreateWrite : public TableWrite {
 public:
  CreateWrite(const Context& context, std::shared_ptr<LakehouseCore> core, catalog::Entry entry,
              std::shared_ptr<storage::ObjectStore> store, format::Schema schema,
              const format::FileVersion& file_version, OperationKey operation,
              std::unique_ptr<RowSink> sink)
      : context_(SettlingContext(context)),
        core_(std::move(core)),
        store_(std::move(store)),
        schema_(std::move(schema)),
        file_version_(file_version),
        operation_(std::move(operation)),
        sink_(std::move(sink)),
        keeper_(context, core_->shared_metastore(), std::move(entry)) {}

  ~CreateWrite() override {
    // What cannot be given up now is settled when its lease has expired.
    Abort(context_).ok();
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return sink_->schema(); }
  Status Write(const arrow::RecordBatch& batch) override {
    return ended_ ? AlreadyEnded() : sink_->Write(batch);
  }
  uint64_t num_rows() const override { return sink_->num_rows(); }

  Result<CommitOutcome> Commit(const Context& context) override {
    if (std::exchange(ended_, true)) return AlreadyEnded();
    Result<std::vector<table::Fragment>> fragments = sink_->TakeFragments();
    if (!fragments.ok()) return Abandon(fragments.status());
    CrashPoint("data_written");

    const catalog::Entry entry = keeper_.entry();
    table::OverwriteOperation create;
    create.fragments = *std::move(fragments);
    create.schema = schema_;
    create.file_version = file_version_;
    create.table_metadata[kIncarnationKey] = entry.incarnation.ToString();
    table::Transaction transaction = table::NewTransaction(
        context, /*read_version=*/0, std::move(create), sink_->TakeNewObjects());
    const Uuid uuid = transaction.uuid;
    table::CommitOptions options;
    options.authority = [this](const table::Manifest*) { return keeper_.EnsureHeld(); };
    Result<table::CommitResult> committed =
        CommitTransaction(context, store_, std::move(transaction), operation_, std::move(options));
    if (!committed.ok()) {
      if (IsCommitStateUnknown(committed.status())) return committed.status();
      return Abandon(committed.status());
    }
    return Publish(entry, uuid);
  }

  Status Abort(const Context& context) override {
    if (std::exchange(ended_, true)) return Status::OK();
    sink_->Discard();
    Status abandoned =
        core_->metastore().AbandonCreate(SettlingContext(context), keeper_.Release());
    // Buried by another's hand: as good.
    if (!abandoned.ok() && CodeOf(abandoned) == ErrorCode::kConflict) return Status::OK();
    return abandoned;
  }

 private:
  // Gives the name back after a definite failure and returns that.
  Status Abandon(const Status& failure) {
    sink_->Discard();
    // Left to recovery if it fails.
    core_->metastore().AbandonCreate(context_, keeper_.Release()).ok();
    return failure;
  }

  // Step 5 of the pipeline: version 1 stands, visible and durable; now its name does.
  Result<CommitOutcome> Publish(const catalog::Entry& entry, const Uuid& first_transaction) {
    ARROW_RETURN_NOT_OK(PublishName(context_, core_.get(), entry, first_transaction));
    CommitOutcome outcome{.version = 1, .num_rows = sink_->num_rows()};
    if (!operation_.operation_id.empty()) {
      core_->metastore()
          .FinishOperation(HintContext(context_), operation_.operation_id, outcome.version,
                           outcome.num_rows)
          .ok();
    }
    CrashPoint("outcome_recorded");
    return outcome;
  }

  const Context context_;
  const std::shared_ptr<LakehouseCore> core_;
  const std::shared_ptr<storage::ObjectStore> store_;
  const format::Schema schema_;
  const format::FileVersion file_version_;
  const OperationKey operation_;
  const std::unique_ptr<RowSink> sink_;
  LeaseKeeper keeper_;
  bool ended_ = false;
};

Result<FileReferenceChecker> MakeChecker(const Context& context, LakehouseCore* core,
                                         const catalog::Principal& principal,
                                         const arrow::Schema& schema, const WriteOptions& options) {
  ARROW_RETURN_NOT_OK(RefuseNestedFile(schema));
  ARROW_ASSIGN_OR_RAISE(auto stage, core->StageFor(context, principal.tenant));
  return FileReferenceChecker(schema, std::move(stage), options.file_provenance_proved);
}

table::AppendWriterOptions WriterOptions(const WriteOptions& options,
                                         const format::FileVersion& file_version) {
  table::AppendWriterOptions writer;
  writer.max_buffered_bytes = options.max_buffered_bytes;
  writer.file_version = file_version;
  return writer;
}

// Reserves the name, settling expired creations that hold it.
Result<catalog::Entry> ReserveName(const Context& context, LakehouseCore* core,
                                   const catalog::Entry& entry) {
  for (int attempt = 1;; ++attempt) {
    Result<catalog::Entry> begun =
        core->metastore().BeginCreate(context, entry, LeaseKeeper::kLeaseNanos);
    if (begun.ok() || CodeOf(begun.status()) != ErrorCode::kConflict || attempt == kNameAttempts) {
      return begun;
    }
    ARROW_RETURN_NOT_OK(SettleExpiredCreations(context, core));
  }
}

// Writes the record of a create before its first attempt, or points it at this attempt.
Status RecordCreate(const Context& context, LakehouseCore* core, const OperationKey& operation,
                    const Uuid& incarnation, const std::optional<Uuid>& buried) {
  if (operation.operation_id.empty()) return Status::OK();
  catalog::OperationRecord record;
  record.operation_id = operation.operation_id;
  record.payload_digest = operation.payload_digest;
  record.incarnation = incarnation;
  if (buried.has_value()) return core->metastore().RestartOperation(context, *buried, record);
  return core->metastore().BeginOperation(context, record).status();
}

}  // namespace

Result<std::unique_ptr<TableWrite>> StartAppend(const Context& context,
                                                std::shared_ptr<LakehouseCore> core,
                                                const catalog::Principal& principal,
                                                std::shared_ptr<const OpenTable> table,
                                                const WriteOptions& options) {
  ARROW_RETURN_NOT_OK(core->write_gate());
  ARROW_RETURN_NOT_OK(CheckOperationKey(options.operation));
  const table::Dataset& dataset = *table->dataset;
  ARROW_ASSIGN_OR_RAISE(const format::FileVersion file_version,
                        table::VersionOfNewFiles(dataset.manifest(), table->entry.name.ToString()));
  ARROW_ASSIGN_OR_RAISE(
      FileReferenceChecker checker,
      MakeChecker(context, core.get(), principal, *dataset.arrow_schema(), options));

  ARROW_ASSIGN_OR_RAISE(BegunChange begun,
                        BeginChange(context, core.get(), *table, options.operation));
  if (begun.outcome.has_value()) {
    return std::make_unique<ReplayedWrite>(dataset.arrow_schema(), *begun.outcome);
  }
  auto sink = std::make_unique<RowSink>(context, dataset.store(), dataset.manifest().schema(),
                                        dataset.arrow_schema(), std::move(checker),
                                        WriterOptions(options, file_version));
  return std::make_unique<AppendWrite>(std::move(core), std::move(table), options,
                                       begun.replay_base, std::move(sink));
}

Result<std::unique_ptr<TableWrite>> StartReplace(const Context& context,
                                                 std::shared_ptr<LakehouseCore> core,
                                                 const catalog::Principal& principal,
                                                 std::shared_ptr<const OpenTable> table,
                                                 const arrow::Schema& schema,
                                                 const WriteOptions& options) {
  ARROW_RETURN_NOT_OK(core->write_gate());
  ARROW_RETURN_NOT_OK(CheckOperationKey(options.operation));
  ARROW_RETURN_NOT_OK(CheckNewColumns(schema));
  const table::Dataset& dataset = *table->dataset;
  ARROW_RETURN_NOT_OK(table::CheckWritable(dataset.manifest(), table->entry.name.ToString()));
  ARROW_ASSIGN_OR_RAISE(format::Schema table_schema,
                        format::SchemaFromArrow(schema, table::NextFieldId(dataset.manifest())));
  format::FileVersion file_version;
  if (options.file_version) {
    file_version = *options.file_version;
  } else {
    ARROW_ASSIGN_OR_RAISE(
        file_version, table::VersionOfNewFiles(dataset.manifest(), table->entry.name.ToString()));
  }
  ARROW_RETURN_NOT_OK(format::CheckWritable(table_schema, file_version));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Schema> arrow_schema, format::ToArrow(table_schema));
  ARROW_ASSIGN_OR_RAISE(FileReferenceChecker checker,
                        MakeChecker(context, core.get(), principal, *arrow_schema, options));
  ARROW_ASSIGN_OR_RAISE(BegunChange begun,
                        BeginChange(context, core.get(), *table, options.operation));
  if (begun.outcome.has_value()) {
    return std::make_unique<ReplayedWrite>(std::move(arrow_schema), *begun.outcome);
  }
  auto sink =
      std::make_unique<RowSink>(context, dataset.store(), table_schema, std::move(arrow_schema),
                                std::move(checker), WriterOptions(options, file_version));
  return std::make_unique<AppendWrite>(std::move(core), std::move(table), options,
                                       begun.replay_base, std::move(sink),
                                       Replacement{std::move(table_schema), file_version});
}

Result<std::unique_ptr<TableWrite>> StartCreate(
    const Context& context, std::shared_ptr<LakehouseCore> core,
    const catalog::Principal& principal, const catalog::QualifiedName& name,
    const arrow::Schema& schema, const std::map<std::string, std::string>& properties,
    const WriteOptions& options) {
  ARROW_RETURN_NOT_OK(core->write_gate());
  ARROW_RETURN_NOT_OK(CheckOperationKey(options.operation));
  ARROW_RETURN_NOT_OK(CheckNewColumns(schema));
  ARROW_ASSIGN_OR_RAISE(format::Schema table_schema, format::SchemaFromArrow(schema));
  const format::FileVersion file_version = options.file_version.value_or(format::kFileVersion22);
  ARROW_RETURN_NOT_OK(format::CheckWritable(table_schema, file_version));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Schema> arrow_schema, format::ToArrow(table_schema));
  ARROW_ASSIGN_OR_RAISE(FileReferenceChecker checker,
                        MakeChecker(context, core.get(), principal, *arrow_schema, options));

  std::optional<Uuid> buried;
  if (!options.operation.operation_id.empty()) {
    Result<OperationState> state = ResolveOperation(context, core.get(), options.operation);
    if (state.ok()) {
      if (state->record.base_version != 0) return WrongKindOfOperation(options.operation);
      if (state->outcome.has_value()) {
        return std::make_unique<ReplayedWrite>(std::move(arrow_schema), *state->outcome);
      }
      buried = state->buried;
    } else if (CodeOf(state.status()) != ErrorCode::kNotFound) {
      return state.status();
    }
  }

  catalog::Entry entry;
  entry.incarnation = Uuid::NewV7(context);
  entry.properties = properties;
  ARROW_ASSIGN_OR_RAISE(entry.name.name_space, catalog::NormalizedName(name.name_space));
  ARROW_ASSIGN_OR_RAISE(entry.name.name, catalog::CheckedName(name.name, "table"));
  entry.location = NewTableLocation(entry.name, entry.incarnation);
  ARROW_ASSIGN_OR_RAISE(entry, ReserveName(context, core.get(), entry));
  CrashPoint("row_creating");
  Status recorded = RecordCreate(context, core.get(), options.operation, entry.incarnation, buried);
  if (!recorded.ok()) {
    core->metastore().AbandonCreate(SettlingContext(context), entry).ok();
    return recorded;
  }
  CrashPoint("operation_recorded");
  ARROW_ASSIGN_OR_RAISE(auto store, core->TableStore(entry));
  auto sink = std::make_unique<RowSink>(context, store, table_schema, std::move(arrow_schema),
                                        std::move(checker), WriterOptions(options, file_version));
  return std::make_unique<CreateWrite>(context, std::move(core), std::move(entry), std::move(store),
                                       std::move(table_schema), file_version, options.operation,
                                       std::move(sink));
}

}  // namespace lake::commit
