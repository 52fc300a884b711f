// CALL lake_tag(…) and its like: the upkeep of tables from SQL.

#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

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
  /// The second argument; null where there is none.
  Value value;
  /// Named: nothing where it was not given.
  std::map<std::string, Value> named;
  /// Of the session, for commits.
  commit::OperationKey operation;

  std::string Text() const { return value.GetValue<std::string>(); }
  const Value* Find(const std::string& name) const {
    const auto found = named.find(name);
    return found == named.end() || found->second.IsNull() ? nullptr : &found->second;
  }
  std::optional<std::string> Name(const std::string& name) const {
    const Value* found = Find(name);
    return found == nullptr ? std::nullopt : std::optional(found->GetValue<std::string>());
  }
  std::optional<uint64_t> Number(const std::string& name) const {
    const Value* found = Find(name);
    return found == nullptr ? std::nullopt : std::optional(found->GetValue<uint64_t>());
  }
  bool Flag(const std::string& name, bool otherwise = false) const {
    const Value* found = Find(name);
    return found == nullptr ? otherwise : found->GetValue<bool>();
  }
};

using Row = std::vector<Value>;
using Columns = std::vector<std::pair<const char*, LogicalType>>;
using OpenTable = std::shared_ptr<const commit::OpenTable>;

/// What a call works with. The table is open at the version that the arguments name.
struct Call {
  const Context& context;
  commit::Maintenance& maintenance;
  const commit::OpenTable& table;
  const CallArguments& arguments;
  /// The newest version of the table's line.
  std::function<Result<OpenTable>()> open_newest;
};

struct CallFunction {
  const char* name;
  /// The type of the second argument, if there is one; it may be left out if `optional_argument`.
  std::optional<LogicalType> argument;
  bool optional_argument;
  Columns named;
  Columns columns;
  Result<Row> (*run)(const Call& call);
};

Result<Row> Tag(const Call& call) {
  const std::string name = call.arguments.Text();
  Result<table::Tag> tag =
      call.arguments.Flag("replace")
          ? call.maintenance.UpdateTag(call.context, call.table, name)
          : Result<table::Tag>(Error(ErrorCode::kNotFound, "no tag to replace: {}", name));
  if (!tag.ok() && CodeOf(tag.status()) == ErrorCode::kNotFound) {
    tag = call.maintenance.CreateTag(call.context, call.table, name);
  }
  ARROW_RETURN_NOT_OK(tag);
  return Row{Value(tag->name), OptionalText(tag->target.branch), CountValue(tag->target.version)};
}

Result<Row> DropTag(const Call& call) {
  ARROW_RETURN_NOT_OK(call.maintenance.DeleteTag(call.context, call.table, call.arguments.Text()));
  return Row{call.arguments.value};
}

Result<Row> Branch(const Call& call) {
  ARROW_ASSIGN_OR_RAISE(
      auto branch, call.maintenance.CreateBranch(call.context, call.table, call.arguments.Text()));
  return Row{Value(branch.name), OptionalText(branch.parent.branch),
             CountValue(branch.parent.version)};
}

Result<Row> DropBranch(const Call& call) {
  ARROW_RETURN_NOT_OK(
      call.maintenance.DeleteBranch(call.context, call.table, call.arguments.Text()));
  return Row{call.arguments.value};
}

Result<Row> Restore(const Call& call) {
  const uint64_t version = call.table.dataset->manifest().version();
  ARROW_ASSIGN_OR_RAISE(OpenTable newest, call.open_newest());
  ARROW_ASSIGN_OR_RAISE(auto outcome, call.maintenance.Restore(call.context, *newest, version,
                                                               call.arguments.operation));
  return Row{CountValue(version), CountValue(outcome.version), CountValue(outcome.num_rows)};
}

/// What a compaction would do.
Result<Row> PlanCompaction(const Call& call, const table::CompactionOptions& options) {
  ARROW_ASSIGN_OR_RAISE(auto plan,
                        table::PlanCompaction(call.context, *call.table.dataset, options));
  const size_t before = call.table.dataset->manifest().fragments().size();
  size_t after = before;
  uint64_t rows = 0;
  uint64_t deleted = 0;
  for (const table::CompactionGroup& group : plan.groups) {
    const uint64_t left = group.physical_rows - group.deleted_rows;
    after -= group.fragments.size();
    after += table::NumOutputs(left, options.target_rows);
    rows += left;
    deleted += group.deleted_rows;
  }
  return Row{CountValue(plan.read_version),
             Value::BOOLEAN(!plan.groups.empty()),
             CountValue(before),
             CountValue(after),
             CountValue(0),
             CountValue(rows),
             CountValue(deleted),
             CountValue(plan.num_bytes()),
             Value(LogicalType::UBIGINT),
             Value::BOOLEAN(true)};
}

