#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lake/service/workspace.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow

namespace lake::service {

/// A value for a `?` as a user writes it. For a FILE parameter: `file:PATH` or
/// `file:PATH;type=video/mp4`.
struct SqlRequest {
  /// One or more statements.
  std::string text;
  /// Only with a single statement.
  std::vector<std::string> parameters;
  /// UUIDv7 text. Only with a single statement. Without it each writing statement gets an id of its
  /// own.
  std::optional<std::string> operation_id;
};

/// Where the results of a request go, statement by statement. Calls come on the calling thread.
class SqlObserver {
 public:
  virtual ~SqlObserver() = default;

  /// A statement returns rows: Begin, any number of batches, End.
  virtual Status BeginRows(const std::shared_ptr<arrow::Schema>& schema) = 0;
  virtual Status Rows(const arrow::RecordBatch& batch) = 0;
  virtual Status EndRows() = 0;

  /// A statement returned no rows; `rows_changed` is -1 where that has no meaning (DDL).
  virtual Status Done(int64_t rows_changed, bool replayed) = 0;

  /// Bytes of FILE parameters on their way into the stage.
  virtual void Uploading(uint64_t bytes_done, uint64_t bytes_total) = 0;

  /// A running query is this far, in percent.
  virtual void Progress(double percent) = 0;
};

/// Runs the statements of `request` in order and stops at the first error. Everything that can be
/// checked is checked before the first upload: syntax, names and types of the statement, number and
/// kind of the parameters, that each file exists, is regular and can be read, its content type.
///
/// With an operation id a request that committed before with the same text, values and file
/// contents is replayed (Done with replayed = true); with others it is refused (kInvalidArgument).
/// An error with kCommitUnknown names the operation id to run again with.
Status RunSql(const Context& context, Workspace* workspace, query::Session* session,
              const SqlRequest& request, SqlObserver* observer);

}  // namespace lake::service
