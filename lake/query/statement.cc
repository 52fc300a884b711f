#include <algorithm>
#include <cctype>
#include <utility>

#include <arrow/api.h>
#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/table_catalog_entry.hpp>
#include <duckdb/main/stream_query_result.hpp>
#include <duckdb/parser/parsed_data/create_table_info.hpp>
#include <duckdb/parser/parsed_data/transaction_info.hpp>
#include <duckdb/parser/parser.hpp>
#include <duckdb/parser/statement/create_statement.hpp>
#include <duckdb/parser/statement/explain_statement.hpp>
#include <duckdb/parser/statement/insert_statement.hpp>
#include <duckdb/parser/statement/prepare_statement.hpp>
#include <duckdb/parser/statement/set_statement.hpp>
#include <duckdb/parser/statement/transaction_statement.hpp>
#include <duckdb/planner/binder.hpp>

#include "lake/base/retry_pause.h"
#include "lake/query/batch_builder_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/session_internal.h"
#include "lake/query/table_options_internal.h"

namespace lake::query {
namespace {

/// Chunks per batch once a stream is running; its first batch is one chunk, so that rows show
/// early.
constexpr int kChunksPerBatch = 32;

/// How often a statement runs at most.
constexpr int kMostRuns = 20;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

std::string Trimmed(std::string text) {
  while (!text.empty() && (IsSpace(text.back()) || text.back() == ';')) text.pop_back();
  size_t start = 0;
  while (start < text.size() && IsSpace(text[start])) ++start;
  return text.substr(start);
}

/// The statement that EXPLAIN and PREPARE are about.
duckdb::SQLStatement& Inner(duckdb::SQLStatement& statement) {
  if (statement.type == duckdb::StatementType::EXPLAIN_STATEMENT) {
    return Inner(*statement.Cast<duckdb::ExplainStatement>().stmt);
  }
  if (statement.type == duckdb::StatementType::PREPARE_STATEMENT) {
    return Inner(*statement.Cast<duckdb::PrepareStatement>().statement);
  }
  return statement;
}

bool IsCreateTable(const duckdb::SQLStatement& statement) {
  return statement.type == duckdb::StatementType::CREATE_STATEMENT &&
         statement.Cast<duckdb::CreateStatement>().info->type == duckdb::CatalogType::TABLE_ENTRY;
}

/// CREATE OR REPLACE TABLE ... AS: the rows may come from the table that it replaces.
bool IsReplaceTableAs(const duckdb::SQLStatement& statement) {
  if (!IsCreateTable(statement)) return false;
  const auto& info = *statement.Cast<duckdb::CreateStatement>().info;
  return info.on_conflict == duckdb::OnCreateConflict::REPLACE_ON_CONFLICT &&
         info.Cast<duckdb::CreateTableInfo>().query != nullptr;
}

/// True if the schema of that name, as the session sees it, is lake's.
bool IsLakes(duckdb::ClientContext& context, duckdb::string catalog, duckdb::string schema) {
  bool result = false;
  context.RunFunctionInTransaction([&] {
    duckdb::Binder::BindSchemaOrCatalog(context, catalog, schema);
    result = duckdb::Catalog::GetCatalog(context, catalog).GetCatalogType() == "lake";
  });
  return result;
}

/// The options that stood in the text of `statement`; whoever has none in mind gets none.
Result<TableOptions> OptionsOf(Connected& connected, duckdb::SQLStatement& statement,
                               const std::vector<std::string>& texts) {
  if (texts.empty()) return TableOptions{};
  duckdb::SQLStatement& inner = Inner(statement);
  if (!IsCreateTable(inner) || statement.type == duckdb::StatementType::PREPARE_STATEMENT) {
    return Error(ErrorCode::kUnsupported,
                 "unsupported: lake does not take CREATE TABLE ... WITH (options) inside PREPARE");
  }
  const auto& info = inner.Cast<duckdb::CreateStatement>().info->Cast<duckdb::CreateTableInfo>();
  if (info.temporary || !IsLakes(connected.context(), info.catalog, info.schema)) {
    return Error(ErrorCode::kUnsupported,
                 "unsupported: options are for tables of lake, not for temporary ones: {}",
                 info.table);
  }
  return ParseTableOptions(texts.front());
}

/// True if `insert` goes to a table of lake.
bool IntoLake(duckdb::ClientContext& context, const duckdb::InsertStatement& insert) {
  bool result = false;
  context.RunFunctionInTransaction([&] {
    duckdb::string catalog = insert.catalog;
    duckdb::string schema = insert.schema;
    duckdb::Binder::BindSchemaOrCatalog(context, catalog, schema);
    auto table = duckdb::Catalog::GetEntry<duckdb::TableCatalogEntry>(
        context, catalog, schema, insert.table, duckdb::OnEntryNotFound::RETURN_NULL);
    result = table && table->ParentCatalog().GetCatalogType() == "lake";
  });
  return result;
}

/// Settings that belong to a session alone. The others bound or guard the whole process.
bool IsSessionSetting(const std::string& name) {
  for (const char* allowed : {"timezone", "calendar", "schema", "search_path"}) {
    if (duckdb::StringUtil::CIEquals(name, allowed)) return true;
  }
  return false;
}

/// What must be seen before binding, because DuckDB drops it or fails on it in words that do not
/// help.
Status CheckParsed(Connected& connected, duckdb::SQLStatement& statement) {
  duckdb::SQLStatement& inner = Inner(statement);
  if (inner.type == duckdb::StatementType::SET_STATEMENT &&
      !connected.core->options.allow_local_files) {
    const auto& setting = inner.Cast<duckdb::SetStatement>();
    if (setting.scope != duckdb::SetScope::VARIABLE && !IsSessionSetting(setting.name)) {
      return Error(ErrorCode::kPermissionDenied,
                   "permission denied: the setting is not a session's to change: {}", setting.name);
    }
  }
  if (inner.type == duckdb::StatementType::INSERT_STATEMENT) {
    const auto& insert = inner.Cast<duckdb::InsertStatement>();
    if (insert.on_conflict_info && IntoLake(connected.context(), insert)) {
      return Error(ErrorCode::kUnsupported,
                   "unsupported: lake does not do INSERT ... ON CONFLICT yet: {}", insert.table);
    }
  }
  return Status::OK();
}

class ResultStreamImpl : public ResultStream {
 public:
  ResultStreamImpl(std::shared_ptr<Connected> connected, Context context,
                   duckdb::unique_ptr<duckdb::QueryResult> result)
      : connected_(std::move(connected)),
        context_(std::move(context)),
        result_(std::move(result)) {}

