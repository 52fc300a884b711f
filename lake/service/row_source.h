#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lake/base/context.h"

namespace arrow {
class RecordBatch;
class Schema;
namespace io {
class RandomAccessFile;
}
}  // namespace arrow

namespace lake::service {

/// The rows of one file, batch by batch, in bounded memory. Texts name the file. Not thread-safe.
class RowSource {
 public:
  virtual ~RowSource() = default;

  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  /// The next rows, or null at the end.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
  /// About how many bytes of the file have been used.
  virtual uint64_t bytes_read() const = 0;
  /// The number by which people know the first row: 1, and 2 in a CSV file, whose header is row 1.
  virtual uint64_t first_row_number() const { return 1; }
};

/// Opens a file by its first bytes: Parquet, an Arrow IPC file or stream; text is CSV (`.tsv`:
/// separated by tabs) with a header. What looks like anything else (JSON, compressed files) is
/// kUnsupported by name.
///
/// `wanted` may be null. CSV has no types of its own: a column that `wanted` has is read as that
/// type where text can be, others are inferred from the first megabytes; a column without values is
/// text.
Result<std::unique_ptr<RowSource>> OpenRowSource(const Context& context, const std::string& path,
                                                 const arrow::Schema* wanted);

// One format each; `path` is for texts. Bytes are hostile: what a library does not check is checked
// here.
Result<std::unique_ptr<RowSource>> OpenParquetSource(
    const Context& context, std::shared_ptr<arrow::io::RandomAccessFile> file,
    const std::string& path);
Result<std::unique_ptr<RowSource>> OpenIpcFileSource(
    const Context& context, std::shared_ptr<arrow::io::RandomAccessFile> file,
    const std::string& path);
Result<std::unique_ptr<RowSource>> OpenIpcStreamSource(
    const Context& context, std::shared_ptr<arrow::io::RandomAccessFile> file,
    const std::string& path);
Result<std::unique_ptr<RowSource>> OpenCsvSource(const Context& context,
                                                 std::shared_ptr<arrow::io::RandomAccessFile> file,
                                                 const std::string& path, char delimiter,
                                                 const arrow::Schema* wanted);

}  // namespace lake::service
