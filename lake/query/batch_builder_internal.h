#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <duckdb.hpp>

#include "lake/query/types_internal.h"

namespace duckdb {
class ArrowAppender;
}

namespace lake::query {

/// Collects DuckDB chunks into Arrow record batches. Not thread-safe. DuckDB's exceptions come out
/// as Status.
class BatchBuilder {
 public:
  /// For rows that go into a table: the batches have exactly `schema`; values are converted only
  /// where nothing is lost, else an error names the column. `table` is the name for errors.
  static Result<std::unique_ptr<BatchBuilder>> ForTable(
      duckdb::ClientContext& context, const std::string& table,
      const duckdb::vector<duckdb::LogicalType>& types, std::shared_ptr<arrow::Schema> schema);

  /// For rows that go to a caller: the Arrow types that DuckDB makes of them, FILE as its struct.
  static Result<std::unique_ptr<BatchBuilder>> ForResult(
      duckdb::ClientContext& context, const duckdb::vector<duckdb::LogicalType>& types,
      const duckdb::vector<duckdb::string>& names);

  ~BatchBuilder();

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  int64_t num_rows() const { return num_rows_; }
  /// Time to call Finish: enough rows or bytes.
  bool full() const { return num_rows_ >= kMaxRows || num_bytes_ >= kMaxBytes; }
  /// The same for two that wait together.
  bool FullWith(const BatchBuilder& other) const {
    return num_rows_ + other.num_rows_ >= kMaxRows || num_bytes_ + other.num_bytes_ >= kMaxBytes;
  }

  Status Append(duckdb::DataChunk& chunk);
  /// The rows since the last call.
  Result<std::shared_ptr<arrow::RecordBatch>> Finish();

 private:
  static constexpr int64_t kMaxRows = 64 * 1024;
  static constexpr int64_t kMaxBytes = 8 << 20;

  BatchBuilder(duckdb::ClientContext& context, const duckdb::vector<duckdb::LogicalType>& types);
  Status Init(const duckdb::vector<duckdb::string>& names);
  Result<std::shared_ptr<arrow::Array>> Convert(int column, std::shared_ptr<arrow::Array> array);

  duckdb::ClientContext& context_;
  const duckdb::vector<duckdb::LogicalType> types_;
  duckdb::ClientProperties properties_;
  /// What DuckDB's appender produces.
  std::shared_ptr<arrow::Schema> natural_;
  /// What Finish returns.
  std::shared_ptr<arrow::Schema> schema_;
  std::string table_;
  std::unique_ptr<duckdb::ArrowAppender> appender_;
  int64_t num_rows_ = 0;
  int64_t num_bytes_ = 0;
};

}  // namespace lake::query
