#include "lake/storage/testing/intercepted_store.h"

#include <optional>
#include <utility>

#include <arrow/buffer.h>

namespace lake::storage {
namespace {

class InterceptedWriter : public ObjectWriter {
 public:
  InterceptedWriter(Context context, InterceptedStore* store, std::string key,
                    std::unique_ptr<ObjectWriter> inner)
      : context_(std::move(context)),
        store_(store),
        key_(std::move(key)),
        inner_(std::move(inner)) {}

  Status Write(std::string_view bytes) override {
    return store_->Around(context_, {StoreOperation::kWrite, key_, {}, bytes.size()},
                          [&] { return inner_->Write(bytes); });
  }
  uint64_t position() const override { return inner_->position(); }
  Status Finish() override {
    return store_->Around(context_, {StoreOperation::kFinish, key_, {}, 0},
                          [&] { return inner_->Finish(); });
  }

 private:
  const Context context_;
  InterceptedStore* const store_;
  const std::string key_;
  const std::unique_ptr<ObjectWriter> inner_;
};

class InterceptedStagedObject : public StagedObject {
 public:
  InterceptedStagedObject(InterceptedStore* store, std::unique_ptr<StagedObject> inner)
      : store_(store), inner_(std::move(inner)) {}

  const std::string& key() const override { return inner_->key(); }
  Status Publish(const Context& context, PutCondition condition) override {
    return store_->Around(context, {StoreOperation::kPublish, key(), {}, 0},
                          [&] { return inner_->Publish(context, condition); });
  }
  StagedObject* inner() const { return inner_.get(); }

 private:
  InterceptedStore* const store_;
  const std::unique_ptr<StagedObject> inner_;
};

}  // namespace

std::string_view StoreOperationName(StoreOperation operation) {
  switch (operation) {
    case StoreOperation::kGet:
      return "get";
    case StoreOperation::kGetAll:
      return "get_all";
    case StoreOperation::kGetMany:
      return "get_many";
    case StoreOperation::kHead:
      return "head";
    case StoreOperation::kList:
      return "list";
    case StoreOperation::kPut:
      return "put";
    case StoreOperation::kOpenWriter:
      return "open_writer";
    case StoreOperation::kWrite:
      return "write";
    case StoreOperation::kFinish:
      return "finish";
    case StoreOperation::kStage:
      return "stage";
    case StoreOperation::kPublish:
      return "publish";
    case StoreOperation::kSync:
      return "sync";
    case StoreOperation::kDelete:
      return "delete";
  }
  return "unknown";
}

bool IsWrite(StoreOperation operation) {
  switch (operation) {
    case StoreOperation::kGet:
    case StoreOperation::kGetAll:
    case StoreOperation::kGetMany:
    case StoreOperation::kHead:
    case StoreOperation::kList:
      return false;
    default:
      return true;
  }
}

std::string StoreCall::ToString() const {
  std::string text(StoreOperationName(operation));
  if (!key.empty()) text += " " + key;
  return text;
}

template <typename T>
Result<T> InterceptedStore::Run(const Context& context, const StoreCall& call,
                                const std::function<Result<T>()>& effect) {
  std::optional<Result<T>> result;
  ARROW_RETURN_NOT_OK(Around(context, call, [&] {
    result.emplace(effect());
    return result->status();
  }));
  return *std::move(result);
}

Result<std::shared_ptr<arrow::Buffer>> InterceptedStore::Get(const Context& context,
                                                             const std::string& key,
                                                             ByteRange range) {
  return Run<std::shared_ptr<arrow::Buffer>>(context, {StoreOperation::kGet, key, {range}, 0},
                                             [&] { return inner_->Get(context, key, range); });
}

Result<std::shared_ptr<arrow::Buffer>> InterceptedStore::GetAll(const Context& context,
                                                                const std::string& key,
                                                                uint64_t max_size) {
  return Run<std::shared_ptr<arrow::Buffer>>(context, {StoreOperation::kGetAll, key, {}, 0}, [&] {
    return inner_->GetAll(context, key, max_size);
  });
}

Result<std::vector<std::shared_ptr<arrow::Buffer>>> InterceptedStore::GetMany(
    const Context& context, const std::string& key, std::span<const ByteRange> ranges) {
  return Run<std::vector<std::shared_ptr<arrow::Buffer>>>(
      context, {StoreOperation::kGetMany, key, {ranges.begin(), ranges.end()}, 0},
      [&] { return inner_->GetMany(context, key, ranges); });
}

Result<ObjectInfo> InterceptedStore::Head(const Context& context, const std::string& key) {
  return Run<ObjectInfo>(context, {StoreOperation::kHead, key, {}, 0},
                         [&] { return inner_->Head(context, key); });
}

Result<ListPage> InterceptedStore::List(const Context& context, const ListRequest& request) {
  return Run<ListPage>(context, {StoreOperation::kList, request.prefix, {}, 0},
                       [&] { return inner_->List(context, request); });
}

Status InterceptedStore::Put(const Context& context, const std::string& key, std::string_view bytes,
                             PutCondition condition) {
  return Around(context, {StoreOperation::kPut, key, {}, bytes.size()},
                [&] { return inner_->Put(context, key, bytes, condition); });
}

Result<std::unique_ptr<ObjectWriter>> InterceptedStore::OpenWriter(const Context& context,
                                                                   const std::string& key,
                                                                   PutCondition condition) {
  ARROW_ASSIGN_OR_RAISE(auto writer, Run<std::unique_ptr<ObjectWriter>>(
                                         context, {StoreOperation::kOpenWriter, key, {}, 0}, [&] {
                                           return inner_->OpenWriter(context, key, condition);
                                         }));
  return std::make_unique<InterceptedWriter>(context, this, key, std::move(writer));
}

Result<std::unique_ptr<StagedObject>> InterceptedStore::Stage(const Context& context,
                                                              const std::string& key,
                                                              std::string_view bytes) {
  ARROW_ASSIGN_OR_RAISE(auto staged, Run<std::unique_ptr<StagedObject>>(
                                         context, {StoreOperation::kStage, key, {}, bytes.size()},
                                         [&] { return inner_->Stage(context, key, bytes); }));
  return std::make_unique<InterceptedStagedObject>(this, std::move(staged));
}

Status InterceptedStore::Sync(const Context& context, std::span<const std::string> keys,
                              std::span<StagedObject* const> staged) {
  StoreCall call{StoreOperation::kSync, {}, {}, 0};
  auto add = [&call](const std::string& key) {
    if (!call.key.empty()) call.key += ' ';
    call.key += key;
  };
  for (const std::string& key : keys) add(key);
  std::vector<StagedObject*> inner_staged(staged.begin(), staged.end());
  for (StagedObject*& object : inner_staged) {
    add(object->key());
    if (auto* ours = dynamic_cast<InterceptedStagedObject*>(object)) object = ours->inner();
  }
  return Around(context, call, [&] { return inner_->Sync(context, keys, inner_staged); });
}

Status InterceptedStore::Delete(const Context& context, const std::string& key) {
  return Around(context, {StoreOperation::kDelete, key, {}, 0},
                [&] { return inner_->Delete(context, key); });
}

}  // namespace lake::storage
