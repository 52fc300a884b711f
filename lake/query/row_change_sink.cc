// The sinks of INSERT, DELETE, UPDATE and MERGE INTO.

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <arrow/api.h>
#include <duckdb/common/arrow/arrow_wrapper.hpp>
#include <duckdb/common/types/column/column_data_collection.hpp>
#include <duckdb/execution/operator/persistent/physical_merge_into.hpp>
#include <duckdb/execution/physical_operator.hpp>
#include <duckdb/execution/physical_plan_generator.hpp>
#include <duckdb/planner/expression/bound_reference_expression.hpp>
#include <duckdb/planner/operator/logical_get.hpp>

#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/provenance_internal.h"
#include "lake/query/scan_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/spilling_join_internal.h"
#include "lake/query/statement_change_internal.h"

namespace lake::query {
namespace {

constexpr duckdb::idx_t kNoSource = duckdb::DConstants::INVALID_INDEX;

/// The change that the sinks of one statement share, while it runs.
struct SharedChange {
  SharedChange(LakeCatalog& lake_catalog, ChangePlan change_plan)
      : catalog(lake_catalog), plan(std::move(change_plan)) {}

  std::shared_ptr<StatementChange> Get(duckdb::ClientContext& context) {
    auto change = running.lock();
    if (!change) {
      change = std::make_shared<StatementChange>(context, catalog, plan);
      running = change;
    }
    return change;
  }

  LakeCatalog& catalog;
  const ChangePlan plan;
  std::weak_ptr<StatementChange> running;
};

enum class ChangeKind { kInsert, kDelete, kUpdate };

struct SinkOptions {
  ChangeKind kind = ChangeKind::kInsert;
  /// DELETE, UPDATE: the column of the addresses.
  duckdb::idx_t address_column = 0;
  /// UPDATE: by column of the table, the column of the input; kNoSource is NULL.
  std::vector<duckdb::idx_t> sources;
  /// RETURNING.
  bool returns_rows = false;
};

struct ChangeState : public duckdb::GlobalSinkState {
  std::shared_ptr<StatementChange> change;
  std::unique_ptr<duckdb::ColumnDataCollection> returned;
  /// DELETE ... RETURNING: addresses that were returned.
  std::unordered_set<uint64_t> seen;
};

struct ChangeSourceState : public duckdb::GlobalSourceState {
  duckdb::ColumnDataScanState scan;
};

class LakeChangeSink : public duckdb::PhysicalOperator {
 public:
  LakeChangeSink(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
                 duckdb::idx_t estimated_cardinality, std::shared_ptr<SharedChange> shared,
                 SinkOptions options)
      : duckdb::PhysicalOperator(plan, duckdb::PhysicalOperatorType::EXTENSION, std::move(types),
                                 estimated_cardinality),
        shared_(std::move(shared)),
        options_(std::move(options)) {}

  duckdb::string GetName() const override {
    switch (options_.kind) {
      case ChangeKind::kInsert:
        return "LAKE_INSERT";
      case ChangeKind::kDelete:
        return "LAKE_DELETE";
      case ChangeKind::kUpdate:
        return "LAKE_UPDATE";
    }
    return "LAKE";
  }
  duckdb::InsertionOrderPreservingMap<duckdb::string> ParamsToString() const override {
    duckdb::InsertionOrderPreservingMap<duckdb::string> result;
    result["Table"] = table().QualifiedName();
    return result;
  }

  bool IsSink() const override { return true; }
  bool SinkOrderDependent() const override { return options_.kind == ChangeKind::kInsert; }
  bool IsSource() const override { return true; }

  duckdb::unique_ptr<duckdb::GlobalSinkState> GetGlobalSinkState(
      duckdb::ClientContext& context) const override;
  duckdb::SinkResultType Sink(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                              duckdb::OperatorSinkInput& input) const override;
  duckdb::SinkFinalizeType Finalize(duckdb::Pipeline&, duckdb::Event&, duckdb::ClientContext&,
                                    duckdb::OperatorSinkFinalizeInput& input) const override;

  duckdb::unique_ptr<duckdb::GlobalSourceState> GetGlobalSourceState(
      duckdb::ClientContext&) const override;
  duckdb::SourceResultType GetData(duckdb::ExecutionContext&, duckdb::DataChunk& chunk,
                                   duckdb::OperatorSourceInput& input) const override;

 private:
  const LakeTableEntry& table() const { return *shared_->plan.table; }
  void ReturnDeleted(duckdb::ClientContext& context, duckdb::DataChunk& chunk,
                     ChangeState* state) const;