  ~ResultStreamImpl() override {
    if (done_ || result_->type != duckdb::QueryResultType::STREAM_RESULT) return;
    auto& stream = result_->Cast<duckdb::StreamQueryResult>();
    if (!stream.context) return;
    connected_->connection->Interrupt();
    stream.Close();
  }

  /// Reads what a statement without rows to show says.
  Status Init(duckdb::StatementReturnType kind);

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override;
  int64_t rows_changed() const override { return rows_changed_; }
  double progress() const override {
    return done_ ? 100.0 : connected_->context().GetQueryProgress().GetPercentage();
  }

 private:
  std::shared_ptr<Connected> connected_;
  const Context context_;
  duckdb::unique_ptr<duckdb::QueryResult> result_;
  std::unique_ptr<BatchBuilder> builder_;
  std::shared_ptr<arrow::Schema> schema_ = arrow::schema({});
  int64_t rows_changed_ = -1;
  bool started_ = false;
  bool done_ = false;
  Status error_;
};

Status ResultStreamImpl::Init(duckdb::StatementReturnType kind) {
  if (kind == duckdb::StatementReturnType::QUERY_RESULT) {
    ARROW_ASSIGN_OR_RAISE(
        builder_, BatchBuilder::ForResult(connected_->context(), result_->types, result_->names));
    schema_ = builder_->schema();
    return Status::OK();
  }
  done_ = true;
  if (kind == duckdb::StatementReturnType::CHANGED_ROWS) rows_changed_ = 0;
  // CREATE TABLE ... AS says "nothing" but has a count; a plain CREATE TABLE has the column and no
  // row.
  if (kind == duckdb::StatementReturnType::CHANGED_ROWS ||
      (result_->names.size() == 1 && result_->names[0] == "Count")) {
    const auto chunk = result_->Fetch();
    if (result_->HasError()) return connected_->Failed(context_, result_->GetErrorObject());
    if (chunk && chunk->size() > 0 && chunk->ColumnCount() > 0) {
      rows_changed_ = chunk->GetValue(0, 0).GetValue<int64_t>();
    }
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> ResultStreamImpl::Next() {
  ARROW_RETURN_NOT_OK(error_);
  if (done_) return nullptr;
  const Watchdog::Guard guard = connected_->Watch(context_);
  const int limit = std::exchange(started_, true) ? kChunksPerBatch : 1;
  for (int i = 0; i < limit && !builder_->full(); ++i) {
    duckdb::unique_ptr<duckdb::DataChunk> chunk;
    try {
      chunk = result_->Fetch();
      if (result_->HasError()) error_ = connected_->Failed(context_, result_->GetErrorObject());
    } catch (const std::exception& exception) {
      error_ = connected_->Failed(context_, duckdb::ErrorData(exception));
    }
    if (error_.ok() && chunk && chunk->size() > 0) {
      error_ = builder_->Append(*chunk);
      if (error_.ok()) continue;
    }
    done_ = true;
    if (!error_.ok()) connected_->Ran(false);
    ARROW_RETURN_NOT_OK(error_);
    break;
  }
  if (builder_->num_rows() == 0) return nullptr;
  return builder_->Finish();
}

/// How a statement ends a transaction.
enum class TransactionEnd { kNone, kCommit, kRollback };

TransactionEnd TransactionEndOf(const duckdb::SQLStatement& statement) {
  if (statement.type != duckdb::StatementType::TRANSACTION_STATEMENT) return TransactionEnd::kNone;
  switch (statement.Cast<duckdb::TransactionStatement>().info->type) {
    case duckdb::TransactionType::COMMIT:
      return TransactionEnd::kCommit;
    case duckdb::TransactionType::ROLLBACK:
      return TransactionEnd::kRollback;
    default:
      return TransactionEnd::kNone;
  }
}

Status AbortedError() {
  return Error(ErrorCode::kInvalidArgument,
               "the transaction is aborted, because an earlier statement failed: ROLLBACK it");
}

class StatementImpl : public Statement {
 public:
  StatementImpl(std::shared_ptr<Connected> connected,
                duckdb::unique_ptr<duckdb::PreparedStatement> prepared)
      : connected_(std::move(connected)), prepared_(std::move(prepared)) {}

  void Init();
  void set_transaction_end(TransactionEnd end) { transaction_end_ = end; }
  void set_replaces_table(bool replaces) { replaces_table_ = replaces; }
  void set_table_options(const TableOptions& options) { table_options_ = options; }

  const std::vector<ParameterInfo>& parameters() const override { return parameters_; }
  bool returns_rows() const override {
    return prepared_->GetStatementProperties().return_type ==
           duckdb::StatementReturnType::QUERY_RESULT;
  }
  Result<std::unique_ptr<ResultStream>> Execute(const Context& context,
                                                const std::vector<Parameter>& values) override;

 private:
  using BoundValues = duckdb::case_insensitive_map_t<duckdb::BoundParameterData>;

  Result<BoundValues> Bind(const std::vector<Parameter>& values);
  Result<duckdb::Value> BindOne(size_t index, const Parameter& parameter);
  Result<std::unique_ptr<ResultStream>> Run(const Context& context, BoundValues values);
  Status RefuseInAborted();
  Result<std::unique_ptr<ResultStream>> ExecuteOnce(const Context& context,
                                                    const std::vector<Parameter>& values);
  bool RunsAgain(const Status& failed, int attempt);

  std::shared_ptr<Connected> connected_;
  duckdb::unique_ptr<duckdb::PreparedStatement> prepared_;
  std::vector<ParameterInfo> parameters_;
  /// DuckDB's name and type of each parameter.
  std::vector<std::pair<duckdb::string, duckdb::LogicalType>> expected_;
  TransactionEnd transaction_end_ = TransactionEnd::kNone;
  /// See IsReplaceTableAs.
  bool replaces_table_ = false;
  TableOptions table_options_;
};

void StatementImpl::Init() {
  const auto types = prepared_->GetExpectedParameterTypes();
  expected_.resize(prepared_->named_param_map.size());
  parameters_.resize(expected_.size());
  for (const auto& [name, position] : prepared_->named_param_map) {
    const size_t index = position - 1;
    if (index >= expected_.size()) continue;
    const auto type = types.find(name);
    expected_[index] = {name, type == types.end()
                                  ? duckdb::LogicalType(duckdb::LogicalTypeId::UNKNOWN)
                                  : type->second};
    parameters_[index].is_file = IsFileSqlType(expected_[index].second);
    parameters_[index].sql_type = expected_[index].second.ToString();
  }
}

Result<duckdb::Value> StatementImpl::BindOne(size_t index, const Parameter& parameter) {
  const duckdb::LogicalType& type = expected_[index].second;
  const bool typed =
      type.id() != duckdb::LogicalTypeId::UNKNOWN && type.id() != duckdb::LogicalTypeId::INVALID;
  if (const auto* file = std::get_if<objects::DataLocation>(&parameter)) {
    if (typed && !IsFileSqlType(type)) {
      return Error(ErrorCode::kInvalidArgument, "parameter {} is of type {}, not a FILE", index + 1,
                   type.ToString());
    }
    return duckdb::Value::STRUCT(
        FileSqlType(), {duckdb::Value(file->uri), duckdb::Value(file->content_type),
                        duckdb::Value::UBIGINT(file->size_bytes), duckdb::Value(file->sha256)});
  }
  const auto* text = std::get_if<std::string>(&parameter);
  if (text == nullptr) return typed ? duckdb::Value(type) : duckdb::Value();
  if (IsFileSqlType(type)) {
    return Error(ErrorCode::kInvalidArgument,
                 "parameter {} fills a FILE column and takes a file, not a text", index + 1);
  }
  if (!duckdb::Value::StringIsValid(*text)) {
    return Error(ErrorCode::kInvalidArgument, "parameter {} is not UTF-8", index + 1);
  }
  const duckdb::Value value(*text);
  if (!typed || type.id() == duckdb::LogicalTypeId::VARCHAR) return value;
  duckdb::Value cast;
  duckdb::string message;
  if (!value.TryCastAs(connected_->context(), type, cast, &message) || cast.IsNull()) {
    return Error(ErrorCode::kInvalidArgument, "parameter {} is not a {}: '{}'", index + 1,
                 type.ToString(), *text);
  }
  return cast;
}

Result<StatementImpl::BoundValues> StatementImpl::Bind(const std::vector<Parameter>& values) {
  if (values.size() != expected_.size()) {
    return Error(ErrorCode::kInvalidArgument,
                 "the statement has {} parameters, but {} values were given", expected_.size(),
                 values.size());
  }
  BoundValues bound;
  connected_->state->supplied_files.clear();
  for (size_t i = 0; i < values.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(duckdb::Value value, BindOne(i, values[i]));
    bound.emplace(expected_[i].first, duckdb::BoundParameterData(std::move(value)));
    if (const auto* file = std::get_if<objects::DataLocation>(&values[i])) {
      connected_->state->supplied_files.push_back(*file);
    }
  }
  return bound;
}

Result<std::unique_ptr<ResultStream>> StatementImpl::Execute(const Context& context,
                                                             const std::vector<Parameter>& values) {
  ARROW_RETURN_NOT_OK(context.Check());
  connected_->state->context = context;
  connected_->state->commit_error = Status::OK();
  connected_->state->table_options = table_options_;
  if (connected_->state->transaction_aborted) ARROW_RETURN_NOT_OK(RefuseInAborted());
  const commit::OperationKey operation = connected_->state->operation;
  for (int attempt = 1;; ++attempt) {
    Result<std::unique_ptr<ResultStream>> result = ExecuteOnce(context, values);
    if (result.ok() || !RunsAgain(result.status(), attempt)) return result;
    ARROW_RETURN_NOT_OK(context.Check());
    PauseBeforeRetry(context, attempt);
    connected_->state->operation = operation;
    connected_->state->commit_error = Status::OK();
  }
}

/// A statement by itself that lost against another writer of rows that it read sees these when it
/// runs again. Inside a transaction, what was read before would be contradicted.
bool StatementImpl::RunsAgain(const Status& failed, int attempt) {
  if (attempt >= kMostRuns || CodeOf(failed) != ErrorCode::kConflict || !IsRetryable(failed)) {
    return false;
  }
  if (!connected_->context().transaction.IsAutoCommit()) return false;
  switch (prepared_->GetStatementType()) {
    case duckdb::StatementType::INSERT_STATEMENT:
    case duckdb::StatementType::UPDATE_STATEMENT:
    case duckdb::StatementType::DELETE_STATEMENT:
    case duckdb::StatementType::MERGE_INTO_STATEMENT:
      return transaction_end_ == TransactionEnd::kNone;
    case duckdb::StatementType::CREATE_STATEMENT:
      return replaces_table_;
    default:
      return false;
  }
}

Result<std::unique_ptr<ResultStream>> StatementImpl::ExecuteOnce(
    const Context& context, const std::vector<Parameter>& values) {
  try {
    ARROW_ASSIGN_OR_RAISE(BoundValues bound, Bind(values));
    auto result = Run(context, std::move(bound));
    connected_->Ran(result.ok());
    return result;
  } catch (const std::exception& exception) {
    connected_->Ran(false);
    return connected_->Failed(context, duckdb::ErrorData(exception));
  }
}

Result<std::unique_ptr<ResultStream>> StatementImpl::Run(const Context& context,
                                                         BoundValues values) {
  const Watchdog::Guard guard = connected_->Watch(context);
  // Only a query streams: what writes is done, committed and known before its result is shown.
  const bool stream = prepared_->GetStatementType() == duckdb::StatementType::SELECT_STATEMENT;
  auto pending = prepared_->PendingQuery(values, stream);
  if (pending->HasError()) return connected_->Failed(context, pending->GetErrorObject());
  auto result = pending->Execute();
  if (result->HasError()) return connected_->Failed(context, result->GetErrorObject());
  const auto kind = result->properties.return_type;
  auto results = std::make_unique<ResultStreamImpl>(connected_, context, std::move(result));
  ARROW_RETURN_NOT_OK(results->Init(kind));
  return results;
}

/// Whoever read "done" from a COMMIT that rolled back would be wrong.
Status StatementImpl::RefuseInAborted() {
  if (transaction_end_ == TransactionEnd::kRollback) return Status::OK();
  if (transaction_end_ == TransactionEnd::kNone) return AbortedError();
  ARROW_RETURN_NOT_OK(connected_->Run("ROLLBACK"));
  connected_->Ran(true);
  return Error(
      ErrorCode::kInvalidArgument,
      "COMMIT of an aborted transaction: an earlier statement failed, so it was rolled back");
}

}  // namespace

Result<std::vector<std::string>> SplitStatements(Connected& connected, const std::string& sql) {
  std::vector<std::string> statements;
  try {
    const TextWithoutOptions text = TakeTableOptions(sql);
    duckdb::Parser parser(connected.context().GetParserOptions());
    parser.ParseQuery(text.sql);
    size_t end = 0;
    for (const auto& statement : parser.statements) {
      // Each statement carries its own text, but not where it stood among the others.
      const size_t start = text.sql.find(statement->query, end);
      if (start == std::string::npos) {
        return Error(ErrorCode::kInternal, "a statement is not part of its text: {}",
                     statement->query);
      }
      end = start + statement->query.size();
      statements.push_back(Trimmed(text.whole.substr(start, end - start)));
    }
  } catch (const std::exception& exception) {
    return StatusFromDuckDb(duckdb::ErrorData(exception));
  }
  return statements;
}

Result<std::unique_ptr<Statement>> PrepareStatement(std::shared_ptr<Connected> connected,
                                                    const Context& context,
                                                    const std::string& sql) {
  ARROW_RETURN_NOT_OK(context.Check());
  connected->state->context = context;
  connected->state->commit_error = Status::OK();
  connected->state->supplied_files.clear();
  ARROW_ASSIGN_OR_RAISE(const auto texts, SplitStatements(*connected, sql));
  if (texts.size() != 1) {
    return Error(ErrorCode::kInvalidArgument,
                 "one statement at a time is prepared, but there are {}", texts.size());
  }
  try {
    const Watchdog::Guard guard = connected->Watch(context);
    const TextWithoutOptions text = TakeTableOptions(sql);
    auto statements = connected->connection->ExtractStatements(text.sql);
    if (statements.empty()) return Error(ErrorCode::kInvalidArgument, "there is no statement");
    // PIVOT becomes two: the first makes a temporary type for the second.
    while (statements.size() > 1) {
      const auto result = connected->connection->Query(std::move(statements.front()));
      if (result->HasError()) return connected->Failed(context, result->GetErrorObject());
      statements.erase(statements.begin());
    }
    duckdb::SQLStatement& statement = *statements.front();
    ARROW_RETURN_NOT_OK(CheckParsed(*connected, statement));
    ARROW_ASSIGN_OR_RAISE(const TableOptions options,
                          OptionsOf(*connected, statement, text.options));
    const TransactionEnd end = TransactionEndOf(statement);
    const bool replaces_table = IsReplaceTableAs(statement);
    if (connected->state->transaction_aborted && end == TransactionEnd::kNone) {
      return AbortedError();
    }
    auto prepared = connected->connection->Prepare(std::move(statements.front()));
    if (prepared->HasError()) return connected->Failed(context, prepared->GetErrorObject());
    auto result = std::make_unique<StatementImpl>(connected, std::move(prepared));
    result->set_transaction_end(end);
    result->set_replaces_table(replaces_table);
    result->set_table_options(options);
    result->Init();
    return result;
  } catch (const std::exception& exception) {
    return connected->Failed(context, duckdb::ErrorData(exception));
  }
}

}  // namespace lake::query
