#include "lake/query/engine.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <duckdb/main/client_config.hpp>
#include <duckdb/main/config.hpp>

#include "lake/base/arrow_compute.h"
#include "lake/base/memory_budget.h"
#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/functions_internal.h"
#include "lake/query/provenance_internal.h"
#include "lake/query/session_internal.h"

namespace lake::query {
namespace {

/// The least that DuckDB works with.
constexpr int64_t kLeastDuckDbBytes = 24 << 20;
/// More than this for one writer's buffers gains nothing.
constexpr int64_t kMostWriteBufferBytes = 256 << 20;
constexpr int64_t kLeastWriteBufferBytes = 4 << 20;

/// DuckDB is bound through its internal classes: headers and library must be the same release.
Status CheckDuckDbVersion() {
  const std::string library = DuckDbVersion();
  if (library == "v" LAKE_DUCKDB_VERSION) return Status::OK();
  return Error(
      ErrorCode::kInternal,
      "the DuckDB library is not the one that this program was built for: built for v{}, found {}",
      LAKE_DUCKDB_VERSION, library);
}

std::string Quoted(const std::string& text) {
  return fmt::format("'{}'", duckdb::StringUtil::Replace(text, "'", "''"));
}

class SessionImpl : public Session {
 public:
  explicit SessionImpl(std::shared_ptr<Connected> connected) : connected_(std::move(connected)) {}

  Result<std::vector<std::string>> Split(const std::string& sql) override {
    return SplitStatements(*connected_, sql);
  }
  Result<std::unique_ptr<Statement>> Prepare(const Context& context,
                                             const std::string& sql) override {
    return PrepareStatement(connected_, context, sql);
  }
  void SetOperation(commit::OperationKey operation) override {
    connected_->state->operation = std::move(operation);
  }
  bool in_transaction() const override { return !connected_->context().transaction.IsAutoCommit(); }
  void Cancel() override { connected_->connection->Interrupt(); }

 private:
  std::shared_ptr<Connected> connected_;
};

class EngineImpl : public Engine {
 public:
  explicit EngineImpl(std::shared_ptr<EngineCore> core) : core_(std::move(core)) {}

  Result<std::unique_ptr<Session>> Connect(const Context& context,
                                           const catalog::Principal& principal,
                                           SessionOptions options) override;

