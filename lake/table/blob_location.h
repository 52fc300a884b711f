#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/format/blob.h"
#include "lake/storage/object_store.h"
#include "lake/table/base_stores.h"
#include "lake/table/manifest.h"

namespace arrow {
class Buffer;
}

namespace lake::table {

/// Opens an object that a blob names by its absolute URI, for reading. The URI comes from disk: the
/// opener decides what may be opened at all, and gives an error for the rest.
using ExternalOpener =
    std::function<Result<BaseStores::Place>(const Context& context, const std::string& uri)>;

/// The folder of the blob files of the data file `path` (DataFile::path), below the folder that its
/// data file's key is below; ends in a slash.
std::string BlobFolder(const std::string& path);

/// The key of a blob file of the data file `path` (DataFile::path), below the folder that its data
/// file's key is below.
std::string BlobFileKey(const std::string& path, uint32_t blob_id);

/// The bytes of a blob, found but not looked at.
struct BlobLocation {
  std::shared_ptr<storage::ObjectStore> store;
  std::string key;
  uint64_t position = 0;
  /// Nothing: all of the object behind `position`.
  std::optional<uint64_t> size;
  format::BlobKind kind = format::BlobKind::kInline;

  /// For texts.
  std::string name() const;
};

/// Finds where blobs of a version lie. Thread-safe.
class BlobFinder {
 public:
  BlobFinder(std::shared_ptr<BaseStores> bases, ExternalOpener open_external)
      : bases_(std::move(bases)), open_external_(std::move(open_external)) {}

  /// `file` is the data file whose row has this place. kCorrupt for a place that cannot be,
  /// kPermissionDenied, by name, for an external object without an opener.
  Result<BlobLocation> Find(const Context& context, const DataFile& file,
                            const format::BlobPlace& place) const;

 private:
  Result<BlobLocation> FindExternal(const Context& context, const format::BlobPlace& place) const;

  const std::shared_ptr<BaseStores> bases_;
  const ExternalOpener open_external_;
};

/// The file of a fragment that holds a field; null if none does.
const DataFile* FileOfField(const Fragment& fragment, int32_t field_id);

/// Bytes of a blob that are wanted; the range lies within the blob.
struct BlobRead {
  const BlobLocation* location = nullptr;
  storage::ByteRange range;
};

/// Reads many, files side by side and what is near in one file together; the i-th buffer holds the
/// i-th read. kCorrupt, naming the object, for one that is missing or too short (an external object
/// that is missing is kNotFound).
Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadBlobBytes(const Context& context,
                                                                  std::span<const BlobRead> reads);

/// The size of each blob, looked up where the place does not tell it, and checked against the
/// object: errors as above.
Result<std::vector<uint64_t>> CheckBlobSizes(const Context& context,
                                             std::span<const BlobLocation* const> locations);

}  // namespace lake::table
