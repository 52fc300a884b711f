#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/storage/object_store.h"

namespace lake::storage {

enum class StoreOperation {
  kGet,
  kGetAll,
  kGetMany,
  kHead,
  kList,
  kPut,
  kOpenWriter,
  kWrite,   ///< ObjectWriter::Write
  kFinish,  ///< ObjectWriter::Finish
  kStage,
  kPublish,  ///< StagedObject::Publish
  kSync,
  kDelete,
};

/// Such as "publish". Static storage.
std::string_view StoreOperationName(StoreOperation operation);

/// True if the operation changes what is stored or makes it durable.
bool IsWrite(StoreOperation operation);

/// One call on a store, its writers or its staged objects.
struct StoreCall {
  StoreOperation operation = StoreOperation::kGet;
  /// The object; the prefix for kList; all keys, those of staged objects last, joined by ' ' for
  /// kSync.
  std::string key;
  /// What kGet and kGetMany ask for.
  std::vector<ByteRange> ranges;
  /// How many bytes kPut, kWrite and kStage bring.
  uint64_t bytes = 0;

  /// Such as "publish _versions/1.manifest".
  std::string ToString() const;
};

/// The base of stores that forward every call to another one and do something around it.
class InterceptedStore : public ObjectStore {
 public:
  explicit InterceptedStore(std::shared_ptr<ObjectStore> inner) : inner_(std::move(inner)) {}

  const std::string& description() const override { return inner_->description(); }
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
              std::span<StagedObject* const> staged) override;
  Status Delete(const Context& context, const std::string& key) override;

  /// Decides about `call`: runs `effect`, the real call, once or not at all, and returns what the
  /// caller gets to see. An error of `effect` must not become OK. Called on any thread; writers and
  /// staged objects call it only while the store lives.
  virtual Status Around(const Context& context, const StoreCall& call,
                        const std::function<Status()>& effect) = 0;

 protected:
  ObjectStore* inner() const { return inner_.get(); }

 private:
  template <typename T>
  Result<T> Run(const Context& context, const StoreCall& call,
                const std::function<Result<T>()>& effect);

  const std::shared_ptr<ObjectStore> inner_;
};

}  // namespace lake::storage