 private:
  std::shared_ptr<EngineCore> core_;
};

Result<std::shared_ptr<Connected>> OpenConnection(std::shared_ptr<EngineCore> core,
                                                  const Context& context,
                                                  const catalog::Principal& principal) {
  auto connected = std::make_shared<Connected>();
  connected->core = std::move(core);
  try {
    connected->connection = std::make_unique<duckdb::Connection>(*connected->core->database);
    connected->state = duckdb::make_shared_ptr<SessionState>();
    connected->state->principal = principal;
    connected->state->context = context;
    connected->context().registered_state->Insert(SessionState::kName, connected->state);
    auto& config = duckdb::ClientConfig::GetConfig(connected->context());
    config.enable_progress_bar = true;  // Counts; nothing is printed.
    config.print_progress_bar = false;
    config.wait_time = 0;
  } catch (const std::exception& exception) {
    return StatusFromDuckDb(duckdb::ErrorData(exception));
  }
  return connected;
}

Result<std::unique_ptr<Session>> EngineImpl::Connect(const Context& context,
                                                     const catalog::Principal& principal,
                                                     SessionOptions options) {
  ARROW_ASSIGN_OR_RAISE(auto connected, OpenConnection(core_, context, principal));
  ARROW_RETURN_NOT_OK(connected->Run("USE lake." + std::string(catalog::kMainNamespace)));
  const Status zone = connected->Run("SET TimeZone = " + Quoted(options.time_zone));
  if (!zone.ok()) {
    return Error(ErrorCode::kInvalidArgument, "unknown time zone '{}'", options.time_zone);
  }
  connected->state->operation = std::move(options.operation);
  return std::make_unique<SessionImpl>(std::move(connected));
}

/// Limits and lock-down go by SQL after the start: two of DuckDB's settings misbehave when they are
/// set before.
Status Configure(Connected& setup, int64_t memory_limit, const std::string& temp_dir) {
  const EngineOptions& options = setup.core->options;
  std::vector<std::string> statements = {
      "SET memory_limit = '" + std::to_string(memory_limit) + "B'",
      "SET temp_directory = " + Quoted(temp_dir),
      "SET autoinstall_known_extensions = false",
      "SET autoload_known_extensions = false",
      "SET allow_community_extensions = false",
      // Suggestions would show names that the principal may not see.
      "SET catalog_error_max_schemas = 0",
      "ATTACH '' AS lake (TYPE lake)",
  };
  if (options.threads > 0) {
    statements.push_back("SET threads = " + std::to_string(options.threads));
  }
  if (!options.allow_local_files) {
    statements.push_back("SET enable_external_access = false");
  }
  for (const std::string& statement : statements) ARROW_RETURN_NOT_OK(setup.Run(statement));
  return Status::OK();
}

}  // namespace

std::string DuckDbVersion() { return duckdb::DuckDB::LibraryVersion(); }

Watchdog::Guard Connected::Watch(const Context& call) {
  duckdb::Connection* target = connection.get();
  return Watchdog::Guard(&core->watchdog, call, [target] { target->Interrupt(); });
}

Status Connected::Failed(const Context& call, const duckdb::ErrorData& error) {
  if (!state->commit_error.ok()) return std::exchange(state->commit_error, Status::OK());
  Status status = StatusFromDuckDb(error);
  if (CodeOf(status) == ErrorCode::kCancelled) {
    const Status why = call.Check();
    if (!why.ok()) return why;
  }
  return status;
}

void Connected::Ran(bool succeeded) {
  const bool in_transaction = !context().transaction.IsAutoCommit();
  state->transaction_aborted = in_transaction && (!succeeded || state->transaction_aborted);
}

Status Connected::Run(const std::string& sql) {
  const auto result = connection->Query(sql);
  if (!result->HasError()) return Status::OK();
  return Failed(state->context, result->GetErrorObject());
}

Result<std::unique_ptr<Engine>> Engine::Open(const Context& context,
                                             std::shared_ptr<commit::Lakehouse> lakehouse,
                                             EngineOptions options) {
  ARROW_RETURN_NOT_OK(CheckDuckDbVersion());
  ARROW_RETURN_NOT_OK(InitializeArrowCompute());
  if (options.memory_limit <= 0) options.memory_limit = DefaultMemoryLimit();
  // One budget for all: a quarter for a writer's buffers, a quarter for what scans hold, the rest
  // for DuckDB.
  const int64_t write_buffer =
      std::clamp(options.memory_limit / 4, kLeastWriteBufferBytes, kMostWriteBufferBytes);
  const int64_t duckdb_limit = std::max(options.memory_limit / 2, kLeastDuckDbBytes);
  auto core = std::make_shared<EngineCore>();
  core->lakehouse = std::move(lakehouse);
  core->options = options;
  try {
    duckdb::DBConfig config;
    // An internal error ends its query, not every session of the process.
    config.SetOptionByName("disable_database_invalidation", duckdb::Value::BOOLEAN(true));
    config.storage_extensions["lake"] = MakeLakeStorageExtension(core->lakehouse, write_buffer);
    core->database = std::make_unique<duckdb::DuckDB>(":memory:", &config);
    duckdb::DatabaseInstance& instance = *core->database->instance;
    // On the config above DuckDB would ignore it.
    duckdb::DBConfig::GetConfig(instance).optimizer_extensions.push_back(MakeLakeOptimizer());
    RegisterFunctions(instance, core->lakehouse, options.allow_local_files);
  } catch (const std::exception& exception) {
    return WithContext(StatusFromDuckDb(duckdb::ErrorData(exception)),
                       "the SQL engine does not start");
  }
  ARROW_ASSIGN_OR_RAISE(auto setup, OpenConnection(core, context, catalog::Principal{}));
  const auto temp_dir = std::filesystem::path(core->lakehouse->temp_dir()) / "duckdb";
  ARROW_RETURN_NOT_OK(WithContext(Configure(*setup, duckdb_limit, temp_dir.string()),
                                  "the SQL engine does not start"));
  return std::make_unique<EngineImpl>(std::move(core));
}

}  // namespace lake::query
