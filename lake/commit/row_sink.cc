#include "lake/commit/row_sink.h"

#include <arrow/record_batch.h>

#include "lake/commit/row_shape.h"

namespace lake::commit {

RowSink::RowSink(const Context& context, std::shared_ptr<storage::ObjectStore> store,
                 format::Schema schema, std::shared_ptr<arrow::Schema> arrow_schema,
                 FileReferenceChecker checker, const table::AppendWriterOptions& options)
    : context_(context),
      store_(std::move(store)),
      schema_(std::move(schema)),
      arrow_schema_(std::move(arrow_schema)),
      options_(options),
      checker_(std::move(checker)) {}

Status RowSink::Write(const arrow::RecordBatch& batch) {
  if (failed_.ok()) failed_ = WriteChecked(batch);
  return failed_;
}

Status RowSink::WriteChecked(const arrow::RecordBatch& batch) {
  ARROW_RETURN_NOT_OK(context_.Check());
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::RecordBatch> rows,
                        ConformRows(batch, arrow_schema_));
  if (rows->num_rows() == 0) return Status::OK();
  if (checker_.needed()) ARROW_RETURN_NOT_OK(checker_.Check(context_, *rows));
  if (writer_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(writer_, table::AppendWriter::Open(context_, store_, schema_, options_));
  }
  ARROW_RETURN_NOT_OK(writer_->Write(*rows));
  num_rows_ += static_cast<uint64_t>(rows->num_rows());
  return Status::OK();
}

Result<std::vector<table::Fragment>> RowSink::TakeFragments() {
  ARROW_RETURN_NOT_OK(failed_);
  if (writer_ == nullptr) return std::vector<table::Fragment>();
  Result<std::vector<table::Fragment>> fragments = writer_->Finish();
  if (fragments.ok()) new_objects_ = writer_->new_objects();
  writer_.reset();
  return fragments;
}

}  // namespace lake::commit
