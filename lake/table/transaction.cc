#include "lake/table/transaction.h"

#include <limits>
#include <optional>

#include <arrow/buffer.h>

#include "lake/format/parse_message_internal.h"
#include "lake/table/transaction_internal.h"

namespace lake::table {

std::optional<pb::Transaction> ParseTransaction(std::string_view bytes) {
  pb::Transaction message;
  if (bytes.size() > kMaxTransactionSize ||
      !format::ParseMessage(bytes, "transaction", &message).ok() || message.uuid().empty()) {
    return std::nullopt;
  }
  return message;
}

std::string TransactionFileName(uint64_t read_version, const std::string& uuid) {
  return fmt::format("{}-{}.txn", read_version, uuid);
}

std::string TransactionKey(const std::string& file_name) { return "_transactions/" + file_name; }

Result<pb::Transaction> ReadTransaction(const Context& context, storage::ObjectStore* store,
                                        const ManifestFile& manifest) {
  if (manifest.inline_transaction()) {
    std::optional<pb::Transaction> message = ParseTransaction(*manifest.inline_transaction());
    if (message) return *std::move(message);
  }
  if (manifest.transaction_file().empty()) {
    return Error(ErrorCode::kNotFound, "version names no transaction: version {} of {}",
                 manifest.version(), store->description());
  }
  const std::string key = TransactionKey(manifest.transaction_file());
  if (!storage::CheckKey(key).ok()) {
    return Error(ErrorCode::kCorrupt,
                 "transaction file of a version is no file name: version {}: {}",
                 manifest.version(), manifest.transaction_file());
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes,
                        store->GetAll(context, key, kMaxTransactionSize));
  std::optional<pb::Transaction> message = ParseTransaction(std::string_view(*bytes));
  if (!message) {
    return Error(ErrorCode::kCorrupt, "transaction file is no valid transaction: {}", key);
  }
  return *std::move(message);
}

Transaction NewTransaction(const Context& context, uint64_t read_version, Operation operation,
                           std::vector<std::string> new_objects) {
  Transaction transaction;
  transaction.uuid = Uuid::NewV4(context);
  transaction.read_version = read_version;
  transaction.operation = std::move(operation);
  transaction.new_objects = std::move(new_objects);
  return transaction;
}

Status RemoveUncommitted(const Context& context, storage::ObjectStore* store,
                         const std::vector<std::string>& new_objects) {
  // Also for removing what a cancelled call left.
  Context cleanup = context;
  cleanup.cancel = CancelToken();
  cleanup.deadline = std::numeric_limits<int64_t>::max();
  Status first;
  for (const std::string& key : new_objects) {
    Status removed = store->Delete(cleanup, key);
    if (first.ok()) first = std::move(removed);
  }
  return first;
}

std::string_view OperationName(const Operation& operation) {
  // In the order of the variant.
  constexpr std::string_view kNames[] = {
      "append",       "overwrite",     "delete",           "update",
      "merge",        "project",       "rewrite",          "reserve_fragments",
      "restore",      "update_config", "data_replacement", "create_index",
      "update_bases", "clone"};
  static_assert(std::size(kNames) == std::variant_size_v<Operation>);
  return kNames[operation.index()];
}

std::string_view OperationName(const pb::Transaction& transaction) {
  const google::protobuf::OneofDescriptor* oneof =
      pb::Transaction::descriptor()->FindOneofByName("operation");
  const google::protobuf::FieldDescriptor* field =
      transaction.GetReflection()->GetOneofFieldDescriptor(transaction, oneof);
  return field == nullptr ? std::string_view("unknown") : std::string_view(field->name());
}

std::string Property(const pb::Transaction& transaction, const std::string& key) {
  auto found = transaction.transaction_properties().find(key);
  return found == transaction.transaction_properties().end() ? std::string() : found->second;
}

}  // namespace lake::table
