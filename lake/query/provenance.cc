#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include <duckdb/catalog/catalog_entry/table_catalog_entry.hpp>
#include <duckdb/planner/expression/bound_cast_expression.hpp>
#include <duckdb/planner/expression/bound_columnref_expression.hpp>
#include <duckdb/planner/expression/bound_constant_expression.hpp>
#include <duckdb/planner/operator/logical_cteref.hpp>
#include <duckdb/planner/operator/logical_expression_get.hpp>
#include <duckdb/planner/operator/logical_get.hpp>
#include <duckdb/planner/operator/logical_limit.hpp>
#include <duckdb/planner/operator/logical_materialized_cte.hpp>
#include <duckdb/planner/operator/logical_projection.hpp>
#include <duckdb/planner/operator/logical_set_operation.hpp>

#include "lake/query/duckdb_error_internal.h"
#include "lake/query/provenance_internal.h"
#include "lake/query/scan_internal.h"
#include "lake/query/session_state_internal.h"

namespace lake::query {
namespace {

using duckdb::ColumnBinding;
using duckdb::ExpressionType;
using duckdb::LogicalOperator;
using duckdb::LogicalOperatorType;

bool IsSupplied(const SessionState& session, const duckdb::Value& value) {
  if (!IsFileSqlType(value.type())) return false;
  const auto& parts = duckdb::StructValue::GetChildren(value);
  for (const auto& part : parts) {
    if (part.IsNull()) return false;
  }
  objects::DataLocation location;
  location.uri = duckdb::StringValue::Get(parts[0]);
  location.content_type = duckdb::StringValue::Get(parts[1]);
  location.size_bytes = parts[2].GetValueUnsafe<uint64_t>();
  location.sha256 = duckdb::StringValue::Get(parts[3]);
  return std::find(session.supplied_files.begin(), session.supplied_files.end(), location) !=
         session.supplied_files.end();
}

/// Follows FILE columns of one plan down to where they come from.
class FileTracer {
 public:
  FileTracer(const SessionState& session, LogicalOperator& root) : session_(session) {
    Collect(root);
  }

  /// True if every value of `binding`, an output of `op`, is proved; throws for what is refused;
  /// false if a parameter has no value yet (the plan of a PREPARE, which is made again before it
  /// runs).
  bool Trace(LogicalOperator& op, const ColumnBinding& binding, const std::string& column) const;
  /// The same for `expression` over the outputs of `op`.
  bool TraceOutput(LogicalOperator& op, const duckdb::Expression& expression,
                   const std::string& column) const {
    return TraceExpression(op, expression, column);
  }

 private:
  void Collect(LogicalOperator& op) {
    if (op.type == LogicalOperatorType::LOGICAL_MATERIALIZED_CTE) {
      auto& cte = op.Cast<duckdb::LogicalMaterializedCTE>();
      ctes_.emplace(cte.table_index, &cte);
    }
    for (auto& child : op.children) Collect(*child);
  }

  bool TraceExpression(LogicalOperator& op, const duckdb::Expression& expression,
                       const std::string& column) const;
  bool TraceJoin(LogicalOperator& op, const ColumnBinding& binding,
                 const std::string& column) const;
  bool TraceNth(LogicalOperator& op, duckdb::idx_t index, const std::string& column) const;

  [[noreturn]] void Refuse(const std::string& column, const std::string& what) const {
    ThrowStatus(Error(ErrorCode::kInvalidArgument,
                      "a FILE value must come bare from a FILE column of a lake table, from a FILE "
                      "parameter or be NULL: column '{}' would get it from {}",
                      column, what));
  }

