#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lake/cli/invocation.h"
#include "lake/cli/progress_bar.h"
#include "lake/service/result_writer.h"
#include "lake/service/statement_runner.h"

namespace lake::cli {

/// Prints the results of statements: rows in a format on standard output, counts of changed rows on
/// standard error (so that output stays pure data), upload progress as a bar. Not thread-safe.
class SqlPrinter : public service::SqlObserver {
 public:
  SqlPrinter(Invocation* invocation, service::ResultFormat format);

  Status BeginRows(const std::shared_ptr<arrow::Schema>& schema) override;
  Status Rows(const arrow::RecordBatch& batch) override;
  Status EndRows() override;
  Status Done(int64_t rows_changed, bool replayed) override;
  void Uploading(uint64_t bytes_done, uint64_t bytes_total) override;
  void Progress(double percent) override {}

 private:
  Invocation* const invocation_;
  const service::ResultFormat format_;
  std::unique_ptr<service::ResultWriter> writer_;
  std::optional<ProgressBar> upload_bar_;
};

}  // namespace lake::cli
