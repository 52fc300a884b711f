// The sink of CREATE TABLE ... AS.

#include <utility>

#include <arrow/api.h>
#include <duckdb/execution/physical_operator.hpp>
#include <duckdb/execution/physical_plan_generator.hpp>

#include "lake/query/batch_builder_internal.h"
#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/provenance_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/transaction_internal.h"

namespace lake::query {
namespace {

struct CreateTarget {
  catalog::QualifiedName name;
  std::shared_ptr<arrow::Schema> schema;
  duckdb::vector<duckdb::LogicalType> types;
  duckdb::OnCreateConflict on_conflict = duckdb::OnCreateConflict::ERROR_ON_CONFLICT;
  bool has_file_columns = false;
  bool file_provenance_proved = false;
};

struct CreateState : public duckdb::GlobalSinkState {
  std::unique_ptr<commit::TableWrite> write;
  std::unique_ptr<BatchBuilder> builder;
  uint64_t num_rows = 0;
};

class LakeCreateTableAs : public duckdb::PhysicalOperator {
 public:
  LakeCreateTableAs(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
                    duckdb::idx_t estimated_cardinality, LakeCatalog& catalog, CreateTarget target)
      : duckdb::PhysicalOperator(plan, duckdb::PhysicalOperatorType::EXTENSION, std::move(types),
                                 estimated_cardinality),
        catalog_(catalog),
        target_(std::move(target)) {}

  duckdb::string GetName() const override { return "LAKE_CREATE_TABLE_AS"; }
  duckdb::InsertionOrderPreservingMap<duckdb::string> ParamsToString() const override {
    duckdb::InsertionOrderPreservingMap<duckdb::string> result;
    result["Table"] = target_.name.ToString();
    return result;
  }

  bool IsSink() const override { return true; }
  bool SinkOrderDependent() const override { return true; }
  bool IsSource() const override { return true; }

  duckdb::unique_ptr<duckdb::GlobalSinkState> GetGlobalSinkState(
      duckdb::ClientContext& context) const override;
  duckdb::SinkResultType Sink(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                              duckdb::OperatorSinkInput& input) const override;
  duckdb::SinkFinalizeType Finalize(duckdb::Pipeline&, duckdb::Event&,
                                    duckdb::ClientContext& context,
                                    duckdb::OperatorSinkFinalizeInput& input) const override;
  duckdb::SourceResultType GetData(duckdb::ExecutionContext&, duckdb::DataChunk& chunk,
                                   duckdb::OperatorSourceInput&) const override;

 private:
  LakeCatalog& catalog_;
  const CreateTarget target_;
};

duckdb::unique_ptr<duckdb::GlobalSinkState> LakeCreateTableAs::GetGlobalSinkState(
    duckdb::ClientContext& context) const {
  if (target_.has_file_columns && !target_.file_provenance_proved) {
    ThrowStatus(Error(ErrorCode::kInvalidArgument,
                      "a plan whose FILE values were not checked is refused (the optimizer or its "
                      "extensions are switched off, or a parameter is missing): table '{}'",
                      target_.name.ToString()));
  }
  SessionState& session = SessionState::Of(context);
  commit::WriteOptions options;
  options.operation = std::exchange(session.operation, {});
  options.file_provenance_proved = target_.file_provenance_proved;
  options.file_version = session.table_options.file_version;
  options.max_buffered_bytes = static_cast<uint64_t>(catalog_.write_buffer_bytes());
  auto state = duckdb::make_uniq<CreateState>();
  state->write = ValueOrThrow(
      StartCreate(context, catalog_, target_.name, *target_.schema, options, target_.on_conflict));
  state->builder = ValueOrThrow(BatchBuilder::ForTable(context, target_.name.ToString(),
                                                       target_.types, state->write->schema()));
  return state;
}

Status Flush(CreateState* state) {
  if (state->builder->num_rows() == 0) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(auto batch, state->builder->Finish());
  return state->write->Write(*batch);
}

duckdb::SinkResultType LakeCreateTableAs::Sink(duckdb::ExecutionContext&, duckdb::DataChunk& chunk,
                                               duckdb::OperatorSinkInput& input) const {
  auto& state = input.global_state.Cast<CreateState>();
  Status status = state.builder->Append(chunk);
  if (status.ok() && state.builder->full()) status = Flush(&state);
  if (!status.ok()) {
    state.write.reset();  // Removes what was written.
    ThrowStatus(status);
  }
  state.num_rows += chunk.size();
  return duckdb::SinkResultType::NEED_MORE_INPUT;
}

duckdb::SinkFinalizeType LakeCreateTableAs::Finalize(
    duckdb::Pipeline&, duckdb::Event&, duckdb::ClientContext& context,
    duckdb::OperatorSinkFinalizeInput& input) const {
  auto& state = input.global_state.Cast<CreateState>();
  const Status status = Flush(&state);
  if (!status.ok()) {
    state.write.reset();
    ThrowStatus(status);
  }
  LakeTransaction::Get(context, catalog_).SetWrite(std::move(state.write));
  return duckdb::SinkFinalizeType::READY;
}

duckdb::SourceResultType LakeCreateTableAs::GetData(duckdb::ExecutionContext&,
                                                    duckdb::DataChunk& chunk,
                                                    duckdb::OperatorSourceInput&) const {
  const auto& state = sink_state->Cast<CreateState>();
  chunk.SetCardinality(1);
  chunk.SetValue(0, 0, duckdb::Value::BIGINT(static_cast<int64_t>(state.num_rows)));
  return duckdb::SourceResultType::FINISHED;
}

}  // namespace

duckdb::PhysicalOperator& LakeCatalog::PlanCreateTableAs(duckdb::ClientContext& context,
                                                         duckdb::PhysicalPlanGenerator& planner,
                                                         duckdb::LogicalCreateTable& op,
                                                         duckdb::PhysicalOperator& plan) {
  const duckdb::CreateTableInfo& info = op.info->Base();
  RefuseInTransaction(context, "CREATE TABLE ... AS");
  CreateTarget target;
  target.name = {op.schema.name, info.table};
  target.schema = SchemaForCreate(info);
  target.on_conflict = info.on_conflict;
  for (const auto& column : info.columns.Logical()) target.types.push_back(column.Type());
  for (const auto& type : target.types) target.has_file_columns |= ContainsFileSqlType(type);
  target.file_provenance_proved = dynamic_cast<ProvedCreateTable*>(&op) != nullptr;
  auto& sink =
      planner.Make<LakeCreateTableAs>(op.types, op.estimated_cardinality, *this, std::move(target));
  sink.children.push_back(plan);
  return sink;
}

}  // namespace lake::query
