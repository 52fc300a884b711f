#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"
#include "lake/table/manifest_internal.h"
#include "lake/table/transaction.h"
#include "lake/table/transaction.pb.h"

namespace lake::table {

/// The bytes of the largest transaction that is read or written.
inline constexpr uint64_t kMaxTransactionSize = 1ull << 30;

/// Where the `.txn` file of a transaction lies.
std::string TransactionFileName(uint64_t read_version, const std::string& uuid);
std::string TransactionKey(const std::string& file_name);

/// The message of `transaction`, with `operation` in place of its own: what a rebase made of it.
pb::Transaction TransactionToMessage(const Transaction& transaction, const Operation& operation);

/// Nothing if the bytes are no transaction.
std::optional<pb::Transaction> ParseTransaction(std::string_view bytes);

/// The transaction that made a version: inline in its manifest, or in its `.txn` file. kNotFound if
/// there is neither, kCorrupt if neither can be decoded.
Result<pb::Transaction> ReadTransaction(const Context& context, storage::ObjectStore* store,
                                        const ManifestFile& manifest);

/// Lance's name of the operation, such as "append"; "unknown" for one that is not in the messages.
std::string_view OperationName(const pb::Transaction& transaction);

/// A property of the transaction, or empty.
std::string Property(const pb::Transaction& transaction, const std::string& key);

}  // namespace lake::table
