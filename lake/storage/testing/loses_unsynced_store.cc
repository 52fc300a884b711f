#include "lake/storage/testing/loses_unsynced_store.h"

#include <limits>
#include <utility>
#include <vector>

#include <arrow/buffer.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/storage/key.h"
#include "lake/storage/memory_store.h"

namespace lake::storage {

LosesUnsyncedStore::LosesUnsyncedStore() : live_(MakeMemoryStore()) {}

std::shared_ptr<ObjectStore> LosesUnsyncedStore::live() const {
  MutexLock lock(&mutex_);
  return live_;
}

void LosesUnsyncedStore::Crash() {
  auto fresh = MakeMemoryStore();
  MutexLock lock(&mutex_);
  for (const auto& [key, durable] : durable_) {
    const FakeClock clock(durable.modified_nanos);
    Context context;
    context.clock = &clock;
    // A store in memory has no reason to fail for a key that it held before.
    Status status = fresh->Put(context, key, std::string_view(*durable.bytes), PutCondition::kNone);
    if (!status.ok()) status.Abort();
  }
  live_ = std::move(fresh);
}

Result<std::shared_ptr<arrow::Buffer>> LosesUnsyncedStore::Get(const Context& context,
                                                               const std::string& key,
                                                               ByteRange range) {
  return live()->Get(context, key, range);
}

Result<std::shared_ptr<arrow::Buffer>> LosesUnsyncedStore::GetAll(const Context& context,
                                                                  const std::string& key,
                                                                  uint64_t max_size) {
  return live()->GetAll(context, key, max_size);
}

Result<std::vector<std::shared_ptr<arrow::Buffer>>> LosesUnsyncedStore::GetMany(
    const Context& context, const std::string& key, std::span<const ByteRange> ranges) {
  return live()->GetMany(context, key, ranges);
}

Result<ObjectInfo> LosesUnsyncedStore::Head(const Context& context, const std::string& key) {
  return live()->Head(context, key);
}

Result<ListPage> LosesUnsyncedStore::List(const Context& context, const ListRequest& request) {
  return live()->List(context, request);
}

Status LosesUnsyncedStore::Put(const Context& context, const std::string& key,
                               std::string_view bytes, PutCondition condition) {
  return live()->Put(context, key, bytes, condition);
}

Result<std::unique_ptr<ObjectWriter>> LosesUnsyncedStore::OpenWriter(const Context& context,
                                                                     const std::string& key,
                                                                     PutCondition condition) {
  return live()->OpenWriter(context, key, condition);
}

Result<std::unique_ptr<StagedObject>> LosesUnsyncedStore::Stage(const Context& context,
                                                                const std::string& key,
                                                                std::string_view bytes) {
  return live()->Stage(context, key, bytes);
}

Status LosesUnsyncedStore::Sync(const Context& context, std::span<const std::string> keys,
                                std::span<StagedObject* const> staged) {
  MutexLock lock(&mutex_);
  // Bytes without a name are lost in any case, so there is nothing to note about `staged`.
  std::vector<Durable> synced;
  std::vector<std::string> objects;
  std::vector<std::string> gone;
  for (const std::string& key : keys) {
    if (!IsFolder(key)) {
      objects.push_back(key);
      continue;
    }
    for (const auto& [object, durable] : durable_) {
      const Status there = live_->Head(Context(), object).status();
      const bool in_folder = SplitKey(object).folder == FolderName(key);
      if (in_folder && !there.ok() && CodeOf(there) == ErrorCode::kNotFound) gone.push_back(object);
    }
  }
  for (const std::string& key : objects) {
    ARROW_ASSIGN_OR_RAISE(auto bytes,
                          live_->GetAll(Context(), key, std::numeric_limits<uint64_t>::max()));
    ARROW_ASSIGN_OR_RAISE(const ObjectInfo info, live_->Head(Context(), key));
    synced.push_back({std::move(bytes), info.modified_nanos});
  }
  for (size_t i = 0; i < objects.size(); ++i) durable_[objects[i]] = std::move(synced[i]);
  for (const std::string& key : gone) durable_.erase(key);
  return Status::OK();
}

Status LosesUnsyncedStore::Delete(const Context& context, const std::string& key) {
  return live()->Delete(context, key);
}

}  // namespace lake::storage
