// CALL lake_tag(…) and its like: the upkeep of tables from SQL.

#include <utility>

#include <duckdb/catalog/catalog_transaction.hpp>
#include <duckdb/parser/parsed_data/create_table_function_info.hpp>

#include "lake/commit/maintenance.h"
#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/table_functions_internal.h"

namespace lake::query {
namespace {

using duckdb::LogicalType;
using duckdb::Value;

/// What a call was given besides the table.
struct CallArguments {
  /// The second argument.
  Value value;
  /// Named: nothing where it was not given.
  std::map<std::string, Value> named;

  std::string Text() const { return value.GetValue<std::string>(); }
  std::optional<uint64_t> Number(const std::string& name) const {
    const auto found = named.find(name);
    if (found == named.end() || found->second.IsNull()) return std::nullopt;
    return found->second.GetValue<uint64_t>();
  }
  bool Flag(const std::string& name) const {
    const auto found = named.find(name);
    return found != named.end() && !found->second.IsNull() && found->second.GetValue<bool>();
  }
};

using Row = std::vector<Value>;

struct CallFunction {
  const char* name;
  /// The type of the second argument, if there is one.
  std::optional<LogicalType> argument;
  std::vector<std::pair<const char*, LogicalType>> named;
  std::vector<std::pair<const char*, LogicalType>> columns;
  Result<Row> (*run)(const Context& context, commit::Maintenance& maintenance,
                     const commit::OpenTable& table, const CallArguments& arguments);
};

Value Count(uint64_t value) { return Value::UBIGINT(value); }

Result<Row> Tag(const Context& context, commit::Maintenance& maintenance,
                const commit::OpenTable& table, const CallArguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto tag, arguments.Flag("replace")
                                      ? maintenance.UpdateTag(context, table, arguments.Text())
                                      : maintenance.CreateTag(context, table, arguments.Text()));
  return Row{Value(tag.name), Count(tag.target.version)};
}

Result<Row> DropTag(const Context& context, commit::Maintenance& maintenance,
                    const commit::OpenTable& table, const CallArguments& arguments) {
  ARROW_RETURN_NOT_OK(maintenance.DeleteTag(context, table, arguments.Text()));
  return Row{Value(arguments.Text())};
}

Result<Row> Branch(const Context& context, commit::Maintenance& maintenance,
                   const commit::OpenTable& table, const CallArguments& arguments) {
  ARROW_ASSIGN_OR_RAISE(auto branch, maintenance.CreateBranch(context, table, arguments.Text()));
  return Row{Value(branch.name), Count(branch.parent.version)};
}

Result<Row> DropBranch(const Context& context, commit::Maintenance& maintenance,
                       const commit::OpenTable& table, const CallArguments& arguments) {
  ARROW_RETURN_NOT_OK(maintenance.DeleteBranch(context, table, arguments.Text()));
  return Row{Value(arguments.Text())};
}

Result<Row> Restore(const Context& context, commit::Maintenance& maintenance,
                    const commit::OpenTable& table, const CallArguments& arguments) {
  if (arguments.value.GetValue<int64_t>() < 0) {
    return Error(ErrorCode::kInvalidArgument, "not a version number: {}",
                 arguments.value.ToString());
  }
  ARROW_ASSIGN_OR_RAISE(auto outcome,
                        maintenance.Restore(context, table, arguments.value.GetValue<uint64_t>()));
  return Row{Count(outcome.version)};
}

Result<Row> Compact(const Context& context, commit::Maintenance& maintenance,
                    const commit::OpenTable& table, const CallArguments& arguments) {
  table::CompactionOptions options;
  options.target_rows = arguments.Number("target_rows").value_or(options.target_rows);
  ARROW_ASSIGN_OR_RAISE(auto outcome, maintenance.Compact(context, table, options));
  return Row{Count(outcome.version), Count(outcome.fragments_before),
             Count(outcome.fragments_after), Count(outcome.rows)};
}

Result<Row> CleanUp(const Context& context, commit::Maintenance& maintenance,
                    const commit::OpenTable& table, const CallArguments& arguments) {
  table::CleanupOptions options;
  options.dry_run = arguments.Flag("dry_run");
  options.keep_versions = arguments.Number("keep_versions").value_or(options.keep_versions);
  if (const auto hours = arguments.Number("older_than_hours")) {
    constexpr uint64_t kMostHours = 24 * 365 * 100;
    if (*hours > kMostHours) {
      return Error(ErrorCode::kInvalidArgument, "older_than_hours is more than 100 years: {}",
                   *hours);
    }
    options.older_than_nanos = static_cast<int64_t>(*hours) * 3600 * 1'000'000'000;
  }
  ARROW_ASSIGN_OR_RAISE(auto report, maintenance.CleanUp(context, table, std::move(options)));
  const table::FileCount removed = report.total_removed();
  return Row{Count(report.num_versions_removed()), Count(removed.files), Count(removed.bytes),
             Value::BOOLEAN(report.dry_run)};
}

const std::vector<CallFunction>& CallFunctions() {
  static const std::vector<CallFunction> functions = {
      {"lake_tag",
       LogicalType::VARCHAR,
       {{"version", LogicalType::UBIGINT}, {"replace", LogicalType::BOOLEAN}},
       {{"tag", LogicalType::VARCHAR}, {"version", LogicalType::UBIGINT}},
       Tag},
      {"lake_drop_tag", LogicalType::VARCHAR, {}, {{"tag", LogicalType::VARCHAR}}, DropTag},
      {"lake_branch",
       LogicalType::VARCHAR,
       {{"version", LogicalType::UBIGINT}},
       {{"branch", LogicalType::VARCHAR}, {"version", LogicalType::UBIGINT}},
       Branch},
      {"lake_drop_branch",
       LogicalType::VARCHAR,
       {},
       {{"branch", LogicalType::VARCHAR}},
       DropBranch},
      {"lake_restore", LogicalType::BIGINT, {}, {{"version", LogicalType::UBIGINT}}, Restore},
      {"lake_compact",
       std::nullopt,
       {{"target_rows", LogicalType::UBIGINT}},
       {{"version", LogicalType::UBIGINT},
        {"fragments_before", LogicalType::UBIGINT},
        {"fragments_after", LogicalType::UBIGINT},
        {"rows_written", LogicalType::UBIGINT}},
       Compact},
      {"lake_cleanup",
       std::nullopt,
       {{"older_than_hours", LogicalType::UBIGINT},
        {"keep_versions", LogicalType::UBIGINT},
        {"dry_run", LogicalType::BOOLEAN}},
       {{"versions_removed", LogicalType::UBIGINT},
        {"files_removed", LogicalType::UBIGINT},
        {"bytes_removed", LogicalType::UBIGINT},
        {"dry_run", LogicalType::BOOLEAN}},
       CleanUp},
  };
  return functions;
}

struct CallInfo : public duckdb::TableFunctionInfo {
  std::shared_ptr<commit::Lakehouse> lakehouse;
  const CallFunction* function = nullptr;
};

struct CallBindData : public duckdb::TableFunctionData {
  std::shared_ptr<commit::Lakehouse> lakehouse;
  const CallFunction* function = nullptr;
  catalog::QualifiedName table;
  CallArguments arguments;
};

struct CallState : public duckdb::GlobalTableFunctionState {
  bool done = false;
};

duckdb::unique_ptr<duckdb::FunctionData> Bind(duckdb::ClientContext&,
                                              duckdb::TableFunctionBindInput& input,
                                              duckdb::vector<LogicalType>& types,
                                              duckdb::vector<duckdb::string>& names) {
  auto& info = input.info->Cast<CallInfo>();
  auto data = duckdb::make_uniq<CallBindData>();
  data->lakehouse = info.lakehouse;
  data->function = info.function;
  data->table = ValueOrThrow(ParseTableName(info.function->name, input.inputs[0]));
  if (input.inputs.size() > 1) {
    if (input.inputs[1].IsNull()) {
      ThrowStatus(Error(ErrorCode::kInvalidArgument, "{} takes no NULL", info.function->name));
    }
    data->arguments.value = input.inputs[1];
  }
  for (const auto& [name, value] : input.named_parameters) {
    data->arguments.named[duckdb::StringUtil::Lower(name)] = value;
  }
  for (const auto& [name, type] : info.function->columns) {
    names.emplace_back(name);
    types.push_back(type);
  }
  return data;
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> Init(duckdb::ClientContext&,
                                                          duckdb::TableFunctionInitInput&) {
  return duckdb::make_uniq<CallState>();
}

void Run(duckdb::ClientContext& context, duckdb::TableFunctionInput& input,
         duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<CallState>();
  if (std::exchange(state.done, true)) return;
  const auto& data = input.bind_data->Cast<CallBindData>();
  RefuseInTransaction(context, data.function->name);
  SessionState& session = SessionState::Of(context);
  table::OpenOptions options;
  options.version = data.arguments.Number("version");
  const auto table = ValueOrThrow(data.lakehouse->OpenByName(
      session.context, session.principal, data.table, catalog::NameMatch::kSql, options));
  const Row row = ValueOrThrow(
      data.function->run(session.context, data.lakehouse->maintenance(), *table, data.arguments));
  output.SetCardinality(1);
  for (size_t i = 0; i < row.size(); ++i) output.SetValue(i, 0, row[i]);
}

}  // namespace

void RegisterMaintenanceCalls(duckdb::DatabaseInstance& database,
                              const std::shared_ptr<commit::Lakehouse>& lakehouse) {
  auto& system = duckdb::Catalog::GetSystemCatalog(database);
  const auto transaction = duckdb::CatalogTransaction::GetSystemTransaction(database);
  for (const CallFunction& call : CallFunctions()) {
    duckdb::vector<LogicalType> arguments = {LogicalType::VARCHAR};
    if (call.argument) arguments.push_back(*call.argument);
    duckdb::TableFunction function(call.name, std::move(arguments), Run, Bind, Init);
    for (const auto& [name, type] : call.named) function.named_parameters[name] = type;
    auto info = duckdb::make_shared_ptr<CallInfo>();
    info->lakehouse = lakehouse;
    info->function = &call;
    function.function_info = std::move(info);
    duckdb::CreateTableFunctionInfo create(std::move(function));
    system.CreateTableFunction(transaction, create);
  }
}

}  // namespace lake::query