Result<Row> Compact(const Call& call) {
  const CallArguments& arguments = call.arguments;
  table::CompactionOptions options;
  options.target_rows = arguments.Number("target_rows").value_or(options.target_rows);
  options.max_bytes = arguments.Number("max_bytes");
  options.materialize_deletions = arguments.Flag("materialize_deletions", true);
  options.copy_pages = arguments.Flag("copy_pages", true);
  if (const Value* threshold = arguments.Find("deletion_threshold")) {
    options.deletion_threshold = threshold->GetValue<double>();
  }
  if (arguments.Flag("dry_run")) return PlanCompaction(call, options);
  ARROW_ASSIGN_OR_RAISE(auto outcome, call.maintenance.Compact(call.context, call.table, options,
                                                               {}, arguments.operation));
  return Row{CountValue(outcome.version),          Value::BOOLEAN(outcome.changed),
             CountValue(outcome.fragments_before), CountValue(outcome.fragments_after),
             CountValue(outcome.groups_given_up),  CountValue(outcome.rows),
             CountValue(outcome.deleted_rows),     CountValue(outcome.bytes_before),
             CountValue(outcome.bytes_after),      Value::BOOLEAN(false)};
}

/// A duration of at most 100 years, in nanoseconds. Months have no length of their own.
Status ReadDuration(const CallArguments& arguments, const char* name, int64_t* nanos) {
  const Value* value = arguments.Find(name);
  if (value == nullptr) return Status::OK();
  constexpr int64_t kMostDays = int64_t{100} * 365;
  constexpr int64_t kDayMicros = int64_t{24} * 3600 * 1'000'000;
  const auto interval = value->GetValue<duckdb::interval_t>();
  if (interval.months != 0) {
    return Error(ErrorCode::kInvalidArgument,
                 "a duration in months or years has no fixed length; say it in days: {} => {}",
                 name, value->ToString());
  }
  if (interval.days < 0 || interval.micros < 0 || interval.days > kMostDays ||
      interval.micros > kMostDays * kDayMicros) {
    return Error(ErrorCode::kInvalidArgument,
                 "a duration is not negative and at most 100 years: {} => {}", name,
                 value->ToString());
  }
  // At most 200 years: fits.
  *nanos = (interval.days * kDayMicros + interval.micros) * 1000;
  return Status::OK();
}

const LogicalType& FateType() {
  static const LogicalType type = LogicalType::STRUCT({{"branch", LogicalType::VARCHAR},
                                                       {"version", LogicalType::UBIGINT},
                                                       {"committed_at", LogicalType::TIMESTAMP_TZ},
                                                       {"removed", LogicalType::BOOLEAN},
                                                       {"reason", LogicalType::VARCHAR}});
  return type;
}

Value Fates(const std::vector<table::VersionFate>& fates) {
  duckdb::vector<Value> values;
  for (const table::VersionFate& fate : fates) {
    const Value committed = fate.timestamp_nanos == 0 ? Value(LogicalType::TIMESTAMP_TZ)
                                                      : InstantValue(fate.timestamp_nanos);
    values.push_back(Value::STRUCT(
        FateType(), {OptionalText(fate.version.branch), CountValue(fate.version.version), committed,
                     Value::BOOLEAN(fate.removed),
                     fate.removed ? Value(LogicalType::VARCHAR) : Value(fate.reason)}));
  }
  return Value::LIST(FateType(), std::move(values));
}

Result<Row> CleanUp(const Call& call) {
  const CallArguments& arguments = call.arguments;
  table::CleanupOptions options;
  options.dry_run = arguments.Flag("dry_run");
  options.keep_versions = arguments.Number("keep_versions").value_or(options.keep_versions);
  options.delete_unverified = arguments.Flag("delete_unverified");
  ARROW_RETURN_NOT_OK(ReadDuration(arguments, "older_than", &options.older_than_nanos));
  ARROW_RETURN_NOT_OK(ReadDuration(arguments, "superseded_for", &options.superseded_for_nanos));
  ARROW_RETURN_NOT_OK(ReadDuration(arguments, "replay_retention", &options.replay_retention_nanos));
  ARROW_ASSIGN_OR_RAISE(auto report,
                        call.maintenance.CleanUp(call.context, call.table, std::move(options)));
  const table::FileCount removed = report.total_removed();
  const uint64_t gone = report.num_versions_removed();
  return Row{CountValue(gone),
             CountValue(report.versions.size() - gone),
             CountValue(removed.files),
             CountValue(removed.bytes),
             CountValue(report.kept_unverified.files),
             CountValue(report.bytes_before),
             CountValue(report.bytes_after),
             Value::BOOLEAN(report.dry_run),
             Fates(report.versions)};
}

const LogicalType kText = LogicalType::VARCHAR;
const LogicalType kNumber = LogicalType::UBIGINT;
const LogicalType kFlag = LogicalType::BOOLEAN;

