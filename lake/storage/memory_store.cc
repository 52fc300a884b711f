#include "lake/storage/memory_store.h"

#include <map>
#include <utility>

#include <arrow/buffer.h>

#include "lake/base/mutex.h"
#include "lake/storage/key.h"
#include "lake/storage/list_page_builder.h"
#include "lake/storage/range_check.h"

namespace lake::storage {
namespace {

struct Object {
  std::shared_ptr<arrow::Buffer> bytes;
  int64_t modified_nanos = 0;
};

/// The objects of a store. Writers and staged objects share it, so that they may outlive the store.
class ObjectMap {
 public:
  Result<Object> Find(const std::string& key) {
    ARROW_RETURN_NOT_OK(CheckKey(key));
    MutexLock lock(&mutex_);
    auto found = objects_.find(key);
    if (found == objects_.end()) {
      return Error(ErrorCode::kNotFound, "no such object: '{}'", key);
    }
    return found->second;
  }

  Status Insert(const std::string& key, Object object, PutCondition condition) {
    MutexLock lock(&mutex_);
    if (condition == PutCondition::kNone) {
      objects_.insert_or_assign(key, std::move(object));
    } else if (!objects_.try_emplace(key, std::move(object)).second) {
      return Error(ErrorCode::kPreconditionFailed, "the object exists already: '{}'", key);
    }
    return Status::OK();
  }

  void Erase(const std::string& key) {
    MutexLock lock(&mutex_);
    objects_.erase(key);
  }

  ListPage List(const ListRequest& request) {
    ListPageBuilder builder(request);
    MutexLock lock(&mutex_);
    auto at = objects_.lower_bound(std::max(request.prefix, request.start_after));
    for (; at != objects_.end() && at->first.starts_with(request.prefix); ++at) {
      auto verdict = builder.Judge(at->first);
      if (verdict == ListPageBuilder::Verdict::kFull) break;
      if (verdict == ListPageBuilder::Verdict::kSkip) continue;
      builder.Append(
          {at->first, static_cast<uint64_t>(at->second.bytes->size()), at->second.modified_nanos});
    }
    return builder.Take();
  }

 private:
  Mutex mutex_;
  std::map<std::string, Object> objects_ LAKE_GUARDED_BY(mutex_);
};

class MemoryWriter : public ObjectWriter {
 public:
  MemoryWriter(Context context, std::shared_ptr<ObjectMap> objects, std::string key,
               PutCondition condition)
      : context_(std::move(context)),
        objects_(std::move(objects)),
        key_(std::move(key)),
        condition_(condition) {}

  Status Write(std::string_view bytes) override {
    bytes_.append(bytes);
    position_ += bytes.size();
    return Status::OK();
  }

  uint64_t position() const override { return position_; }

  Status Finish() override {
    return objects_->Insert(
        key_, {arrow::Buffer::FromString(std::move(bytes_)), context_.clock->UnixNanos()},
        condition_);
  }

 private:
  const Context context_;
  const std::shared_ptr<ObjectMap> objects_;
  const std::string key_;
  const PutCondition condition_;
  std::string bytes_;
  uint64_t position_ = 0;
};

class MemoryStagedObject : public StagedObject {
 public:
  MemoryStagedObject(std::shared_ptr<ObjectMap> objects, std::string key,
                     std::shared_ptr<arrow::Buffer> bytes)
      : objects_(std::move(objects)), key_(std::move(key)), bytes_(std::move(bytes)) {}

  const std::string& key() const override { return key_; }

  Status Publish(const Context& context, PutCondition condition) override {
    return objects_->Insert(key_, {bytes_, context.clock->UnixNanos()}, condition);
  }

 private:
  const std::shared_ptr<ObjectMap> objects_;
  const std::string key_;
  const std::shared_ptr<arrow::Buffer> bytes_;
};

class MemoryStore : public ObjectStore {
 public:
  const std::string& description() const override { return description_; }

  Result<std::shared_ptr<arrow::Buffer>> Get(const Context& context, const std::string& key,
                                             ByteRange range) override {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(Object object, objects_->Find(key));
    ARROW_RETURN_NOT_OK(CheckRange(key, range, object.bytes->size()));
    return arrow::SliceBuffer(object.bytes, range.offset, range.length);
  }

  Result<std::shared_ptr<arrow::Buffer>> GetAll(const Context& context, const std::string& key,
                                                uint64_t max_size) override {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(Object object, objects_->Find(key));
    ARROW_RETURN_NOT_OK(CheckMaxSize(key, object.bytes->size(), max_size));
    return object.bytes;
  }

  Result<std::vector<std::shared_ptr<arrow::Buffer>>> GetMany(
      const Context& context, const std::string& key, std::span<const ByteRange> ranges) override {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(Object object, objects_->Find(key));
    std::vector<std::shared_ptr<arrow::Buffer>> buffers;
    buffers.reserve(ranges.size());
    for (ByteRange range : ranges) {
      ARROW_RETURN_NOT_OK(CheckRange(key, range, object.bytes->size()));
      buffers.push_back(arrow::SliceBuffer(object.bytes, range.offset, range.length));
    }
    return buffers;
  }

  Result<ObjectInfo> Head(const Context& context, const std::string& key) override {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_ASSIGN_OR_RAISE(Object object, objects_->Find(key));
    return ObjectInfo{key, static_cast<uint64_t>(object.bytes->size()), object.modified_nanos};
  }

  Result<ListPage> List(const Context& context, const ListRequest& request) override {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_RETURN_NOT_OK(CheckListRequest(request));
    return objects_->List(request);
  }

  Status Put(const Context& context, const std::string& key, std::string_view bytes,
             PutCondition condition) override {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_RETURN_NOT_OK(CheckKey(key));
    return objects_->Insert(
        key, {arrow::Buffer::FromString(std::string(bytes)), context.clock->UnixNanos()},
        condition);
  }

  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const Context& context, const std::string& key,
                                                   PutCondition condition) override {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_RETURN_NOT_OK(CheckKey(key));
    return std::make_unique<MemoryWriter>(context, objects_, key, condition);
  }

  Result<std::unique_ptr<StagedObject>> Stage(const Context& context, const std::string& key,
                                              std::string_view bytes) override {
    ARROW_RETURN_NOT_OK(context.Check());
    ARROW_RETURN_NOT_OK(CheckKey(key));
    return std::make_unique<MemoryStagedObject>(objects_, key,
                                                arrow::Buffer::FromString(std::string(bytes)));
  }

  Status Sync(const Context& context, std::span<const std::string> keys,
              std::span<StagedObject* const> staged) override {
    for (const std::string& key : keys) {
      ARROW_RETURN_NOT_OK(IsFolder(key) ? CheckKey(FolderName(key)) : objects_->Find(key).status());
    }
    return Status::OK();
  }

  Status Delete(const Context& context, const std::string& key) override {
    ARROW_RETURN_NOT_OK(CheckKey(key));
    objects_->Erase(key);
    return Status::OK();
  }

 private:
  const std::string description_ = "memory";
  const std::shared_ptr<ObjectMap> objects_ = std::make_shared<ObjectMap>();
};

}  // namespace

std::shared_ptr<ObjectStore> MakeMemoryStore() { return std::make_shared<MemoryStore>(); }

}  // namespace lake::storage
