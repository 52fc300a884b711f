#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/row_selection.h"
#include "lake/format/schema.h"
#include "lake/format/version.h"
#include "lake/storage/object_store.h"

namespace arrow {
class Buffer;
class RecordBatch;
}  // namespace arrow

namespace lake::format {

/// A field of the wanted output, and where its leaves lie in one file. A struct may have fewer
/// children than the file's.
struct ColumnRequest {
  /// Name, type, nullability and children as the table's schema has them.
  Field field;
  /// One per id in Schema::ColumnIds(field, version): the column index in the file. -1: not in this
  /// file, all null. A struct all of whose columns are missing is null itself.
  std::vector<int> columns;
  /// A text or binary column may come as a dictionary array, indices of uint32 with the values of
  /// the page, where all wanted rows lie in one page that has a dictionary. All reads of that page
  /// share the values.
  bool keep_dictionary = false;
};

/// Rows whose bytes were read and are not decoded yet. Used by one thread at a time.
class FetchedRows {
 public:
  virtual ~FetchedRows() = default;

  /// The bytes that were read, about.
  virtual uint64_t bytes() const = 0;
  /// What FileReader::Read gives. Once.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Decode() = 0;
};

/// Reads one Lance data file of version 2.0, 2.1 or 2.2. Format facts: docs/format/file.md.
///
/// Open reads the tail of the file once; column metadata is fetched for the columns asked for and
/// kept. Everything in the file is checked before use: kCorrupt names file, column, page and
/// reason; an encoding, type or version that is not read is kUnsupported, with version and column.
/// Thread-safe: many threads may read at once.
class FileReader {
 public:
  /// Opens `key` in `store`. `file_size` spares a Head where it is known (the manifest has it); a
  /// size that is wrong gives kCorrupt.
  static Result<std::shared_ptr<FileReader>> Open(const Context& context,
                                                  std::shared_ptr<storage::ObjectStore> store,
                                                  const std::string& key,
                                                  std::optional<uint64_t> file_size = {});
  virtual ~FileReader() = default;

  virtual FileVersion version() const = 0;
  virtual uint64_t num_rows() const = 0;
  virtual int num_columns() const = 0;
  virtual uint64_t file_size() const = 0;

  /// Bytes that it takes for itself, about; what it keeps of columns and pages is in the process's
  /// MetadataCache.
  virtual size_t MemoryUse() const { return 64 << 10; }

  /// The schema that the file itself carries.
  virtual const Schema& schema() const = 0;

  /// Requests for all fields of the file's own schema (a file read without a manifest).
  virtual Result<std::vector<ColumnRequest>> AllColumns() const = 0;

  /// Reads the rows of `selection` (which must end within num_rows(), else kInvalidArgument) of the
  /// given columns into one batch, rows in file order. With no columns the batch has only a row
  /// count. Memory is taken from the context's pool; a selection larger than 2^31 - 1 rows is
  /// kInvalidArgument. A string column whose selected rows exceed 2 GiB is kInvalidArgument: read
  /// fewer rows at once.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Read(const Context& context,
                                                           std::span<const ColumnRequest> columns,
                                                           const RowSelection& selection) = 0;

  /// The part of Read that waits for storage, so that it can be done ahead; Decode of what it
  /// returns does the rest. The rows keep the reader alive and hold a copy of `context`. A reader
  /// that cannot tell the parts does all of it here.
  virtual Result<std::unique_ptr<FetchedRows>> Fetch(const Context& context,
                                                     std::span<const ColumnRequest> columns,
                                                     const RowSelection& selection);

  /// An estimate of the bytes that Read takes for `count` rows of `columns`, from the page
  /// metadata.
  virtual Result<uint64_t> EstimateBytes(const Context& context,
                                         std::span<const ColumnRequest> columns,
                                         uint64_t count) = 0;

  /// Bytes of the file's data, as rows of a blob column name them (position and size; a blob of
  /// version 2 only if its kind is "inline"), in the order of `ranges`. kCorrupt for a range that
  /// is not in the file's data.
  virtual Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadRanges(
      const Context& context, std::span<const storage::ByteRange> ranges) = 0;
};

}  // namespace lake::format