  const SessionState& session_;
  std::map<duckdb::idx_t, duckdb::LogicalMaterializedCTE*> ctes_;
};

bool FileTracer::TraceNth(LogicalOperator& op, duckdb::idx_t index,
                          const std::string& column) const {
  const auto bindings = op.GetColumnBindings();
  if (index >= bindings.size()) Refuse(column, "a plan that lake does not understand");
  return Trace(op, bindings[index], column);
}

bool FileTracer::TraceJoin(LogicalOperator& op, const ColumnBinding& binding,
                           const std::string& column) const {
  for (auto& child : op.children) {
    const auto bindings = child->GetColumnBindings();
    if (std::find(bindings.begin(), bindings.end(), binding) != bindings.end()) {
      return Trace(*child, binding, column);
    }
  }
  Refuse(column, "a join that makes the column itself");
}

bool FileTracer::Trace(LogicalOperator& op, const ColumnBinding& binding,
                       const std::string& column) const {
  switch (op.type) {
    case LogicalOperatorType::LOGICAL_GET: {
      auto& get = op.Cast<duckdb::LogicalGet>();
      if (!IsLakeScan(get.function)) Refuse(column, "the table function " + get.function.name);
      const auto& ids = get.GetColumnIds();
      const bool known =
          binding.table_index == get.table_index && binding.column_index < ids.size();
      const bool bare = known && !ids[binding.column_index].HasChildren() &&
                        !ids[binding.column_index].IsVirtualColumn();
      if (!bare ||
          !IsFileSqlType(get.returned_types[ids[binding.column_index].GetPrimaryIndex()])) {
        Refuse(column, "a column of another type");
      }
      return true;
    }
    case LogicalOperatorType::LOGICAL_PROJECTION:
      if (binding.table_index != op.Cast<duckdb::LogicalProjection>().table_index ||
          binding.column_index >= op.expressions.size()) {
        Refuse(column, "a plan that lake does not understand");
      }
      return TraceExpression(*op.children[0], *op.expressions[binding.column_index], column);
    case LogicalOperatorType::LOGICAL_FILTER:
    case LogicalOperatorType::LOGICAL_ORDER_BY:
    case LogicalOperatorType::LOGICAL_LIMIT:
    case LogicalOperatorType::LOGICAL_DISTINCT:
      return Trace(*op.children[0], binding, column);
    case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
    case LogicalOperatorType::LOGICAL_ANY_JOIN:
    case LogicalOperatorType::LOGICAL_ASOF_JOIN:
    case LogicalOperatorType::LOGICAL_DELIM_JOIN:
    case LogicalOperatorType::LOGICAL_POSITIONAL_JOIN:
    case LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
      return TraceJoin(op, binding, column);
    case LogicalOperatorType::LOGICAL_UNION: {
      bool proved = true;
      for (auto& child : op.children) proved &= TraceNth(*child, binding.column_index, column);
      return proved;
    }
    case LogicalOperatorType::LOGICAL_MATERIALIZED_CTE:
      return Trace(*op.children[1], binding, column);
    case LogicalOperatorType::LOGICAL_CTE_REF: {
      const auto cte = ctes_.find(op.Cast<duckdb::LogicalCTERef>().cte_index);
      if (cte == ctes_.end()) Refuse(column, "a recursive CTE");
      return TraceNth(*cte->second->children[0], binding.column_index, column);
    }
    case LogicalOperatorType::LOGICAL_EXPRESSION_GET: {
      auto& values = op.Cast<duckdb::LogicalExpressionGet>();
      bool proved = true;
      for (auto& row : values.expressions) {
        proved &= TraceExpression(*op.children[0], *row[binding.column_index], column);
      }
      return proved;
    }
    case LogicalOperatorType::LOGICAL_EMPTY_RESULT:
      return true;
    default:
      Refuse(column, op.GetName());
  }
}

bool FileTracer::TraceExpression(LogicalOperator& op, const duckdb::Expression& expression,
                                 const std::string& column) const {
  switch (expression.GetExpressionClass()) {
    case duckdb::ExpressionClass::BOUND_COLUMN_REF: {
      const auto& reference = expression.Cast<duckdb::BoundColumnRefExpression>();
      if (reference.depth != 0) Refuse(column, "a correlated subquery");
      return Trace(op, reference.binding, column);
    }
    case duckdb::ExpressionClass::BOUND_PARAMETER:
      return false;
    case duckdb::ExpressionClass::BOUND_CONSTANT: {
      const duckdb::Value& value = expression.Cast<duckdb::BoundConstantExpression>().value;
      if (value.IsNull() || IsSupplied(session_, value)) return true;
      Refuse(column, "a literal");
    }
    case duckdb::ExpressionClass::BOUND_CAST: {
      const auto& child = *expression.Cast<duckdb::BoundCastExpression>().child;
      if (child.return_type.id() == duckdb::LogicalTypeId::SQLNULL) return true;
      const bool null_constant =
          child.GetExpressionClass() == duckdb::ExpressionClass::BOUND_CONSTANT &&
          child.Cast<duckdb::BoundConstantExpression>().value.IsNull();
      if (null_constant) return true;
      Refuse(column, "a cast from " + child.return_type.ToString());
    }
    default:
      Refuse(column, "the expression " + expression.ToString());
  }
}

/// The sink's columns of type FILE, each proved or refused. True if all are proved.
bool ProveInsert(const FileTracer& tracer, duckdb::LogicalInsert& insert) {
  bool proved = true;
  for (const auto& column : insert.table.GetColumns().Physical()) {
    if (!ContainsFileSqlType(column.Type())) continue;
    duckdb::idx_t source = column.Physical().index;
    if (!insert.column_index_map.empty()) source = insert.column_index_map[column.Physical()];
    if (source == duckdb::DConstants::INVALID_INDEX) continue;  // Not named: NULL.
    auto& child = *insert.children[0];
    const auto bindings = child.GetColumnBindings();
    proved &= tracer.Trace(child, bindings[source], column.Name());
  }
  return proved;
}

bool ProveCreate(const FileTracer& tracer, duckdb::LogicalCreateTable& create) {
  if (create.children.empty()) return true;
  bool proved = true;
  auto& child = *create.children[0];
  const auto bindings = child.GetColumnBindings();
  for (const auto& column : create.info->Base().columns.Physical()) {
    if (!ContainsFileSqlType(column.Type())) continue;
    proved &= tracer.Trace(child, bindings[column.Physical().index], column.Name());
  }
  return proved;
}

/// The rows that an UPDATE or MERGE changes, as its projection names them.
class ChangedRows {
 public:
  /// `projection` is the sink's input, `address` the column of it that holds the rows' addresses.
  ChangedRows(LogicalOperator& projection, duckdb::idx_t address) : projection_(projection) {
    if (projection.type != LogicalOperatorType::LOGICAL_PROJECTION ||
        address >= projection.expressions.size()) {
      return;
    }
    const auto* reference = AsReference(*projection.expressions[address]);
    if (reference != nullptr) get_ = FindGet(projection, reference->binding.table_index);
  }