  const std::shared_ptr<SharedChange> shared_;
  const SinkOptions options_;
};

duckdb::unique_ptr<duckdb::GlobalSinkState> LakeChangeSink::GetGlobalSinkState(
    duckdb::ClientContext& context) const {
  auto state = duckdb::make_uniq<ChangeState>();
  state->change = shared_->Get(context);
  if (options_.returns_rows) {
    state->returned = std::make_unique<duckdb::ColumnDataCollection>(context, table().GetTypes());
  }
  return state;
}

/// Rows of all columns of `sql`'s table as chunks, at the end of `rows`.
void AppendRows(duckdb::ClientContext& context, const SqlTable& sql,
                std::shared_ptr<arrow::RecordBatch> batch,
                const duckdb::vector<duckdb::LogicalType>& types,
                duckdb::ColumnDataCollection* rows) {
  for (size_t i = 0; i < sql.columns.size(); ++i) {
    ThrowIfError(ShowColumn(sql.columns[i], static_cast<int>(i), &batch));
  }
  auto wrapper = duckdb::make_uniq<duckdb::ArrowArrayWrapper>();
  ThrowIfError(arrow::ExportRecordBatch(*batch, &wrapper->arrow_array));
  duckdb::ArrowScanLocalState state(std::move(wrapper), context);
  duckdb::DataChunk chunk;
  chunk.Initialize(context, types);
  const auto count = static_cast<duckdb::idx_t>(batch->num_rows());
  while (state.chunk_offset < count) {
    chunk.Reset();
    chunk.SetCardinality(std::min<duckdb::idx_t>(STANDARD_VECTOR_SIZE, count - state.chunk_offset));
    duckdb::ArrowTableFunction::ArrowToDuckDB(state, sql.conversion.GetColumns(), chunk, 0);
    state.chunk_offset += chunk.size();
    rows->Append(chunk);
  }
}

void LakeChangeSink::ReturnDeleted(duckdb::ClientContext& context, duckdb::DataChunk& chunk,
                                   ChangeState* state) const {
  duckdb::UnifiedVectorFormat format;
  chunk.data[options_.address_column].ToUnifiedFormat(chunk.size(), format);
  const auto* values = duckdb::UnifiedVectorFormat::GetData<uint64_t>(format);
  std::vector<uint64_t> addresses;
  for (duckdb::idx_t i = 0; i < chunk.size(); ++i) {
    const uint64_t address = values[format.sel->get_index(i)];
    if ((address & kPendingRowBit) != 0) {
      ThrowRefused("DELETE ... RETURNING of rows that the transaction wrote",
                   table().QualifiedName());
    }
    if (state->seen.insert(address).second) addresses.push_back(address);
  }
  if (addresses.empty()) return;
  std::vector<std::string> columns;
  for (const SqlColumn& column : table().sql()->columns) columns.push_back(column.name);
  auto batch = ValueOrThrow(
      table().table()->dataset->Take(SessionState::Of(context).context, addresses, columns));
  AppendRows(context, *table().sql(), std::move(batch), table().GetTypes(), state->returned.get());
}

duckdb::SinkResultType LakeChangeSink::Sink(duckdb::ExecutionContext& context,
                                            duckdb::DataChunk& chunk,
                                            duckdb::OperatorSinkInput& input) const {
  auto& state = input.global_state.Cast<ChangeState>();
  switch (options_.kind) {
    case ChangeKind::kInsert:
      state.change->Insert(chunk);
      if (state.returned) state.returned->Append(chunk);
      break;
    case ChangeKind::kDelete:
      if (state.returned) ReturnDeleted(context.client, chunk, &state);
      state.change->Delete(chunk.data[options_.address_column], chunk.size());
      break;
    case ChangeKind::kUpdate: {
      duckdb::DataChunk rows;
      rows.InitializeEmpty(table().GetTypes());
      rows.SetCardinality(chunk.size());
      for (size_t i = 0; i < options_.sources.size(); ++i) {
        if (options_.sources[i] == kNoSource) {
          rows.data[i].Reference(duckdb::Value(rows.data[i].GetType()));
        } else {
          rows.data[i].Reference(chunk.data[options_.sources[i]]);
        }
      }
      state.change->Update(chunk.data[options_.address_column], rows);
      if (state.returned) state.returned->Append(rows);
      break;
    }
  }
  return duckdb::SinkResultType::NEED_MORE_INPUT;
}

duckdb::SinkFinalizeType LakeChangeSink::Finalize(duckdb::Pipeline&, duckdb::Event&,
                                                  duckdb::ClientContext&,
                                                  duckdb::OperatorSinkFinalizeInput& input) const {
  input.global_state.Cast<ChangeState>().change->Finish();
  return duckdb::SinkFinalizeType::READY;
}

duckdb::unique_ptr<duckdb::GlobalSourceState> LakeChangeSink::GetGlobalSourceState(
    duckdb::ClientContext&) const {
  auto source = duckdb::make_uniq<ChangeSourceState>();
  auto& state = sink_state->Cast<ChangeState>();
  if (state.returned) state.returned->InitializeScan(source->scan);
  return source;
}

duckdb::SourceResultType LakeChangeSink::GetData(duckdb::ExecutionContext&,
                                                 duckdb::DataChunk& chunk,
                                                 duckdb::OperatorSourceInput& input) const {
  auto& state = sink_state->Cast<ChangeState>();
  if (state.returned) {
    auto& source = input.global_state.Cast<ChangeSourceState>();
    state.returned->Scan(source.scan, chunk);
    return chunk.size() == 0 ? duckdb::SourceResultType::FINISHED
                             : duckdb::SourceResultType::HAVE_MORE_OUTPUT;
  }
  chunk.SetCardinality(1);
  chunk.SetValue(0, 0, duckdb::Value::BIGINT(static_cast<int64_t>(state.change->num_rows())));
  return duckdb::SourceResultType::FINISHED;
}

/// DELETE of all rows, by itself.
class LakeDeleteAll : public duckdb::PhysicalOperator {
 public:
  LakeDeleteAll(duckdb::PhysicalPlan& plan, duckdb::vector<duckdb::LogicalType> types,
                std::shared_ptr<SharedChange> shared)
      : duckdb::PhysicalOperator(plan, duckdb::PhysicalOperatorType::EXTENSION, std::move(types),
                                 1),
        shared_(std::move(shared)) {}

