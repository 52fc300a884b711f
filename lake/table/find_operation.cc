#include <charconv>

#include "lake/table/commit.h"
#include "lake/table/transaction_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {
namespace {

uint64_t RowsWritten(const pb::Transaction& transaction) {
  uint64_t rows = 0;
  const std::string told = Property(transaction, kNumRowsProperty);
  if (std::from_chars(told.data(), told.data() + told.size(), rows).ec == std::errc()) return rows;
  rows = 0;
  for (const pb::DataFragment& fragment : transaction.append().fragments()) {
    rows += fragment.physical_rows();
  }
  for (const pb::DataFragment& fragment : transaction.overwrite().fragments()) {
    rows += fragment.physical_rows();
  }
  return rows;
}

}  // namespace

Result<OperationOutcome> FindOperation(const Context& context, storage::ObjectStore* store,
                                       uint64_t base, const std::string& operation_id) {
  ARROW_ASSIGN_OR_RAISE(VersionList list, ListVersions(context, store));
  auto unknown = [](std::string reason) {
    return OperationOutcome{.state = OperationOutcome::State::kUnknown,
                            .version = 0,
                            .payload_digest = {},
                            .num_rows = 0,
                            .reason = std::move(reason)};
  };
  const uint64_t newest = list.empty() ? 0 : list.newest();
  if (newest < base) {
    return unknown(fmt::format("the newest version {} is older than the base {}", newest, base));
  }
  // From the newest down: a retry mostly asks for what was committed last.
  std::optional<std::string> gap;
  for (uint64_t version = newest; version > base; --version) {
    if (!list.Contains(version)) {
      return unknown(fmt::format("version {} is gone", version));
    }
    Result<std::shared_ptr<const Manifest>> manifest =
        ReadManifest(context, store, version, list.naming);
    if (!manifest.ok()) {
      if (!gap) gap = fmt::format("version {}: {}", version, ErrorText(manifest.status()));
      continue;
    }
    Result<pb::Transaction> transaction = ReadTransaction(context, store, FileOf(**manifest));
    if (!transaction.ok()) {
      if (!gap) gap = fmt::format("version {}: {}", version, ErrorText(transaction.status()));
      continue;
    }
    if (Property(*transaction, kOperationIdProperty) == operation_id) {
      return OperationOutcome{.state = OperationOutcome::State::kCommitted,
                              .version = version,
                              .payload_digest = Property(*transaction, kPayloadDigestProperty),
                              .num_rows = RowsWritten(*transaction),
                              .reason = {}};
    }
  }
  if (gap) return unknown(*std::move(gap));
  return OperationOutcome{};
}

Result<std::optional<Uuid>> FirstTransactionUuid(const Context& context,
                                                 storage::ObjectStore* store) {
  ARROW_ASSIGN_OR_RAISE(VersionList list, ListVersions(context, store));
  std::optional<Uuid> none;
  if (list.empty()) return none;
  // A clone begins with its source's number: then the oldest version is the first if it says so.
  const uint64_t first = list.versions.front();
  Result<std::shared_ptr<const Manifest>> manifest =
      ReadManifest(context, store, first, list.naming);
  if (!manifest.ok()) {
    if (CodeOf(manifest.status()) == ErrorCode::kNotFound) return none;
    return manifest.status();
  }
  Result<pb::Transaction> transaction = ReadTransaction(context, store, FileOf(**manifest));
  if (!transaction.ok()) return none;
  if (first != 1 && !(transaction->has_clone() && transaction->clone().ref_version() == first)) {
    return none;
  }
  Result<Uuid> uuid = Uuid::Parse(transaction->uuid());
  return uuid.ok() ? std::optional<Uuid>(*uuid) : none;
}

}  // namespace lake::table
