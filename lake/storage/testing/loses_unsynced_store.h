#pragma once

#include <map>
#include <memory>
#include <string>

#include "lake/base/mutex.h"
#include "lake/storage/object_store.h"

namespace lake::storage {

/// A store in memory that plays a power loss: Crash takes it back to what Sync had covered.
/// Thread-safe.
///
/// Sync of a key makes the object and its name durable, as it is at that moment. Sync of a staged
/// object covers its bytes only: published without a Sync of its key, it vanishes. A deletion is
/// not durable before a Sync of its folder: an object that was synced, then deleted or replaced, is
/// back as it was synced.
class LosesUnsyncedStore : public ObjectStore {
 public:
  LosesUnsyncedStore();

  /// The power fails and comes back. Writers and staged objects from before have no effect any
  /// more.
  void Crash() LAKE_EXCLUDES(mutex_);

  const std::string& description() const override { return description_; }
  Result<std::shared_ptr<arrow::Buffer>> Get(const Context& context, const std::string& key,
                                             ByteRange range) override;
  Result<std::shared_ptr<arrow::Buffer>> GetAll(const Context& context, const std::string& key,
                                                uint64_t max_size) override;
  Result<std::vector<std::shared_ptr<arrow::Buffer>>> GetMany(
      const Context& context, const std::string& key, std::span<const ByteRange> ranges) override;
  Result<ObjectInfo> Head(const Context& context, const std::string& key) override;
  Result<ListPage> List(const Context& context, const ListRequest& request) override;
  Status Put(const Context& context, const std::string& key, std::string_view bytes,
             PutCondition condition) override;
  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const Context& context, const std::string& key,
                                                   PutCondition condition) override;
  Result<std::unique_ptr<StagedObject>> Stage(const Context& context, const std::string& key,
                                              std::string_view bytes) override;
  Status Sync(const Context& context, std::span<const std::string> keys,
              std::span<StagedObject* const> staged) override LAKE_EXCLUDES(mutex_);
  Status Delete(const Context& context, const std::string& key) override;

 private:
  std::shared_ptr<ObjectStore> live() const LAKE_EXCLUDES(mutex_);

  const std::string description_ = "memory that loses what is not synced";
  mutable Mutex mutex_;
  /// What programs see. A crash replaces it, so that earlier writers go into the void.
  std::shared_ptr<ObjectStore> live_ LAKE_GUARDED_BY(mutex_);
  struct Durable {
    std::shared_ptr<arrow::Buffer> bytes;
    int64_t modified_nanos = 0;
  };
  std::map<std::string, Durable> durable_ LAKE_GUARDED_BY(mutex_);
};

}  // namespace lake::storage