  duckdb::string GetName() const override { return "LAKE_DELETE_ALL"; }
  duckdb::InsertionOrderPreservingMap<duckdb::string> ParamsToString() const override {
    duckdb::InsertionOrderPreservingMap<duckdb::string> result;
    result["Table"] = shared_->plan.table->QualifiedName();
    return result;
  }
  bool IsSource() const override { return true; }

  duckdb::SourceResultType GetData(duckdb::ExecutionContext& context, duckdb::DataChunk& chunk,
                                   duckdb::OperatorSourceInput&) const override {
    const auto change = shared_->Get(context.client);
    change->DeleteAll();
    change->Finish();
    chunk.SetCardinality(1);
    chunk.SetValue(0, 0, duckdb::Value::BIGINT(static_cast<int64_t>(change->num_rows())));
    return duckdb::SourceResultType::FINISHED;
  }

 private:
  const std::shared_ptr<SharedChange> shared_;
};

/// True for a scan of all rows of a table.
bool ReadsAllRows(const duckdb::LogicalOperator& op) {
  if (op.type != duckdb::LogicalOperatorType::LOGICAL_GET) return false;
  const auto& get = op.Cast<duckdb::LogicalGet>();
  if (!IsLakeScan(get.function) || !get.table_filters.filters.empty()) return false;
  const auto& data = get.bind_data->Cast<ScanBindData>();
  return !data.filter && !data.limit;
}

/// True if the field, or one below it, tells where blobs lie.
bool TellsPlaces(const arrow::Field& field) {
  const auto& metadata = field.metadata();
  if (metadata != nullptr && metadata->Contains("lance-encoding:blob")) return true;
  const arrow::FieldVector& children = field.type()->fields();
  return std::any_of(children.begin(), children.end(),
                     [](const auto& child) { return TellsPlaces(*child); });
}

/// Rows with such columns cannot be written from SQL; blobs whose column does not change can.
void RefuseUnwritable(const LakeTableEntry& table, const char* what,
                      const std::set<std::string>* changed_columns = nullptr) {
  for (const SqlColumn& column : table.sql()->columns) {
    const std::string object =
        "table '" + table.QualifiedName() + "', column '" + column.name + "'";
    // INTERVAL is months, days and microseconds: no exact duration.
    if (column.type.id() == duckdb::LogicalTypeId::INTERVAL) {
      ThrowRefused(fmt::format("{} on a column of type duration", what).c_str(), object);
    }
    const bool changes = changed_columns == nullptr || changed_columns->contains(column.name);
    if (changes && TellsPlaces(*column.stored)) {
      ThrowRefused(fmt::format("{} on a blob column", what).c_str(), object);
    }
  }
}

ChangePlan PlanFor(LakeTableEntry& table, const char* what) {
  ChangePlan plan;
  plan.table = table.shared_from_this();
  plan.what = what;
  for (const auto& type : table.GetTypes()) plan.has_file_columns |= ContainsFileSqlType(type);
  return plan;
}

/// All columns but the kept ones.
std::set<std::string> ChangedColumns(const LakeTableEntry& table, const std::set<int>& kept) {
  std::set<std::string> changed;
  for (size_t i = 0; i < table.sql()->columns.size(); ++i) {
    if (!kept.contains(static_cast<int>(i))) changed.insert(table.sql()->columns[i].name);
  }
  return changed;
}

/// The plan of a changing statement, with what the provenance check found if it saw `op`.
template <typename Proved>
ChangePlan PlanProved(LakeTableEntry& table, const char* what, duckdb::LogicalOperator& op) {
  ChangePlan plan = PlanFor(table, what);
  const auto* proved = dynamic_cast<Proved*>(&op);
  plan.file_provenance_proved = proved != nullptr && proved->files_proved;
  plan.changed_columns = ChangedColumns(table, proved != nullptr ? proved->kept : std::set<int>());
  RefuseUnwritable(table, what, &plan.changed_columns);
  return plan;
}

/// By column of the table, where the input holds its new value.
std::vector<duckdb::idx_t> SourcesOf(
    const LakeTableEntry& table, const duckdb::vector<duckdb::PhysicalIndex>& columns,
    const duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>& expressions) {
  std::vector<duckdb::idx_t> sources(table.GetTypes().size(), kNoSource);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (expressions[i]->GetExpressionType() == duckdb::ExpressionType::VALUE_DEFAULT) continue;
    sources[columns[i].index] = expressions[i]->Cast<duckdb::BoundReferenceExpression>().index;
  }
  return sources;
}

/// MERGE's expressions for a whole new row.
void CompleteInsert(duckdb::LogicalMergeInto& merge, duckdb::BoundMergeIntoAction& action) {
  if (action.column_index_map.empty()) return;
  duckdb::vector<duckdb::unique_ptr<duckdb::Expression>> expressions;
  for (auto& column : merge.table.GetColumns().Physical()) {
    const duckdb::idx_t mapped = action.column_index_map[column.Physical()];
    expressions.push_back(mapped == kNoSource ? merge.bound_defaults[column.StorageOid()]->Copy()
                                              : std::move(action.expressions[mapped]));
  }
  action.expressions = std::move(expressions);
}

duckdb::unique_ptr<duckdb::MergeIntoOperator> PlanAction(
    duckdb::PhysicalPlanGenerator& planner, duckdb::LogicalMergeInto& merge,
    duckdb::BoundMergeIntoAction& action, const LakeTableEntry& table,
    const std::shared_ptr<SharedChange>& shared) {
  auto result = duckdb::make_uniq<duckdb::MergeIntoOperator>();
  result->action_type = action.action_type;
  result->condition = std::move(action.condition);
  auto types = merge.types;
  // The last column of RETURNING is the action, which the merge itself adds.
  if (merge.return_chunk) types.pop_back();
  SinkOptions options;
  options.returns_rows = merge.return_chunk;
  options.address_column = merge.row_id_start;
  switch (action.action_type) {
    case duckdb::MergeActionType::MERGE_UPDATE:
      options.kind = ChangeKind::kUpdate;
      options.sources = SourcesOf(table, action.columns, action.expressions);
      break;
    case duckdb::MergeActionType::MERGE_DELETE:
      options.kind = ChangeKind::kDelete;
      break;
    case duckdb::MergeActionType::MERGE_INSERT:
      options.kind = ChangeKind::kInsert;
      CompleteInsert(merge, action);
      result->expressions = std::move(action.expressions);
      break;
    default:
      result->expressions = std::move(action.expressions);
      return result;
  }
  result->op = &planner.Make<LakeChangeSink>(std::move(types), 1, shared, std::move(options));
  return result;
}

}  // namespace

