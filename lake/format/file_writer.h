#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/schema.h"
#include "lake/format/version.h"
#include "lake/storage/object_store.h"

namespace arrow {
class RecordBatch;
}

namespace lake::format {

struct FileWriterOptions {
  /// Pages are closed when the buffered bytes of all columns together reach this.
  uint64_t max_buffered_bytes = 256ull << 20;
  /// A page of one column is closed at about this many bytes.
  uint64_t target_page_bytes = 8ull << 20;
  /// 2.1 or 2.2. docs/format/writing.md says which Lance versions read which.
  FileVersion version = kFileVersion22;
};

/// What Finish made: all that a manifest's DataFile needs.
struct WrittenFile {
  std::string key;
  uint64_t num_rows = 0;
  uint64_t size_bytes = 0;
  FileVersion version;
  /// Ids of the leaf fields, and the column that holds each: same length, pre-order.
  std::vector<int32_t> field_ids;
  std::vector<int32_t> column_indices;
};

/// kUnsupported, naming the column, for a schema with a type that FileWriter does not write into
/// files of `version`; kInvalidArgument for field metadata that asks for an unknown encoding.
Status CheckWritable(const Schema& schema, const FileVersion& version = kFileVersion22);

/// Writes one Lance data file. Format facts: docs/format/file.md.
/// The file becomes visible at Finish; destruction before it leaves nothing behind. Not
/// thread-safe.
class FileWriter {
 public:
  /// Starts `key`, which must not exist. `schema` has its ids assigned. Errors of CheckWritable.
  static Result<std::unique_ptr<FileWriter>> Open(const Context& context,
                                                  std::shared_ptr<storage::ObjectStore> store,
                                                  const std::string& key, Schema schema,
                                                  FileWriterOptions options = {});
  virtual ~FileWriter() = default;

  /// Appends the rows of `batch`, whose columns are those of the schema in order (types equal, else
  /// kInvalidArgument; views count as strings and binary; blobs are told by BlobPlaceType()). A
  /// null in a field that is not nullable is kInvalidArgument naming column and row.
  virtual Status Write(const arrow::RecordBatch& batch) = 0;

  /// Writes bytes that rows of the file refer to by position (inline blobs), and says where they
  /// lie; if `continued`, directly behind those of the call before. After an error the file cannot
  /// be completed.
  virtual Result<uint64_t> WriteBytes(std::string_view bytes, bool continued) = 0;

  virtual uint64_t num_rows() const = 0;
  /// Bytes written to the store plus those buffered.
  virtual uint64_t estimated_size() const = 0;

  /// Writes the rest and publishes the file (not synced: ObjectStore::Sync).
  virtual Result<WrittenFile> Finish() = 0;
};

}  // namespace lake::format
