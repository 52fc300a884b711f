#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lake/base/context.h"
#include "lake/commit/file_references.h"
#include "lake/format/schema.h"
#include "lake/storage/object_store.h"
#include "lake/table/append_writer.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow

namespace lake::commit {

/// Rows on their way into data files: shape, nulls and FILE values checked, then written. The files
/// belong to no version until they are committed; until TakeFragments they go when the sink goes.
/// Not thread-safe.
class RowSink {
 public:
  /// `store` is rooted at the table's folder, `schema` has its ids.
  RowSink(const Context& context, std::shared_ptr<storage::ObjectStore> store,
          format::Schema schema, std::shared_ptr<arrow::Schema> arrow_schema,
          FileReferenceChecker checker, const table::AppendWriterOptions& options);

  const std::shared_ptr<arrow::Schema>& schema() const { return arrow_schema_; }
  uint64_t num_rows() const { return num_rows_; }

  /// After an error the sink takes no more rows: the statement has failed.
  Status Write(const arrow::RecordBatch& batch);

  /// Ends the files and hands them over. No rows, no fragments.
  Result<std::vector<table::Fragment>> TakeFragments();
  /// Keys of what was written, once it was taken.
  std::vector<std::string> TakeNewObjects() { return std::move(new_objects_); }

  /// Removes what was written.
  void Discard() { writer_.reset(); }

 private:
  Status WriteChecked(const arrow::RecordBatch& batch);

  const Context context_;
  const std::shared_ptr<storage::ObjectStore> store_;
  const format::Schema schema_;
  const std::shared_ptr<arrow::Schema> arrow_schema_;
  const table::AppendWriterOptions options_;
  FileReferenceChecker checker_;
  // Opened by the first row: a write without rows touches nothing.
  std::unique_ptr<table::AppendWriter> writer_;
  std::vector<std::string> new_objects_;
  uint64_t num_rows_ = 0;
  Status failed_;
};

}  // namespace lake::commit