duckdb::PhysicalOperator& LakeCatalog::PlanInsert(
    duckdb::ClientContext&, duckdb::PhysicalPlanGenerator& planner, duckdb::LogicalInsert& op,
    duckdb::optional_ptr<duckdb::PhysicalOperator> plan) {
  auto& table = static_cast<LakeTableEntry&>(op.table);
  if (op.on_conflict_info.action_type != duckdb::OnConflictAction::THROW) {
    ThrowRefused("INSERT ... ON CONFLICT", table.QualifiedName());
  }
  RefuseUnwritable(table, "INSERT");
  if (!op.column_index_map.empty()) plan = planner.ResolveDefaultsProjection(op, *plan);
  ChangePlan change = PlanFor(table, "INSERT");
  change.only_inserts = true;
  change.file_provenance_proved = dynamic_cast<ProvedInsert*>(&op) != nullptr;
  SinkOptions options;
  options.returns_rows = op.return_chunk;
  auto& sink = planner.Make<LakeChangeSink>(
      op.types, op.estimated_cardinality, std::make_shared<SharedChange>(*this, std::move(change)),
      std::move(options));
  sink.children.push_back(*plan);
  return sink;
}

duckdb::PhysicalOperator& LakeCatalog::PlanDelete(duckdb::ClientContext& context,
                                                  duckdb::PhysicalPlanGenerator& planner,
                                                  duckdb::LogicalDelete& op,
                                                  duckdb::PhysicalOperator& plan) {
  auto& table = static_cast<LakeTableEntry&>(op.table);
  ChangePlan change = PlanFor(table, "DELETE");
  change.has_file_columns = false;  // It adds none.
  SinkOptions options;
  options.kind = ChangeKind::kDelete;
  options.address_column = op.expressions[0]->Cast<duckdb::BoundReferenceExpression>().index;
  options.returns_rows = op.return_chunk;
  auto& sink = planner.Make<LakeChangeSink>(
      op.types, op.estimated_cardinality, std::make_shared<SharedChange>(*this, std::move(change)),
      std::move(options));
  sink.children.push_back(WithSpillingJoins(context, planner, plan, lakehouse_->temp_dir()));
  return sink;
}

