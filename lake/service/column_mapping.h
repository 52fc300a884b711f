#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/version.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow

namespace lake::service {

/// How the columns of a source become those of a table: matched by name, byte for byte. Immutable.
class ColumnMapping {
 public:
  /// kInvalidArgument, naming source and column, if the source has a column twice, one that the
  /// table lacks, or one of a type that cannot keep its exact values, or lacks one that is not
  /// nullable; kUnsupported for a FILE column on either side.
  static Result<ColumnMapping> Make(const arrow::Schema& source,
                                    std::shared_ptr<arrow::Schema> table,
                                    const std::string& source_name);

  /// `batch` in the table's columns; bytes for a column of blobs stay bytes. `first_row` is the
  /// number of its first row for people. kInvalidArgument naming source, column and row for a value
  /// that cannot be kept exactly, or a NULL where none may be.
  Result<std::shared_ptr<arrow::RecordBatch>> Convert(const Context& context,
                                                      const arrow::RecordBatch& batch,
                                                      uint64_t first_row) const;

 private:
  std::string source_name_;
  std::shared_ptr<arrow::Schema> table_;
  std::vector<int> sources_;  // by table column; -1: NULL
};

/// The schema of a table that is made for a source: its columns without metadata, dictionaries as
/// their values, views as plain strings and binaries. kUnsupported, naming the column, for a type
/// that lake does not write into files of `file_version` and for FILE; kInvalidArgument for a
/// column that is there twice.
Result<std::shared_ptr<arrow::Schema>> SchemaForSource(
    const arrow::Schema& source, const std::string& source_name,
    const format::FileVersion& file_version = format::kFileVersion22);

}  // namespace lake::service