  /// True if `expression`, over the projection, is bare column `column` of the row itself.
  bool Keeps(const duckdb::Expression& expression, duckdb::idx_t column) const {
    const auto* outer = AsReference(expression);
    if (get_ == nullptr || outer == nullptr ||
        outer->binding.column_index >= projection_.expressions.size()) {
      return false;
    }
    const auto* inner = AsReference(*projection_.expressions[outer->binding.column_index]);
    if (inner == nullptr || inner->binding.table_index != get_->table_index) return false;
    const auto& ids = get_->GetColumnIds();
    if (inner->binding.column_index >= ids.size()) return false;
    const duckdb::ColumnIndex& id = ids[inner->binding.column_index];
    return !id.IsVirtualColumn() && !id.HasChildren() && id.GetPrimaryIndex() == column;
  }

 private:
  static const duckdb::BoundColumnRefExpression* AsReference(const duckdb::Expression& expression) {
    if (expression.GetExpressionClass() != duckdb::ExpressionClass::BOUND_COLUMN_REF) {
      return nullptr;
    }
    const auto& reference = expression.Cast<duckdb::BoundColumnRefExpression>();
    return reference.depth == 0 ? &reference : nullptr;
  }

  static duckdb::LogicalGet* FindGet(LogicalOperator& op, duckdb::idx_t table_index) {
    if (op.type == LogicalOperatorType::LOGICAL_GET) {
      auto& get = op.Cast<duckdb::LogicalGet>();
      if (get.table_index == table_index) return &get;
    }
    for (auto& child : op.children) {
      if (auto* found = FindGet(*child, table_index)) return found;
    }
    return nullptr;
  }

