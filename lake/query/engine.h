#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lake/base/context.h"
#include "lake/commit/lakehouse.h"
#include "lake/objects/data_location.h"

namespace arrow {
class DataType;
class RecordBatch;
class Schema;
}  // namespace arrow

namespace lake::query {

struct EngineOptions {
  int64_t memory_limit = 0;  ///< bytes; 0: half of the machine's
  int threads = 0;           ///< 0: one per core
  /// Registers lance_scan('path') and DuckDB's own file functions: only for the local command line.
  bool allow_local_files = false;
};

struct SessionOptions {
  std::string time_zone = "UTC";
  /// Given to the commit of the session's next writing statement.
  commit::OperationKey operation;
};

/// A value for a `?`. Text is cast to the parameter's type by the engine.
using Parameter = std::variant<std::monostate, std::string, objects::DataLocation>;

struct ParameterInfo {
  /// FILE parameters take a DataLocation, and only stand bare where a FILE column is filled.
  bool is_file = false;
  std::string sql_type;
};

/// The rows of a result, pulled batch by batch. Not thread-safe. Dropping it cancels the query.
class ResultStream {
 public:
  virtual ~ResultStream() = default;

  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  /// The next batch, or null at the end. An error ends the stream.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
  /// Rows changed, for a writing statement; -1 for a query.
  virtual int64_t rows_changed() const = 0;
  /// Percent done of a running query, or -1.
  virtual double progress() const = 0;
};

/// A statement that was parsed, bound and checked. Not thread-safe.
class Statement {
 public:
  virtual ~Statement() = default;

  virtual const std::vector<ParameterInfo>& parameters() const = 0;
  /// True if it returns rows to show (SELECT, SHOW, EXPLAIN, ...).
  virtual bool returns_rows() const = 0;

  /// Runs it. Results of a writing statement are handed out after its commit.
  virtual Result<std::unique_ptr<ResultStream>> Execute(const Context& context,
                                                        const std::vector<Parameter>& values) = 0;
};

/// One connection: current namespace, time zone, transaction. Not thread-safe, but Cancel may be
/// called from any thread.
class Session {
 public:
  virtual ~Session() = default;

  /// Cuts `sql` into its statements; kInvalidArgument with the parser's message.
  virtual Result<std::vector<std::string>> Split(const std::string& sql) = 0;
  virtual Result<std::unique_ptr<Statement>> Prepare(const Context& context,
                                                     const std::string& sql) = 0;
  virtual void SetOperation(commit::OperationKey operation) = 0;
  /// True between BEGIN and COMMIT / ROLLBACK.
  virtual bool in_transaction() const = 0;
  virtual void Cancel() = 0;
};

/// SQL over a lakehouse: DuckDB with lake as its catalog. One per process and data folder.
/// Thread-safe.
class Engine {
 public:
  static Result<std::unique_ptr<Engine>> Open(const Context& context,
                                              std::shared_ptr<commit::Lakehouse> lakehouse,
                                              EngineOptions options);
  virtual ~Engine() = default;

  virtual Result<std::unique_ptr<Session>> Connect(const Context& context,
                                                   const catalog::Principal& principal,
                                                   SessionOptions options) = 0;
};

/// The version of the DuckDB library in use.
std::string DuckDbVersion();

}  // namespace lake::query
