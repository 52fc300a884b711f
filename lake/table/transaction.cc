#include <optional>

#include <arrow/buffer.h>

#include "lake/format/parse_message_internal.h"
#include "lake/format/schema_internal.h"
#include "lake/table/commit.h"
#include "lake/table/transaction_internal.h"

namespace lake::table {

namespace {

constexpr uint64_t kMaxTransactionSize = 1ull << 30;

}  // namespace

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

pb::Transaction TransactionToMessage(const Transaction& transaction) {
  pb::Transaction message;
  message.set_read_version(transaction.read_version);
  message.set_uuid(transaction.uuid.ToString());
  message.mutable_transaction_properties()->insert(transaction.properties.begin(),
                                                   transaction.properties.end());
  if (transaction.operation == Transaction::Operation::kAppend) {
    pb::Transaction::Append* append = message.mutable_append();
    for (const Fragment& fragment : transaction.fragments) {
      FragmentToMessage(fragment, append->add_fragments());
    }
    return message;
  }
  pb::Transaction::Overwrite* overwrite = message.mutable_overwrite();
  for (const Fragment& fragment : transaction.fragments) {
    FragmentToMessage(fragment, overwrite->add_fragments());
  }
  format::FieldsToMessages(transaction.schema, overwrite->mutable_schema());
  format::MetadataToMessage(transaction.schema.metadata, overwrite->mutable_schema_metadata());
  overwrite->mutable_config_upsert_values()->insert(transaction.config.begin(),
                                                    transaction.config.end());
  return message;
}

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