  LogicalOperator& projection_;
  duckdb::LogicalGet* get_ = nullptr;
};

using Expressions = duckdb::vector<duckdb::unique_ptr<duckdb::Expression>>;

/// Proves the FILE columns that an update assigns, and adds those that it keeps to `kept`.
bool ProveAssignments(const FileTracer& tracer, duckdb::TableCatalogEntry& table,
                      LogicalOperator& input, const ChangedRows& rows,
                      const duckdb::vector<duckdb::PhysicalIndex>& columns,
                      const Expressions& expressions, std::set<int>* kept) {
  bool proved = true;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (rows.Keeps(*expressions[i], columns[i].index)) {
      kept->insert(static_cast<int>(columns[i].index));
      continue;
    }
    const auto& column = table.GetColumns().GetColumn(columns[i]);
    if (!ContainsFileSqlType(column.Type())) continue;
    if (expressions[i]->GetExpressionType() == ExpressionType::VALUE_DEFAULT) continue;  // NULL.
    proved &= tracer.TraceOutput(input, *expressions[i], column.Name());
  }
  return proved;
}

void ProveUpdate(const FileTracer& tracer, ProvedUpdate& update) {
  auto& input = *update.children[0];
  const ChangedRows rows(input, input.expressions.size() - 1);
  update.files_proved = ProveAssignments(tracer, update.table, input, rows, update.columns,
                                         update.expressions, &update.kept);
}

bool ProveMergeInsert(const FileTracer& tracer, ProvedMerge& merge,
                      duckdb::BoundMergeIntoAction& action) {
  bool proved = true;
  for (const auto& column : merge.table.GetColumns().Physical()) {
    if (!ContainsFileSqlType(column.Type())) continue;
    duckdb::idx_t source = column.Physical().index;
    if (!action.column_index_map.empty()) source = action.column_index_map[column.Physical()];
    if (source == duckdb::DConstants::INVALID_INDEX) continue;  // Not named: NULL.
    proved &= tracer.TraceOutput(*merge.children[0], *action.expressions[source], column.Name());
  }
  return proved;
}

void ProveMerge(const FileTracer& tracer, ProvedMerge& merge) {
  const ChangedRows rows(*merge.children[0], merge.row_id_start);
  bool proved = true;
  bool first = true;
  for (auto& [condition, actions] : merge.actions) {
    for (auto& action : actions) {
      if (action->action_type == duckdb::MergeActionType::MERGE_INSERT) {
        proved &= ProveMergeInsert(tracer, merge, *action);
      } else if (action->action_type == duckdb::MergeActionType::MERGE_UPDATE) {
        std::set<int> kept;
        proved &= ProveAssignments(tracer, merge.table, *merge.children[0], rows, action->columns,
                                   action->expressions, &kept);
        if (first) merge.kept = kept;
        std::erase_if(merge.kept, [&](int column) { return !kept.contains(column); });
        first = false;
      }
    }
  }
  merge.files_proved = proved;
}

void ProveSinks(const FileTracer& tracer, duckdb::unique_ptr<LogicalOperator>& node) {
  for (auto& child : node->children) ProveSinks(tracer, child);
  if (node->type == LogicalOperatorType::LOGICAL_INSERT) {
    auto& insert = node->Cast<duckdb::LogicalInsert>();
    if (insert.table.ParentCatalog().GetCatalogType() != "lake" || insert.children.empty()) return;
    if (ProveInsert(tracer, insert)) node = duckdb::make_uniq<ProvedInsert>(insert);
  } else if (node->type == LogicalOperatorType::LOGICAL_CREATE_TABLE) {
    auto& create = node->Cast<duckdb::LogicalCreateTable>();
    if (create.schema.ParentCatalog().GetCatalogType() != "lake") return;
    if (ProveCreate(tracer, create)) node = duckdb::make_uniq<ProvedCreateTable>(create);
  } else if (node->type == LogicalOperatorType::LOGICAL_UPDATE) {
    auto& update = node->Cast<duckdb::LogicalUpdate>();
    if (update.table.ParentCatalog().GetCatalogType() != "lake") return;
    auto proved = duckdb::make_uniq<ProvedUpdate>(update);
    ProveUpdate(tracer, *proved);
    node = std::move(proved);
  } else if (node->type == LogicalOperatorType::LOGICAL_MERGE_INTO) {
    auto& merge = node->Cast<duckdb::LogicalMergeInto>();
    if (merge.table.ParentCatalog().GetCatalogType() != "lake") return;
    auto proved = duckdb::make_uniq<ProvedMerge>(merge);
    ProveMerge(tracer, *proved);
    node = std::move(proved);
  }
}

void CheckProvenance(duckdb::OptimizerExtensionInput& input,
                     duckdb::unique_ptr<LogicalOperator>& plan) {
  // Connections that the engine makes for itself have no session and write nothing.
  const auto session = input.context.registered_state->Get<SessionState>(SessionState::kName);
  if (!session || !plan) return;
  ProveSinks(FileTracer(*session, *plan), plan);
}

/// The scan below `op` whose rows reach it one for one, or null.
duckdb::LogicalGet* ScanBelow(LogicalOperator& op) {
  LogicalOperator* node = &op;
  while (node->type == LogicalOperatorType::LOGICAL_PROJECTION) node = node->children[0].get();
  if (node->type != LogicalOperatorType::LOGICAL_GET) return nullptr;
  auto& get = node->Cast<duckdb::LogicalGet>();
  const bool ours = IsLakeScan(get.function) || get.function.name == "lance_scan";
  return ours && get.table_filters.filters.empty() ? &get : nullptr;
}

void PushLimits(LogicalOperator& op) {
  for (auto& child : op.children) PushLimits(*child);
  if (op.type != LogicalOperatorType::LOGICAL_LIMIT) return;
  auto& limit = op.Cast<duckdb::LogicalLimit>();
  if (limit.limit_val.Type() != duckdb::LimitNodeType::CONSTANT_VALUE) return;
  uint64_t rows = limit.limit_val.GetConstantValue();
  if (limit.offset_val.Type() == duckdb::LimitNodeType::CONSTANT_VALUE) {
    const uint64_t offset = limit.offset_val.GetConstantValue();
    if (offset > std::numeric_limits<uint64_t>::max() - rows) return;
    rows += offset;
  } else if (limit.offset_val.Type() != duckdb::LimitNodeType::UNSET) {
    return;
  }
  if (duckdb::LogicalGet* get = ScanBelow(*op.children[0])) {
    auto& data = get->bind_data->Cast<ScanBindData>();
    data.limit = std::min(data.limit.value_or(rows), rows);
  }
}

void Optimize(duckdb::OptimizerExtensionInput&, duckdb::unique_ptr<LogicalOperator>& plan) {
  if (plan) PushLimits(*plan);
}

}  // namespace

