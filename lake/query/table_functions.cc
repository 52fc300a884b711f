// Table functions that tell of a table's versions, files and changes.

#include <atomic>

#include <arrow/api.h>
#include <duckdb/catalog/catalog_transaction.hpp>
#include <duckdb/common/arrow/arrow_wrapper.hpp>
#include <duckdb/parser/parsed_data/create_table_function_info.hpp>
#include <duckdb/parser/qualified_name.hpp>

#include "lake/query/duckdb_error_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/table_functions_internal.h"
#include "lake/query/types_internal.h"
#include "lake/table/change_feed.h"
#include "lake/table/inspect.h"
#include "lake/table/refs.h"

namespace lake::query {
namespace {

using duckdb::LogicalType;
using duckdb::Value;
using Row = std::vector<Value>;
using OpenTable = std::shared_ptr<const commit::OpenTable>;

/// A function of a table's name whose rows are few: they are made at once.
struct ListFunction {
  const char* name;
  std::vector<std::pair<const char*, LogicalType>> columns;
  Result<std::vector<Row>> (*rows)(const Context& context, const OpenTable& table);
};

Value OptionalInstant(const std::optional<int64_t>& nanos) {
  return nanos ? InstantValue(*nanos) : Value(LogicalType::TIMESTAMP_TZ);
}

Result<std::vector<Row>> Versions(const Context& context, const OpenTable& table) {
  ARROW_ASSIGN_OR_RAISE(auto versions, table->dataset->Versions(context));
  std::vector<Row> rows;
  for (const table::VersionInfo& version : versions) {
    rows.push_back({CountValue(version.version), InstantValue(version.timestamp_nanos),
                    Value(version.operation), CountValue(version.num_rows)});
  }
  return rows;
}

Result<std::vector<Row>> Fragments(const Context&, const OpenTable& table) {
  std::vector<Row> rows;
  for (const table::Fragment& fragment : table->dataset->manifest().fragments()) {
    uint64_t bytes = 0;
    for (const table::DataFile& file : fragment.files) bytes += file.size_bytes;
    const uint64_t deleted = fragment.deletion_file ? fragment.deletion_file->num_deleted_rows : 0;
    rows.push_back({CountValue(fragment.id), CountValue(fragment.physical_rows),
                    CountValue(deleted), CountValue(fragment.files.size()), CountValue(bytes)});
  }
  return rows;
}

/// The names of the top-level columns that `ids` belong to.
void AddNames(const format::Field& field, const std::vector<int32_t>& ids, bool* found) {
  *found |= std::find(ids.begin(), ids.end(), field.id) != ids.end();
  for (const format::Field& child : field.children) AddNames(child, ids, found);
}

Result<std::vector<Row>> Files(const Context&, const OpenTable& table) {
  std::vector<Row> rows;
  const table::Manifest& manifest = table->dataset->manifest();
  for (const table::Fragment& fragment : manifest.fragments()) {
    for (const table::DataFile& file : fragment.files) {
      duckdb::vector<Value> columns;
      for (const format::Field& field : manifest.schema().fields) {
        bool found = false;
        AddNames(field, file.field_ids, &found);
        if (found) columns.emplace_back(field.name);
      }
      rows.push_back(
          {CountValue(fragment.id), Value("data/" + file.path), Value(file.version.ToString()),
           file.size_bytes == 0 ? Value(LogicalType::UBIGINT) : CountValue(file.size_bytes),
           Value::LIST(LogicalType::VARCHAR, std::move(columns))});
    }
  }
  return rows;
}

Result<std::vector<Row>> Transactions(const Context& context, const OpenTable& table) {
  ARROW_ASSIGN_OR_RAISE(auto versions, table->dataset->Versions(context));
  std::vector<Row> rows;
  for (const table::VersionInfo& version : versions) {
    Result<table::ManifestReport> report = table::DescribeVersion(
        context, table->dataset->store().get(), version.version, table->dataset->naming());
    if (!report.ok()) {
      // A clean-up took it since the versions were listed.
      if (CodeOf(report.status()) == ErrorCode::kNotFound) continue;
      return report.status();
    }
    Row row = {CountValue(version.version), InstantValue(version.timestamp_nanos)};
    if (report->transaction) {
      const table::TransactionReport& transaction = *report->transaction;
      duckdb::vector<Value> keys;
      duckdb::vector<Value> values;
      for (const auto& [key, value] : transaction.properties) {
        keys.emplace_back(key);
        values.emplace_back(value);
      }
      row.insert(row.end(), {Value(transaction.operation), Value(transaction.uuid),
                             CountValue(transaction.read_version),
                             Value::MAP(LogicalType::VARCHAR, LogicalType::VARCHAR, std::move(keys),
                                        std::move(values))});
    } else {
      row.insert(row.end(), {Value(version.operation), Value(LogicalType::VARCHAR),
                             Value(LogicalType::UBIGINT),
                             Value(LogicalType::MAP(LogicalType::VARCHAR, LogicalType::VARCHAR))});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<std::vector<Row>> Tags(const Context& context, const OpenTable& table) {
  ARROW_ASSIGN_OR_RAISE(auto tags, table::ListTags(context, table->dataset->root_store().get()));
  std::vector<Row> rows;
  for (const table::Tag& tag : tags) {
    rows.push_back({Value(tag.name), OptionalText(tag.target.branch),
                    CountValue(tag.target.version), OptionalInstant(tag.created_nanos),
                    OptionalInstant(tag.updated_nanos)});
  }
  return rows;
}

Result<std::vector<Row>> Branches(const Context& context, const OpenTable& table) {
  ARROW_ASSIGN_OR_RAISE(auto branches,
                        table::ListBranches(context, table->dataset->root_store().get()));
  std::vector<Row> rows;
  for (const table::Branch& branch : branches) {
    rows.push_back({Value(branch.name), OptionalText(branch.parent.branch),
                    CountValue(branch.parent.version), InstantValue(branch.created_nanos)});
  }
  return rows;
}

const std::vector<ListFunction>& ListFunctions() {
  static const std::vector<ListFunction> functions = {
      {"lake_versions",
       {{"version", LogicalType::UBIGINT},
        {"committed_at", LogicalType::TIMESTAMP_TZ},
        {"operation", LogicalType::VARCHAR},
        {"num_rows", LogicalType::UBIGINT}},
       Versions},
      {"lake_fragments",
       {{"fragment_id", LogicalType::UBIGINT},
        {"physical_rows", LogicalType::UBIGINT},
        {"deleted_rows", LogicalType::UBIGINT},
        {"num_files", LogicalType::UBIGINT},
        {"size_bytes", LogicalType::UBIGINT}},
       Fragments},
      {"lake_files",
       {{"fragment_id", LogicalType::UBIGINT},
        {"path", LogicalType::VARCHAR},
        {"file_version", LogicalType::VARCHAR},
        {"size_bytes", LogicalType::UBIGINT},
        {"columns", LogicalType::LIST(LogicalType::VARCHAR)}},
       Files},
      {"lake_transactions",
       {{"version", LogicalType::UBIGINT},
        {"committed_at", LogicalType::TIMESTAMP_TZ},
        {"operation", LogicalType::VARCHAR},
        {"uuid", LogicalType::VARCHAR},
        {"read_version", LogicalType::UBIGINT},
        {"properties", LogicalType::MAP(LogicalType::VARCHAR, LogicalType::VARCHAR)}},
       Transactions},
      {"lake_tags",
       {{"tag", LogicalType::VARCHAR},
        {"branch", LogicalType::VARCHAR},
        {"version", LogicalType::UBIGINT},
        {"created_at", LogicalType::TIMESTAMP_TZ},
        {"updated_at", LogicalType::TIMESTAMP_TZ}},
       Tags},
      {"lake_branches",
       {{"branch", LogicalType::VARCHAR},
        {"parent_branch", LogicalType::VARCHAR},
        {"parent_version", LogicalType::UBIGINT},
        {"created_at", LogicalType::TIMESTAMP_TZ}},
       Branches},
  };
  return functions;
}

struct FunctionInfo : public duckdb::TableFunctionInfo {
  std::shared_ptr<commit::Lakehouse> lakehouse;
  const ListFunction* list = nullptr;
};

OpenTable OpenArgument(duckdb::ClientContext& context, commit::Lakehouse& lakehouse,
                       const std::string& function, const Value& argument) {
  SessionState& session = SessionState::Of(context);
  const auto name = ValueOrThrow(ParseTableName(function, argument));
  return ValueOrThrow(
      lakehouse.OpenByName(session.context, session.principal, name, catalog::NameMatch::kSql));
}

struct ListBindData : public duckdb::TableFunctionData {
  const ListFunction* function = nullptr;
  OpenTable table;
};

struct ListState : public duckdb::GlobalTableFunctionState {
  std::vector<Row> rows;
  size_t next = 0;
};

duckdb::unique_ptr<duckdb::FunctionData> BindList(duckdb::ClientContext& context,
                                                  duckdb::TableFunctionBindInput& input,
                                                  duckdb::vector<LogicalType>& types,
                                                  duckdb::vector<duckdb::string>& names) {
  auto& info = input.info->Cast<FunctionInfo>();
  auto data = duckdb::make_uniq<ListBindData>();
  data->function = info.list;
  data->table = OpenArgument(context, *info.lakehouse, info.list->name, input.inputs[0]);
  for (const auto& [name, type] : info.list->columns) {
    names.emplace_back(name);
    types.push_back(type);
  }
  return data;
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitList(
    duckdb::ClientContext& context, duckdb::TableFunctionInitInput& input) {
  const auto& data = input.bind_data->Cast<ListBindData>();
  auto state = duckdb::make_uniq<ListState>();
  state->rows = ValueOrThrow(data.function->rows(SessionState::Of(context).context, data.table));
  return state;
}

void List(duckdb::ClientContext&, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  auto& state = input.global_state->Cast<ListState>();
  duckdb::idx_t count = 0;
  for (; count < STANDARD_VECTOR_SIZE && state.next < state.rows.size(); ++count, ++state.next) {
    const Row& row = state.rows[state.next];
    for (size_t i = 0; i < row.size(); ++i) output.SetValue(i, count, row[i]);
  }
  output.SetCardinality(count);
}

struct ChangesBindData : public duckdb::TableFunctionData {
  std::shared_ptr<table::ChangeFeed> feed;
  std::shared_ptr<const SqlTable> sql;
};

struct ChangesState : public duckdb::GlobalTableFunctionState {
  std::atomic<size_t> next{0};
  size_t pieces = 0;
  duckdb::idx_t MaxThreads() const override { return pieces == 0 ? 1 : pieces; }
};

struct ChangesLocalState : public duckdb::LocalTableFunctionState {
  explicit ChangesLocalState(duckdb::ClientContext& context)
      : arrow(duckdb::make_uniq<duckdb::ArrowArrayWrapper>(), context) {}
  duckdb::ArrowScanLocalState arrow;
  int64_t rows = 0;
};

uint64_t VersionArgument(const Value& value) {
  if (value.IsNull() || value.GetValue<int64_t>() < 0) {
    ThrowStatus(Error(ErrorCode::kInvalidArgument, "lake_changes takes versions, not {}",
                      value.ToString()));
  }
  return static_cast<uint64_t>(value.GetValue<int64_t>());
}

duckdb::unique_ptr<duckdb::FunctionData> BindChanges(duckdb::ClientContext& context,
                                                     duckdb::TableFunctionBindInput& input,
                                                     duckdb::vector<LogicalType>& types,
                                                     duckdb::vector<duckdb::string>& names) {
  auto& info = input.info->Cast<FunctionInfo>();
  const OpenTable table = OpenArgument(context, *info.lakehouse, "lake_changes", input.inputs[0]);
  auto data = duckdb::make_uniq<ChangesBindData>();
  data->feed = ValueOrThrow(
      table::ChangeFeed::Open(SessionState::Of(context).context, *table->dataset,
                              VersionArgument(input.inputs[1]), VersionArgument(input.inputs[2])));
  data->sql =
      ValueOrThrow(SqlTableFromArrow(context, table->entry.name.ToString(), *data->feed->schema()));
  for (const SqlColumn& column : data->sql->columns) {
    types.push_back(column.type);
    names.push_back(column.name);
  }
  return data;
}

duckdb::unique_ptr<duckdb::GlobalTableFunctionState> InitChanges(
    duckdb::ClientContext&, duckdb::TableFunctionInitInput& input) {
  auto state = duckdb::make_uniq<ChangesState>();
  state->pieces = input.bind_data->Cast<ChangesBindData>().feed->num_pieces();
  return state;
}

duckdb::unique_ptr<duckdb::LocalTableFunctionState> InitChangesLocal(
    duckdb::ExecutionContext& context, duckdb::TableFunctionInitInput&,
    duckdb::GlobalTableFunctionState*) {
  return duckdb::make_uniq<ChangesLocalState>(context.client);
}

void TakePiece(const SqlTable& sql, std::shared_ptr<arrow::RecordBatch> batch,
               ChangesLocalState* local) {
  for (size_t i = 0; i < sql.columns.size(); ++i) {
    ThrowIfError(ShowColumn(sql.columns[i], static_cast<int>(i), &batch));
  }
  auto wrapper = duckdb::make_shared_ptr<duckdb::ArrowArrayWrapper>();
  ThrowIfError(arrow::ExportRecordBatch(*batch, &wrapper->arrow_array));
  local->arrow.Reset();
  local->arrow.chunk = std::move(wrapper);
  local->rows = batch->num_rows();
}

void Changes(duckdb::ClientContext& context, duckdb::TableFunctionInput& input,
             duckdb::DataChunk& output) {
  const auto& data = input.bind_data->Cast<ChangesBindData>();
  auto& global = input.global_state->Cast<ChangesState>();
  auto& local = input.local_state->Cast<ChangesLocalState>();
  while (local.arrow.chunk_offset >= static_cast<duckdb::idx_t>(local.rows)) {
    const size_t piece = global.next.fetch_add(1);
    if (piece >= global.pieces) return;
    auto batch = ValueOrThrow(data.feed->Read(SessionState::Of(context).context, piece));
    if (batch == nullptr || batch->num_rows() == 0) continue;
    TakePiece(*data.sql, std::move(batch), &local);
  }
  output.SetCardinality(std::min<duckdb::idx_t>(
      STANDARD_VECTOR_SIZE, static_cast<duckdb::idx_t>(local.rows) - local.arrow.chunk_offset));
  duckdb::ArrowTableFunction::ArrowToDuckDB(local.arrow, data.sql->conversion.GetColumns(), output,
                                            0);
  local.arrow.chunk_offset += output.size();
}

}  // namespace

Value InstantValue(int64_t nanos) {
  return Value::TIMESTAMPTZ(duckdb::timestamp_tz_t(nanos / 1000 - (nanos % 1000 < 0 ? 1 : 0)));
}

Result<catalog::QualifiedName> ParseTableName(const std::string& function, const Value& value) {
  if (value.IsNull()) {
    return Error(ErrorCode::kInvalidArgument, "{} takes the name of a table, not NULL", function);
  }
  const std::string text = value.GetValue<std::string>();
  duckdb::QualifiedName parsed;
  try {
    parsed = duckdb::QualifiedName::Parse(text);
  } catch (const std::exception& exception) {
    return WithContext(StatusFromDuckDb(duckdb::ErrorData(exception)), "not a table name");
  }
  if (!parsed.catalog.empty() && parsed.catalog != "lake") {
    return Error(ErrorCode::kInvalidArgument, "not a table of lake: '{}'", text);
  }
  return catalog::QualifiedName{parsed.schema.empty() ? catalog::kMainNamespace : parsed.schema,
                                parsed.name};
}

void RegisterTableFunctions(duckdb::DatabaseInstance& database,
                            std::shared_ptr<commit::Lakehouse> lakehouse) {
  auto& system = duckdb::Catalog::GetSystemCatalog(database);
  const auto transaction = duckdb::CatalogTransaction::GetSystemTransaction(database);
  for (const ListFunction& list : ListFunctions()) {
    duckdb::TableFunction function(list.name, {LogicalType::VARCHAR}, List, BindList, InitList);
    auto info = duckdb::make_shared_ptr<FunctionInfo>();
    info->lakehouse = lakehouse;
    info->list = &list;
    function.function_info = std::move(info);
    duckdb::CreateTableFunctionInfo create(std::move(function));
    system.CreateTableFunction(transaction, create);
  }
  duckdb::TableFunction changes("lake_changes",
                                {LogicalType::VARCHAR, LogicalType::BIGINT, LogicalType::BIGINT},
                                Changes, BindChanges, InitChanges, InitChangesLocal);
  auto info = duckdb::make_shared_ptr<FunctionInfo>();
  info->lakehouse = std::move(lakehouse);
  changes.function_info = std::move(info);
  duckdb::CreateTableFunctionInfo create(std::move(changes));
  system.CreateTableFunction(transaction, create);
}

}  // namespace lake::query
