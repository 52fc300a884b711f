#include <utility>

#include "lake/storage/object_store.h"

namespace lake::storage {
namespace {

class PrefixStagedObject : public StagedObject {
 public:
  PrefixStagedObject(std::string key, std::unique_ptr<StagedObject> inner)
      : key_(std::move(key)), inner_(std::move(inner)) {}

  const std::string& key() const override { return key_; }
  Status Publish(const Context& context, PutCondition condition) override {
    return inner_->Publish(context, condition);
  }
  StagedObject* inner() const { return inner_.get(); }

 private:
  const std::string key_;
  const std::unique_ptr<StagedObject> inner_;
};

class PrefixStore : public ObjectStore {
 public:
  PrefixStore(std::shared_ptr<ObjectStore> inner, std::string prefix)
      : inner_(std::move(inner)),
        prefix_(std::move(prefix) + "/"),
        description_(inner_->description() + "/" + prefix_.substr(0, prefix_.size() - 1)) {}

  const std::string& description() const override { return description_; }

  std::string identity() const override {
    std::string identity = inner_->identity();
    return identity.empty() ? identity : identity + "/" + prefix_;
  }

  Result<std::shared_ptr<arrow::Buffer>> Get(const Context& context, const std::string& key,
                                             ByteRange range) override {
    return inner_->Get(context, prefix_ + key, range);
  }

  Result<std::shared_ptr<arrow::Buffer>> GetAll(const Context& context, const std::string& key,
                                                uint64_t max_size) override {
    return inner_->GetAll(context, prefix_ + key, max_size);
  }

  Result<std::vector<std::shared_ptr<arrow::Buffer>>> GetMany(
      const Context& context, const std::string& key, std::span<const ByteRange> ranges) override {
    return inner_->GetMany(context, prefix_ + key, ranges);
  }

  Result<ObjectInfo> Head(const Context& context, const std::string& key) override {
    ARROW_ASSIGN_OR_RAISE(ObjectInfo info, inner_->Head(context, prefix_ + key));
    info.key = key;
    return info;
  }

  Result<ListPage> List(const Context& context, const ListRequest& request) override {
    ListRequest inner_request = request;
    inner_request.prefix = prefix_ + request.prefix;
    if (!request.start_after.empty()) inner_request.start_after = prefix_ + request.start_after;
    ARROW_ASSIGN_OR_RAISE(ListPage page, inner_->List(context, inner_request));
    for (ObjectInfo& info : page.objects) info.key.erase(0, prefix_.size());
    for (std::string& common : page.common_prefixes) common.erase(0, prefix_.size());
    if (!page.next_start_after.empty()) page.next_start_after.erase(0, prefix_.size());
    return page;
  }

  Status Put(const Context& context, const std::string& key, std::string_view bytes,
             PutCondition condition) override {
    return inner_->Put(context, prefix_ + key, bytes, condition);
  }

  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const Context& context, const std::string& key,
                                                   PutCondition condition) override {
    return inner_->OpenWriter(context, prefix_ + key, condition);
  }

  Result<std::unique_ptr<StagedObject>> Stage(const Context& context, const std::string& key,
                                              std::string_view bytes) override {
    ARROW_ASSIGN_OR_RAISE(auto inner, inner_->Stage(context, prefix_ + key, bytes));
    return std::make_unique<PrefixStagedObject>(key, std::move(inner));
  }

  Status Sync(const Context& context, std::span<const std::string> keys,
              std::span<StagedObject* const> staged) override {
    std::vector<std::string> inner_keys;
    inner_keys.reserve(keys.size());
    for (const std::string& key : keys) {
      // With the prefix, no key at all would be its folder.
      if (key.empty()) ARROW_RETURN_NOT_OK(CheckKey(key));
      inner_keys.push_back(prefix_ + key);
    }
    std::vector<StagedObject*> inner_staged(staged.begin(), staged.end());
    for (StagedObject*& object : inner_staged) {
      if (auto* ours = dynamic_cast<PrefixStagedObject*>(object)) object = ours->inner();
    }
    return inner_->Sync(context, inner_keys, inner_staged);
  }

  Status Delete(const Context& context, const std::string& key) override {
    return inner_->Delete(context, prefix_ + key);
  }

 private:
  const std::shared_ptr<ObjectStore> inner_;
  const std::string prefix_;
  const std::string description_;
};

}  // namespace

std::shared_ptr<ObjectStore> MakePrefixStore(std::shared_ptr<ObjectStore> store,
                                             std::string prefix) {
  return std::make_shared<PrefixStore>(std::move(store), std::move(prefix));
}

}  // namespace lake::storage