ProvedInsert::ProvedInsert(duckdb::LogicalInsert& bound)
    : duckdb::LogicalInsert(bound.table, bound.table_index) {
  children = std::move(bound.children);
  expressions = std::move(bound.expressions);
  types = std::move(bound.types);
  estimated_cardinality = bound.estimated_cardinality;
  has_estimated_cardinality = bound.has_estimated_cardinality;
  insert_values = std::move(bound.insert_values);
  column_index_map = std::move(bound.column_index_map);
  expected_types = std::move(bound.expected_types);
  return_chunk = bound.return_chunk;
  bound_defaults = std::move(bound.bound_defaults);
  bound_constraints = std::move(bound.bound_constraints);
  on_conflict_info = std::move(bound.on_conflict_info);
}

ProvedCreateTable::ProvedCreateTable(duckdb::LogicalCreateTable& bound)
    : duckdb::LogicalCreateTable(bound.schema, std::move(bound.info)) {
  children = std::move(bound.children);
  expressions = std::move(bound.expressions);
  types = std::move(bound.types);
  estimated_cardinality = bound.estimated_cardinality;
  has_estimated_cardinality = bound.has_estimated_cardinality;
}

ProvedUpdate::ProvedUpdate(duckdb::LogicalUpdate& bound) : duckdb::LogicalUpdate(bound.table) {
  children = std::move(bound.children);
  expressions = std::move(bound.expressions);
  types = std::move(bound.types);
  estimated_cardinality = bound.estimated_cardinality;
  has_estimated_cardinality = bound.has_estimated_cardinality;
  table_index = bound.table_index;
  return_chunk = bound.return_chunk;
  columns = std::move(bound.columns);
  bound_defaults = std::move(bound.bound_defaults);
  bound_constraints = std::move(bound.bound_constraints);
  update_is_del_and_insert = bound.update_is_del_and_insert;
}

ProvedMerge::ProvedMerge(duckdb::LogicalMergeInto& bound) : duckdb::LogicalMergeInto(bound.table) {
  children = std::move(bound.children);
  expressions = std::move(bound.expressions);
  types = std::move(bound.types);
  estimated_cardinality = bound.estimated_cardinality;
  has_estimated_cardinality = bound.has_estimated_cardinality;
  table_index = bound.table_index;
  bound_defaults = std::move(bound.bound_defaults);
  row_id_start = bound.row_id_start;
  source_marker = bound.source_marker;
  bound_constraints = std::move(bound.bound_constraints);
  return_chunk = bound.return_chunk;
  actions = std::move(bound.actions);
}

duckdb::OptimizerExtension MakeLakeOptimizer() {
  duckdb::OptimizerExtension extension;
  extension.pre_optimize_function = CheckProvenance;
  extension.optimize_function = Optimize;
  return extension;
}

}  // namespace lake::query
