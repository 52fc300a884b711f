#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/schema.h"
#include "lake/format/version.h"
#include "lake/storage/object_store.h"
#include "lake/table/blob_writer.h"
#include "lake/table/manifest.h"

namespace arrow {
class RecordBatch;
}

namespace lake::table {

/// A name for a new data file under `data/` that no other has.
std::string NewDataFileName(const Context& context);

struct AppendWriterOptions {
  uint64_t max_rows_per_file = 1024 * 1024;
  uint64_t max_bytes_per_file = 90ull << 30;
  uint64_t max_buffered_bytes = 256ull << 20;
  /// VersionOfNewFiles of the table: a commit refuses files of another.
  format::FileVersion file_version = format::kFileVersion22;
  /// Of external blobs.
  BlobWriteOptions blobs = {};
};

/// Writes rows into new data files of a table. They belong to no version until a commit names them.
/// Not thread-safe.
class AppendWriter {
 public:
  /// Writes under `data/` of `store` (rooted at the table's folder); `schema` has its ids assigned.
  static Result<std::unique_ptr<AppendWriter>> Open(const Context& context,
                                                    std::shared_ptr<storage::ObjectStore> store,
                                                    format::Schema schema,
                                                    AppendWriterOptions options = {});
  /// Removes the files of an unfinished writer.
  virtual ~AppendWriter() = default;

  /// Appends rows; columns are those of the schema in order, blobs given by value (BlobWriter).
  Status Write(const arrow::RecordBatch& batch) { return Write(batch, BlobOrigin()); }
  /// The same with rows of the table itself, whose blobs are told by place and copied from there.
  virtual Status Write(const arrow::RecordBatch& batch, const BlobOrigin& origin) = 0;

  virtual uint64_t num_rows() const = 0;

  /// Ends the last file. The fragments carry no ids yet; a commit assigns them. No rows, no
  /// fragments. The files are visible but not synced: the commit does that.
  virtual Result<std::vector<Fragment>> Finish() = 0;

  /// Keys of all that it wrote: Transaction::new_objects.
  virtual const std::vector<std::string>& new_objects() const = 0;
};

}  // namespace lake::table