const std::vector<CallFunction>& CallFunctions() {
  static const std::vector<CallFunction> functions = {
      {"lake_tag",
       kText,
       false,
       {{"version", kNumber}, {"tag", kText}, {"branch", kText}, {"replace", kFlag}},
       {{"tag", kText}, {"branch", kText}, {"version", kNumber}},
       Tag},
      {"lake_drop_tag", kText, false, {}, {{"tag", kText}}, DropTag},
      {"lake_branch",
       kText,
       false,
       {{"version", kNumber}, {"tag", kText}, {"branch", kText}},
       {{"branch", kText}, {"parent_branch", kText}, {"parent_version", kNumber}},
       Branch},
      {"lake_drop_branch", kText, false, {}, {{"branch", kText}}, DropBranch},
      {"lake_restore",
       LogicalType::BIGINT,
       true,
       {{"version", kNumber}, {"tag", kText}, {"branch", kText}},
       {{"restored_version", kNumber}, {"version", kNumber}, {"num_rows", kNumber}},
       Restore},
      {"lake_compact",
       std::nullopt,
       false,
       {{"target_rows", kNumber},
        {"max_bytes", kNumber},
        {"deletion_threshold", LogicalType::DOUBLE},
        {"materialize_deletions", kFlag},
        {"copy_pages", kFlag},
        {"branch", kText},
        {"dry_run", kFlag}},
       {{"version", kNumber},
        {"changed", kFlag},
        {"fragments_before", kNumber},
        {"fragments_after", kNumber},
        {"groups_given_up", kNumber},
        {"rows_written", kNumber},
        {"deleted_rows", kNumber},
        {"bytes_before", kNumber},
        {"bytes_after", kNumber},
        {"dry_run", kFlag}},
       Compact},
      {"lake_cleanup",
       std::nullopt,
       false,
       {{"older_than", LogicalType::INTERVAL},
        {"superseded_for", LogicalType::INTERVAL},
        {"replay_retention", LogicalType::INTERVAL},
        {"keep_versions", kNumber},
        {"delete_unverified", kFlag},
        {"dry_run", kFlag}},
       {{"versions_removed", kNumber},
        {"versions_kept", kNumber},
        {"files_removed", kNumber},
        {"bytes_removed", kNumber},
        {"files_unverified", kNumber},
        {"bytes_before", kNumber},
        {"bytes_after", kNumber},
        {"dry_run", kFlag},
        {"versions", LogicalType::LIST(FateType())}},
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

/// Which version of the table the arguments mean.
Result<table::OpenOptions> SelectionOf(const CallBindData& data) {
  table::OpenOptions options;
  options.version = data.arguments.Number("version");
  options.tag = data.arguments.Name("tag");
  options.branch = data.arguments.Name("branch");
  if (options.branch == "main") options.branch.reset();
  if (!data.function->optional_argument) return options;
  // lake_restore: the version by place or by name.
  if (!data.arguments.value.IsNull()) {
    const auto version = data.arguments.value.GetValue<int64_t>();
    if (version < 0 || options.version) {
      return Error(ErrorCode::kInvalidArgument, "{} takes one version, not {}", data.function->name,
                   version);
    }
    options.version = static_cast<uint64_t>(version);
  }
  if (!options.version && !options.tag) {
    return Error(ErrorCode::kInvalidArgument, "{} takes a version or a tag", data.function->name);
  }
  return options;
}

void Run(duckdb::ClientContext& context, duckdb::TableFunctionInput& input,
         duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<CallState>();
  if (std::exchange(state.done, true)) return;
  const auto& data = input.bind_data->Cast<CallBindData>();
  RefuseInTransaction(context, data.function->name);
  SessionState& session = SessionState::Of(context);
  CallArguments arguments = data.arguments;
  arguments.operation = std::exchange(session.operation, {});
  auto open = [&](const table::OpenOptions& options) {
    return data.lakehouse->OpenByName(session.context, session.principal, data.table,
                                      catalog::NameMatch::kSql, options);
  };
  const OpenTable table = ValueOrThrow(open(ValueOrThrow(SelectionOf(data))));
  const Call call{session.context, data.lakehouse->maintenance(), *table, arguments, [&] {
                    table::OpenOptions newest;
                    newest.branch = table->dataset->branch();
                    return open(newest);
                  }};
  const Row row = ValueOrThrow(data.function->run(call));
  output.SetCardinality(1);
  for (size_t i = 0; i < row.size(); ++i) output.SetValue(i, 0, row[i]);
}

}  // namespace

void RegisterMaintenanceCalls(duckdb::DatabaseInstance& database,
                              const std::shared_ptr<commit::Lakehouse>& lakehouse) {
  auto& system = duckdb::Catalog::GetSystemCatalog(database);
  const auto transaction = duckdb::CatalogTransaction::GetSystemTransaction(database);
  for (const CallFunction& call : CallFunctions()) {
    auto info = duckdb::make_shared_ptr<CallInfo>();
    info->lakehouse = lakehouse;
    info->function = &call;
    duckdb::TableFunctionSet forms(call.name);
    auto add = [&](duckdb::vector<LogicalType> arguments) {
      duckdb::TableFunction function(std::move(arguments), Run, Bind, Init);
      for (const auto& [name, type] : call.named) function.named_parameters[name] = type;
      function.function_info = info;
      forms.AddFunction(std::move(function));
    };
    if (call.argument) add({LogicalType::VARCHAR, *call.argument});
    if (!call.argument || call.optional_argument) add({LogicalType::VARCHAR});
    duckdb::CreateTableFunctionInfo create(std::move(forms));
    system.CreateTableFunction(transaction, create);
  }
}

}  // namespace lake::query
