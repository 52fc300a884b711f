#include "lake/cli/sql_printer.h"

#include <cstdio>

#include <arrow/record_batch.h>
#include <fmt/format.h>

namespace lake::cli {
namespace {

constexpr uint64_t kShownUploadBytes = 32 << 20;

}  // namespace

SqlPrinter::SqlPrinter(Invocation* invocation, service::ResultFormat format)
    : invocation_(invocation), format_(format) {}

Status SqlPrinter::BeginRows(const std::shared_ptr<arrow::Schema>& schema) {
  writer_ = service::ResultWriter::Make(
      format_, [this](std::string_view bytes) { return invocation_->output.Write(bytes); });
  return writer_->Begin(schema);
}

Status SqlPrinter::Rows(const arrow::RecordBatch& batch) { return writer_->Write(batch); }

Status SqlPrinter::EndRows() {
  std::unique_ptr<service::ResultWriter> writer = std::move(writer_);
  return writer->Finish();
}

Status SqlPrinter::Done(int64_t rows_changed, bool replayed) {
  if (upload_bar_.has_value()) {
    upload_bar_->Finish();
    upload_bar_.reset();
  }
  if (rows_changed < 0 && !replayed) return Status::OK();
  std::string text = fmt::format("{} row{} changed", rows_changed, rows_changed == 1 ? "" : "s");
  if (replayed) text = "already committed by this operation: " + text;
  fmt::print(stderr, "{}\n", text);
  return Status::OK();
}

void SqlPrinter::Uploading(uint64_t bytes_done, uint64_t bytes_total) {
  // What takes no time needs no progress.
  if (bytes_total < kShownUploadBytes) return;
  if (!upload_bar_.has_value()) {
    upload_bar_.emplace("upload", invocation_->context.clock, invocation_->quiet);
  }
  upload_bar_->Update({.bytes_done = bytes_done, .bytes_total = bytes_total});
}

}  // namespace lake::cli
