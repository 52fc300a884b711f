// The sink of INSERT and CREATE TABLE ... AS.

#include <optional>
#include <utility>

#include <arrow/api.h>
#include <duckdb/common/types/column/column_data_collection.hpp>
#include <duckdb/execution/physical_operator.hpp>
#include <duckdb/execution/physical_plan_generator.hpp>

#include "lake/commit/file_references.h"
#include "lake/query/batch_builder_internal.h"
#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/provenance_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/transaction_internal.h"

namespace lake::query {
namespace {

/// Where the rows go.
struct SinkTarget {
  /// INSERT: the table as the transaction sees it.
  std::shared_ptr<LakeTableEntry> table;
  /// CREATE TABLE ... AS: the name and what to make.
  catalog::QualifiedName new_name;
  std::shared_ptr<arrow::Schema> new_schema;
  duckdb::vector<duckdb::LogicalType> types;
  bool has_file_columns = false;
  bool file_provenance_proved = false;

  std::string Name() const { return table ? table->QualifiedName() : new_name.ToString(); }
};

struct SinkState : public duckdb::GlobalSinkState {
  /// A statement that runs by itself writes on through.
  std::unique_ptr<commit::TableWrite> write;
  /// Inside BEGIN ... COMMIT the rows wait in memory that DuckDB may spill.
  std::unique_ptr<duckdb::ColumnDataCollection> rows;
  duckdb::ColumnDataAppendState append;
  /// The checks of a table write, for rows that reach theirs only at COMMIT: the statement is told,
  /// not COMMIT.
  std::optional<commit::FileReferenceChecker> checker;
  std::unique_ptr<BatchBuilder> builder;
  uint64_t num_rows = 0;
};

class LakeSink : public duckdb::PhysicalOperator {
 public:
  LakeSink(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
           duckdb::idx_t estimated_cardinality, LakeCatalog& catalog, SinkTarget target)
      : duckdb::PhysicalOperator(plan, duckdb::PhysicalOperatorType::EXTENSION, std::move(types),
                                 estimated_cardinality),
        catalog_(catalog),
        target_(std::move(target)) {}

