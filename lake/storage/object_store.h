#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/context.h"
#include "lake/base/error.h"

namespace arrow {
class Buffer;
}

namespace lake::storage {

/// `length` bytes from `offset`.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;

  uint64_t end() const { return offset + length; }
  bool operator==(const ByteRange&) const = default;
};

struct ObjectInfo {
  std::string key;
  uint64_t size = 0;
  /// Last change, nanoseconds since 1970 UTC, in the store's own resolution.
  int64_t modified_nanos = 0;
};

enum class PutCondition {
  kNone,      ///< Replace what is there.
  kIfAbsent,  ///< Fail with kPreconditionFailed if the key exists.
};

struct ListRequest {
  /// Only keys that start with this.
  std::string prefix;
  /// Only keys after this one, in byte order.
  std::string start_after;
  /// If not empty, keys that contain it after the prefix are rolled up into `common_prefixes`.
  std::string delimiter;
  /// At most this many keys and common prefixes together. Between 1 and 1000.
  size_t max_keys = 1000;
  /// The caller wants the keys alone: sizes and times may be 0, which spares a local store a call
  /// for each object.
  bool keys_only = false;
};

struct ListPage {
  /// In ascending byte order of the key.
  std::vector<ObjectInfo> objects;
  /// In ascending byte order, each ending in the delimiter.
  std::vector<std::string> common_prefixes;
  /// Pass it as `start_after` for the next page; empty if this is the last one.
  std::string next_start_after;
};

/// An object while it is written. It becomes visible under its key as a whole at Finish, or never.
/// Destruction before Finish removes what was written. Not thread-safe.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;

  virtual Status Write(std::string_view bytes) = 0;

  /// Bytes written so far.
  virtual uint64_t position() const = 0;

  /// Publishes the object. With kIfAbsent, kPreconditionFailed if the key exists by now. The bytes
  /// are durable only after ObjectStore::Sync names the key. A retryable error leaves it open
  /// whether the object was published.
  virtual Status Finish() = 0;
};

/// An object whose bytes lie ready in the store and only its name is missing: the half of a
/// conditional put that can be synced together with other files. Destruction removes it if it was
/// not published. Not thread-safe.
class StagedObject {
 public:
  virtual ~StagedObject() = default;

  virtual const std::string& key() const = 0;

  /// Gives the object its name. With kIfAbsent, kPreconditionFailed if the name is taken; of
  /// several racers exactly one wins. Any other error leaves it open whether it happened: read it
  /// back. May be called again after an error.
  virtual Status Publish(const Context& context, PutCondition condition) = 0;
};

/// Named blobs of bytes: a folder, memory, or an S3 bucket.
///
/// Keys are relative, in UTF-8, of segments separated by '/', with no empty, "." or ".." segment;
/// others are kInvalidArgument. A missing object is kNotFound. Reads see every write that returned
/// before they began. Visibility and durability are separate: bytes survive a power loss once Sync
/// returned. Errors of the medium are kIo; `retryable` says if the same call may succeed later.
/// Texts name the key. Thread-safe. The conformance suite (lake/storage/testing/conformance.h) pins
/// all of this.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  /// Where the store's keys begin, for error texts: a folder or a bucket with prefix. No secrets.
  virtual const std::string& description() const = 0;

  /// Names the place where the keys begin for as long as this process runs: stores of one identity
  /// show the same objects, so that what was read through one may be used for the other. Empty if
  /// the store cannot say.
  virtual std::string identity() const { return {}; }

  /// Reads `range`, which must lie inside the object: else kInvalidArgument.
  virtual Result<std::shared_ptr<arrow::Buffer>> Get(const Context& context, const std::string& key,
                                                     ByteRange range) = 0;

  /// Reads the whole object, or kInvalidArgument if it is larger than
  /// `max_size` bytes.
  virtual Result<std::shared_ptr<arrow::Buffer>> GetAll(const Context& context,
                                                        const std::string& key,
                                                        uint64_t max_size) = 0;

  /// Reads many ranges, in any order, possibly overlapping; the i-th buffer holds the i-th range.
  /// Nearby ranges become one request (coalesced), requests run in parallel.
  virtual Result<std::vector<std::shared_ptr<arrow::Buffer>>> GetMany(
      const Context& context, const std::string& key, std::span<const ByteRange> ranges) = 0;

  virtual Result<ObjectInfo> Head(const Context& context, const std::string& key) = 0;

  virtual Result<ListPage> List(const Context& context, const ListRequest& request) = 0;

  /// Writes a small object as a whole; as durable as an ObjectWriter's.
  virtual Status Put(const Context& context, const std::string& key, std::string_view bytes,
                     PutCondition condition) = 0;

  virtual Result<std::unique_ptr<ObjectWriter>> OpenWriter(const Context& context,
                                                           const std::string& key,
                                                           PutCondition condition) = 0;

  virtual Result<std::unique_ptr<StagedObject>> Stage(const Context& context,
                                                      const std::string& key,
                                                      std::string_view bytes) = 0;

  /// Makes durable, in one round: the objects `keys` with the folders that lead to them (a key that
  /// ends with '/' is a folder: that what was deleted in it is gone), and the bytes of `staged`.
  virtual Status Sync(const Context& context, std::span<const std::string> keys,
                      std::span<StagedObject* const> staged) = 0;

  /// Removes the object; one that does not exist is OK.
  virtual Status Delete(const Context& context, const std::string& key) = 0;
};

/// Calls List until the end. For listings that are known to be small.
Result<std::vector<ObjectInfo>> ListAll(ObjectStore* store, const Context& context,
                                        const std::string& prefix, bool keys_only = false);

/// kInvalidArgument unless `key` is a valid key (see ObjectStore).
Status CheckKey(std::string_view key);

/// A view of `store` in which every key has `prefix` + "/" before it.
std::shared_ptr<ObjectStore> MakePrefixStore(std::shared_ptr<ObjectStore> store,
                                             std::string prefix);

}  // namespace lake::storage
