#include <algorithm>
#include <cctype>
#include <utility>

#include <arrow/api.h>
#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/table_catalog_entry.hpp>
#include <duckdb/main/stream_query_result.hpp>
#include <duckdb/main/valid_checker.hpp>
#include <duckdb/parser/parsed_data/transaction_info.hpp>
#include <duckdb/parser/parser.hpp>
#include <duckdb/parser/statement/create_statement.hpp>
#include <duckdb/parser/statement/explain_statement.hpp>
#include <duckdb/parser/statement/insert_statement.hpp>
#include <duckdb/parser/statement/prepare_statement.hpp>
#include <duckdb/parser/statement/transaction_statement.hpp>
#include <duckdb/planner/binder.hpp>
#include <duckdb/transaction/meta_transaction.hpp>

#include "lake/query/batch_builder_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/session_internal.h"

namespace lake::query {
namespace {

/// Chunks per batch once a stream is running; its first batch is one chunk, so that rows show
/// early.
constexpr int kChunksPerBatch = 32;

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

/// DuckDB's parser accepts CREATE TABLE ... WITH (options) and forgets the options, so they are
/// found among the tokens: WITH followed by a parenthesis, outside all parentheses.
bool HasTableOptions(const std::string& sql) {
  const auto tokens = duckdb::Parser::Tokenize(sql);
  int depth = 0;
  bool after_with = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].type == duckdb::SimplifiedTokenType::SIMPLIFIED_TOKEN_COMMENT) continue;
    const size_t start = tokens[i].start;
    const size_t end = i + 1 < tokens.size() ? tokens[i + 1].start : sql.size();
    const std::string text = Trimmed(sql.substr(start, end - start));
    if (tokens[i].type == duckdb::SimplifiedTokenType::SIMPLIFIED_TOKEN_OPERATOR) {
      if (text == "(") {
        if (after_with && depth == 0) return true;
        ++depth;
      } else if (text == ")") {
        --depth;
      }
    }
    after_with = tokens[i].type == duckdb::SimplifiedTokenType::SIMPLIFIED_TOKEN_KEYWORD &&
                 duckdb::StringUtil::CIEquals(text, "with");
  }
  return false;
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