  duckdb::string GetName() const override {
    return target_.table ? "LAKE_INSERT" : "LAKE_CREATE_TABLE_AS";
  }
  duckdb::InsertionOrderPreservingMap<duckdb::string> ParamsToString() const override {
    duckdb::InsertionOrderPreservingMap<duckdb::string> result;
    result["Table"] = target_.Name();
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
  void OpenWrite(duckdb::ClientContext& context, SinkState* state) const;
  Status Flush(duckdb::ClientContext& context, SinkState* state) const;

  LakeCatalog& catalog_;
  const SinkTarget target_;
};

void LakeSink::OpenWrite(duckdb::ClientContext& context, SinkState* state) const {
  SessionState& session = SessionState::Of(context);
  commit::WriteOptions options;
  options.operation = std::exchange(session.operation, {});
  options.file_provenance_proved = target_.file_provenance_proved;
  options.max_buffered_bytes = static_cast<uint64_t>(catalog_.write_buffer_bytes());
  commit::Lakehouse& lakehouse = catalog_.lakehouse();
  state->write = ValueOrThrow(
      target_.table
          ? lakehouse.Append(session.context, session.principal, target_.table->table(), options)
          : lakehouse.Create(session.context, session.principal, target_.new_name,
                             *target_.new_schema, {}, options));
}

duckdb::unique_ptr<duckdb::GlobalSinkState> LakeSink::GetGlobalSinkState(
    duckdb::ClientContext& context) const {
  if (target_.has_file_columns && !target_.file_provenance_proved) {
    ThrowStatus(Error(ErrorCode::kInvalidArgument,
                      "a plan whose FILE values were not checked is refused (the optimizer or its "
                      "extensions are switched off, or a parameter is missing): table '{}'",
                      target_.Name()));
  }
  auto state = duckdb::make_uniq<SinkState>();
  std::shared_ptr<arrow::Schema> schema = target_.new_schema;
  if (context.transaction.IsAutoCommit()) {
    OpenWrite(context, state.get());
    schema = state->write->schema();
  } else {
    SessionState& session = SessionState::Of(context);
    LakeTransaction::Get(context, catalog_).CheckWritable(*target_.table->table());
    state->rows = std::make_unique<duckdb::ColumnDataCollection>(context, target_.types);
    state->rows->InitializeAppend(state->append);
    schema = target_.table->table()->dataset->arrow_schema();
    if (target_.has_file_columns) {
      state->checker.emplace(
          *schema, ValueOrThrow(catalog_.lakehouse().StageFor(session.context, session.principal)),
          target_.file_provenance_proved);
    }
  }
  state->builder = ValueOrThrow(
      BatchBuilder::ForTable(context, target_.Name(), target_.types, std::move(schema)));
  return state;
}

Status LakeSink::Flush(duckdb::ClientContext& context, SinkState* state) const {
  if (state->builder->num_rows() == 0) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(auto batch, state->builder->Finish());
  if (state->write) return state->write->Write(*batch);
  if (state->checker) return state->checker->Check(SessionState::Of(context).context, *batch);
  return Status::OK();
}

duckdb::SinkResultType LakeSink::Sink(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                                      duckdb::OperatorSinkInput& input) const {
  auto& state = input.global_state.Cast<SinkState>();
  Status status = state.builder->Append(chunk);
  if (status.ok() && state.builder->full()) status = Flush(context.client, &state);
  if (!status.ok()) {
    state.write.reset();  // Removes what was written.
    ThrowStatus(status);
  }
  if (state.rows) state.rows->Append(state.append, chunk);
  state.num_rows += chunk.size();
  return duckdb::SinkResultType::NEED_MORE_INPUT;
}

duckdb::SinkFinalizeType LakeSink::Finalize(duckdb::Pipeline&, duckdb::Event&,
                                            duckdb::ClientContext& context,
                                            duckdb::OperatorSinkFinalizeInput& input) const {
  auto& state = input.global_state.Cast<SinkState>();
  const Status status = Flush(context, &state);
  if (!status.ok()) {
    state.write.reset();
    ThrowStatus(status);
  }
  LakeTransaction& transaction = LakeTransaction::Get(context, catalog_);
  if (state.write) {
    transaction.SetWrite(std::move(state.write));
  } else {
    transaction.AddPending(target_.table->table(), std::move(state.rows),
                           target_.file_provenance_proved);
  }
  return duckdb::SinkFinalizeType::READY;
}

duckdb::SourceResultType LakeSink::GetData(duckdb::ExecutionContext&, duckdb::DataChunk& chunk,
                                           duckdb::OperatorSourceInput&) const {
  const auto& state = sink_state->Cast<SinkState>();
  chunk.SetCardinality(1);
  chunk.SetValue(0, 0, duckdb::Value::BIGINT(static_cast<int64_t>(state.num_rows)));
  return duckdb::SourceResultType::FINISHED;
}

bool AnyFile(const duckdb::vector<duckdb::LogicalType>& types) {
  for (const auto& type : types) {
    if (ContainsFileSqlType(type)) return true;
  }
  return false;
}

/// INTERVAL is months, days and microseconds: no exact duration.
void RefuseDurations(const SqlTable& sql, const std::string& table) {
  for (const SqlColumn& column : sql.columns) {
    if (column.type.id() == duckdb::LogicalTypeId::INTERVAL) {
      ThrowRefused("INSERT into a column of type duration",
                   "table '" + table + "', column '" + column.name + "'");
    }
  }
}

}  // namespace

duckdb::PhysicalOperator& LakeCatalog::PlanInsert(
    duckdb::ClientContext&, duckdb::PhysicalPlanGenerator& planner, duckdb::LogicalInsert& op,
    duckdb::optional_ptr<duckdb::PhysicalOperator> plan) {
  auto& table = static_cast<LakeTableEntry&>(op.table);
  if (op.return_chunk) ThrowRefused("INSERT ... RETURNING", table.QualifiedName());
  if (op.on_conflict_info.action_type != duckdb::OnConflictAction::THROW) {
    ThrowRefused("INSERT ... ON CONFLICT", table.QualifiedName());
  }
  RefuseDurations(*table.sql(), table.QualifiedName());
  if (!op.column_index_map.empty()) plan = planner.ResolveDefaultsProjection(op, *plan);
  SinkTarget target;
  target.table = table.shared_from_this();
  target.types = table.GetTypes();
  target.has_file_columns = AnyFile(target.types);
  target.file_provenance_proved = dynamic_cast<ProvedInsert*>(&op) != nullptr;
  auto& sink = planner.Make<LakeSink>(op.types, op.estimated_cardinality, *this, std::move(target));
  sink.children.push_back(*plan);
  return sink;
}

duckdb::PhysicalOperator& LakeCatalog::PlanCreateTableAs(duckdb::ClientContext& context,
                                                         duckdb::PhysicalPlanGenerator& planner,
                                                         duckdb::LogicalCreateTable& op,
                                                         duckdb::PhysicalOperator& plan) {
  const duckdb::CreateTableInfo& info = op.info->Base();
  RefuseInTransaction(context, "CREATE TABLE ... AS");
  if (info.on_conflict == duckdb::OnCreateConflict::REPLACE_ON_CONFLICT) {
    ThrowRefused("CREATE OR REPLACE TABLE", op.schema.name + "." + info.table);
  }
  SinkTarget target;
  target.new_name = {op.schema.name, info.table};
  target.new_schema = SchemaForCreate(info);
  for (const auto& column : info.columns.Logical()) target.types.push_back(column.Type());
  target.has_file_columns = AnyFile(target.types);
  target.file_provenance_proved = dynamic_cast<ProvedCreateTable*>(&op) != nullptr;
  auto& sink = planner.Make<LakeSink>(op.types, op.estimated_cardinality, *this, std::move(target));
  sink.children.push_back(plan);
  return sink;
}

}  // namespace lake::query