duckdb::PhysicalOperator& LakeCatalog::PlanDelete(duckdb::ClientContext& context,
                                                  duckdb::PhysicalPlanGenerator& planner,
                                                  duckdb::LogicalDelete& op) {
  const bool alone = context.transaction.IsAutoCommit() && !op.return_chunk;
  if (!alone || !ReadsAllRows(*op.children[0])) {
    return PlanDelete(context, planner, op, planner.CreatePlan(*op.children[0]));
  }
  ChangePlan change = PlanFor(static_cast<LakeTableEntry&>(op.table), "DELETE");
  change.has_file_columns = false;
  return planner.Make<LakeDeleteAll>(op.types,
                                     std::make_shared<SharedChange>(*this, std::move(change)));
}

duckdb::PhysicalOperator& LakeCatalog::PlanUpdate(duckdb::ClientContext& context,
                                                  duckdb::PhysicalPlanGenerator& planner,
                                                  duckdb::LogicalUpdate& op,
                                                  duckdb::PhysicalOperator& plan) {
  auto& table = static_cast<LakeTableEntry&>(op.table);
  ChangePlan change = PlanProved<ProvedUpdate>(table, "UPDATE", op);
  SinkOptions options;
  options.kind = ChangeKind::kUpdate;
  options.sources = SourcesOf(table, op.columns, op.expressions);
  options.address_column = plan.types.size() - 1;
  options.returns_rows = op.return_chunk;
  auto& sink = planner.Make<LakeChangeSink>(
      op.types, op.estimated_cardinality, std::make_shared<SharedChange>(*this, std::move(change)),
      std::move(options));
  sink.children.push_back(WithSpillingJoins(context, planner, plan, lakehouse_->temp_dir()));
  return sink;
}

duckdb::PhysicalOperator& LakeCatalog::PlanMergeInto(duckdb::ClientContext& context,
                                                     duckdb::PhysicalPlanGenerator& planner,
                                                     duckdb::LogicalMergeInto& op,
                                                     duckdb::PhysicalOperator& plan) {
  auto& table = static_cast<LakeTableEntry&>(op.table);
  ChangePlan change = PlanProved<ProvedMerge>(table, "MERGE INTO", op);
  for (const auto& [condition, bound] : op.actions) {
    for (const auto& action : bound) {
      change.inserts_by_key |= action->action_type == duckdb::MergeActionType::MERGE_INSERT;
    }
  }
  const auto shared = std::make_shared<SharedChange>(*this, std::move(change));
  duckdb::map<duckdb::MergeActionCondition,
              duckdb::vector<duckdb::unique_ptr<duckdb::MergeIntoOperator>>>
      actions;
  for (auto& [condition, bound] : op.actions) {
    duckdb::vector<duckdb::unique_ptr<duckdb::MergeIntoOperator>> planned;
    for (auto& action : bound) planned.push_back(PlanAction(planner, op, *action, table, shared));
    actions.emplace(condition, std::move(planned));
  }
  auto& merge = planner.Make<duckdb::PhysicalMergeInto>(op.types, std::move(actions),
                                                        op.row_id_start, op.source_marker,
                                                        /*parallel=*/false, op.return_chunk);
  merge.children.push_back(WithSpillingJoins(context, planner, plan, lakehouse_->temp_dir()));
  return merge;
}

}  // namespace lake::query