/// What must be seen before binding, because DuckDB drops it or fails on it in words that do not
/// help.
Status CheckParsed(duckdb::ClientContext& context, duckdb::SQLStatement& statement,
                   const std::string& sql) {
  duckdb::SQLStatement& inner = Inner(statement);
  if (IsCreateTable(inner) && HasTableOptions(sql)) {
    return Error(ErrorCode::kUnsupported,
                 "unsupported: lake does not take CREATE TABLE ... WITH (options) yet");
  }
  if (inner.type == duckdb::StatementType::INSERT_STATEMENT) {
    const auto& insert = inner.Cast<duckdb::InsertStatement>();
    if (insert.on_conflict_info && IntoLake(context, insert)) {
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
  if (kind == duckdb::StatementReturnType::CHANGED_ROWS) {
    rows_changed_ = 0;
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
    ARROW_RETURN_NOT_OK(error_);
    break;
  }
  if (builder_->num_rows() == 0) return nullptr;
  return builder_->Finish();
}

class StatementImpl : public Statement {
 public:
  StatementImpl(std::shared_ptr<Connected> connected,
                duckdb::unique_ptr<duckdb::PreparedStatement> prepared)
      : connected_(std::move(connected)), prepared_(std::move(prepared)) {}

  void Init();
  void set_ends_transaction() { ends_transaction_ = true; }

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
  Status RefuseCommitOfAborted();

  std::shared_ptr<Connected> connected_;
  duckdb::unique_ptr<duckdb::PreparedStatement> prepared_;
  std::vector<ParameterInfo> parameters_;
  /// DuckDB's name and type of each parameter.
  std::vector<std::pair<duckdb::string, duckdb::LogicalType>> expected_;
  bool ends_transaction_ = false;
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
  if (!value.TryCastAs(connected_->context(), type, cast, &message)) {
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

/// DuckDB lets COMMIT of an aborted transaction succeed, and rolls back. Whoever reads "done" would
/// be wrong.
Status StatementImpl::RefuseCommitOfAborted() {
  duckdb::ClientContext& context = connected_->context();
  if (!context.transaction.HasActiveTransaction() || context.transaction.IsAutoCommit() ||
      !duckdb::ValidChecker::IsInvalidated(context.ActiveTransaction())) {
    return Status::OK();
  }
  ARROW_RETURN_NOT_OK(connected_->Run("ROLLBACK"));
  return Error(
      ErrorCode::kInvalidArgument,
      "COMMIT of an aborted transaction: an earlier statement failed, so it was rolled back");
}

Result<std::unique_ptr<ResultStream>> StatementImpl::Execute(const Context& context,
                                                             const std::vector<Parameter>& values) {
  ARROW_RETURN_NOT_OK(context.Check());
  connected_->state->context = context;
  connected_->state->commit_error = Status::OK();
  const duckdb::StatementType type = prepared_->GetStatementType();
  try {
    if (ends_transaction_) ARROW_RETURN_NOT_OK(RefuseCommitOfAborted());
    ARROW_ASSIGN_OR_RAISE(BoundValues bound, Bind(values));
    const Watchdog::Guard guard = connected_->Watch(context);
    // Only a query streams: what writes is done, committed and known before its result is shown.
    const bool stream = type == duckdb::StatementType::SELECT_STATEMENT;
    auto pending = prepared_->PendingQuery(bound, stream);
    if (pending->HasError()) return connected_->Failed(context, pending->GetErrorObject());
    auto result = pending->Execute();
    if (result->HasError()) return connected_->Failed(context, result->GetErrorObject());
    const auto kind = result->properties.return_type;
    auto results = std::make_unique<ResultStreamImpl>(connected_, context, std::move(result));
    ARROW_RETURN_NOT_OK(results->Init(kind));
    return results;
  } catch (const std::exception& exception) {
    return connected_->Failed(context, duckdb::ErrorData(exception));
  }
}

}  // namespace

Result<std::vector<std::string>> SplitStatements(Connected& connected, const std::string& sql) {
  std::vector<std::string> statements;
  try {
    duckdb::Parser parser(connected.context().GetParserOptions());
    parser.ParseQuery(sql);
    for (const auto& statement : parser.statements) {
      // Each statement carries its own text, to which its location is relative.
      statements.push_back(
          Trimmed(statement->query.substr(statement->stmt_location, statement->stmt_length)));
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
    auto statements = connected->connection->ExtractStatements(sql);
    if (statements.empty()) return Error(ErrorCode::kInvalidArgument, "there is no statement");
    // PIVOT becomes two: the first makes a temporary type for the second.
    while (statements.size() > 1) {
      const auto result = connected->connection->Query(std::move(statements.front()));
      if (result->HasError()) return connected->Failed(context, result->GetErrorObject());
      statements.erase(statements.begin());
    }
    duckdb::SQLStatement& statement = *statements.front();
    ARROW_RETURN_NOT_OK(CheckParsed(connected->context(), statement, texts[0]));
    const bool commits = statement.type == duckdb::StatementType::TRANSACTION_STATEMENT &&
                         statement.Cast<duckdb::TransactionStatement>().info->type ==
                             duckdb::TransactionType::COMMIT;
    auto prepared = connected->connection->Prepare(std::move(statements.front()));
    if (prepared->HasError()) return connected->Failed(context, prepared->GetErrorObject());
    auto result = std::make_unique<StatementImpl>(connected, std::move(prepared));
    if (commits) result->set_ends_transaction();
    result->Init();
    return result;
  } catch (const std::exception& exception) {
    return connected->Failed(context, duckdb::ErrorData(exception));
  }
}

}  // namespace lake::query
