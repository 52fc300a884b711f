#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "lake/base/context.h"
#include "lake/objects/data_location.h"
#include "lake/objects/file_uri.h"

namespace lake::objects {

/// A stream of bytes. Not thread-safe.
class ByteReader {
 public:
  virtual ~ByteReader() = default;

  /// Reads up to `out.size()` bytes; 0 at a clean end. An error is sticky: later reads repeat it.
  virtual Result<size_t> Read(std::span<uint8_t> out) = 0;
};

struct UploadOptions {
  std::string content_type = "application/octet-stream";
  /// Called with the number of bytes taken since the last call. May be empty.
  std::function<void(uint64_t bytes)> progress = {};
};

/// The managed objects of one tenant: the folder or prefix where they live for good.
///
/// Every method that takes a DataLocation first checks that it lies in this stage (path-segment
/// boundary, no query, fragment, userinfo, "..", symbolic link, other tenant): kPermissionDenied
/// before any I/O. Thread-safe. Facts and failure table: docs/objects.md.
class Stage {
 public:
  virtual ~Stage() = default;

  /// The URI under which new locations are minted, without a trailing '/'.
  virtual const std::string& uri() const = 0;
  virtual const std::string& tenant() const = 0;

  /// Streams `source` into a new object, hashing, and publishes it: when this returns, the object
  /// is complete, immutable and durable. Constant memory. On error or cancellation nothing stays
  /// behind.
  virtual Result<DataLocation> Upload(const Context& context, ByteReader* source,
                                      const UploadOptions& options) = 0;

  /// Uploads a regular file. kInvalidArgument if it changes (size, time, inode) while being read.
  virtual Result<DataLocation> UploadFile(const Context& context, const std::string& path,
                                          const UploadOptions& options) = 0;

  /// Resuming interrupted uploads: kUnsupported on the local stage.
  virtual Status CancelUpload(const Context& context, const std::string& upload_id) = 0;

  /// A verified stream over the whole object: capped at the declared size, hashed, one byte probed
  /// past the end. A clean end means that length and digest agree; else kIntegrity. The digest's
  /// form is checked before any I/O. Dropping it early claims nothing.
  virtual Result<std::unique_ptr<ByteReader>> Open(const Context& context,
                                                   const DataLocation& location) = 0;

  /// A stream over [start, end) of the object, one seek, no digest claim. An empty, reversed or
  /// out-of-bounds range is kInvalidArgument before any I/O; a short body is kIntegrity.
  virtual Result<std::unique_ptr<ByteReader>> OpenRange(const Context& context,
                                                        const DataLocation& location,
                                                        uint64_t start, uint64_t end) = 0;

  /// A signed URL: kUnsupported on the local stage.
  virtual Result<std::string> PresignRead(const Context& context, const DataLocation& location) = 0;

  /// OK if the location is well-formed and inside this stage. No I/O except resolving links.
  virtual Status CheckContained(const DataLocation& location) const = 0;

  /// CheckContained, and the object exists as a regular file of exactly the declared size: what a
  /// sink checks before it stores a reference.
  virtual Status CheckExists(const Context& context, const DataLocation& location) = 0;
};

struct LocalStageOptions {
  /// The folder `managed-objects` of the data folder in use.
  std::string root;
  /// The stage's identity from lake.json (`stage_uri`), under which locations are minted and
  /// checked; the folder may have moved since.
  std::string stage_uri;
  std::string tenant = "default";
  /// The process's own temporary folder, on the same file system (checked at Open).
  std::string temp_dir;
};

/// The local stage of one tenant. kUnsupported if temp_dir and root are on different file systems,
/// or on a network file system.
Result<std::shared_ptr<Stage>> OpenLocalStage(const Context& context, LocalStageOptions options);

}  // namespace lake::objects
