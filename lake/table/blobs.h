#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lake/base/context.h"
#include "lake/table/blob_location.h"
#include "lake/table/dataset.h"

namespace arrow {
class Buffer;
}

namespace lake::table {

/// An open blob. Immutable and thread-safe; outlives the dataset.
class Blob {
 public:
  Blob(BlobLocation location, uint64_t size) : location_(std::move(location)), size_(size) {}

  uint64_t size() const { return size_; }
  format::BlobKind kind() const { return location_.kind; }

  /// kInvalidArgument for a range that is not in the blob; kCorrupt, naming the object, if its
  /// bytes are gone meanwhile.
  Result<std::shared_ptr<arrow::Buffer>> Read(const Context& context, uint64_t offset,
                                              uint64_t length) const;
  Result<std::shared_ptr<arrow::Buffer>> ReadAll(const Context& context) const {
    return Read(context, 0, size_);
  }

 private:
  BlobLocation location_;
  uint64_t size_;
};

struct BlobOptions {
  /// Opens external objects that are named by an absolute URI. Without it they are refused by name:
  /// a table of somebody else's must not make us read what it likes.
  ExternalOpener open_external;
};

/// A part of the blob in one row.
struct BlobRange {
  RowAddress address = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// Reads the bytes of one blob column (version 1 or 2) of one version of a table. Thread-safe. Rows
/// are named by address; AddressesOf (live_rows.h) finds those of stable row ids. In all calls the
/// i-th result is that of the i-th row, null where the blob is null, of size 0 where it is empty;
/// rows may repeat. Errors: kNotFound for an address that is out of range or deleted; kCorrupt,
/// naming row and object, for bytes that are not where they should be; kPermissionDenied, by name,
/// for an external object that may not be opened.
class BlobReader {
 public:
  /// `column` is a top-level column, or the path of a field in a struct such as "doc.scan".
  /// kNotFound if the table has none; kInvalidArgument if it holds no blobs.
  static Result<std::unique_ptr<BlobReader>> Open(std::shared_ptr<const Dataset> dataset,
                                                  const std::string& column,
                                                  BlobOptions options = {});
  virtual ~BlobReader() = default;

  /// Opens blobs: their bytes are there, but are not read yet.
  virtual Result<std::vector<std::shared_ptr<const Blob>>> Take(
      const Context& context, std::span<const RowAddress> addresses) const = 0;

  /// Whole blobs. What is near each other in a file is read together, files side by side. All of
  /// the bytes are in memory at once (`context.pool()`).
  virtual Result<std::vector<std::shared_ptr<arrow::Buffer>>> Read(
      const Context& context, std::span<const RowAddress> addresses) const = 0;

  /// Parts of blobs, as Read. kInvalidArgument, naming the row, for a range that is not in its
  /// blob.
  virtual Result<std::vector<std::shared_ptr<arrow::Buffer>>> ReadRanges(
      const Context& context, std::span<const BlobRange> ranges) const = 0;
};

}  // namespace lake::table
