#include <limits>
#include <utility>

#include <duckdb/common/string_util.hpp>
#include <duckdb/common/types/timestamp.hpp>

#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/statement_change_internal.h"
#include "lake/query/transaction_internal.h"

namespace lake::query {
namespace {

/// `AT (VERSION => 'branch:name')` is the newest version of a branch.
constexpr char kBranchPrefix[] = "branch:";

/// Nanoseconds below the microsecond that the text of a time carries beyond DuckDB's precision:
/// digits 7 to 9 of its fraction.
int64_t NanosBelowMicro(const std::string& text) {
  const size_t dot = text.find('.');
  if (dot == std::string::npos) return 0;
  int64_t nanos = 0;
  int64_t unit = 100;
  for (size_t i = dot + 7; i < dot + 10 && i < text.size(); ++i) {
    bool all_digits = true;
    for (size_t j = dot + 1; j <= i; ++j) all_digits &= text[j] >= '0' && text[j] <= '9';
    if (!all_digits) break;
    nanos += (text[i] - '0') * unit;
    unit /= 10;
  }
  return nanos;
}

/// `text` with at most six digits of fraction, so that the cast to microseconds cannot round.
std::string CutToMicros(const std::string& text) {
  const size_t dot = text.find('.');
  if (dot == std::string::npos) return text;
  size_t end = dot + 1;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  if (end - dot - 1 <= 6) return text;
  return text.substr(0, dot + 7) + text.substr(end);
}

Result<int64_t> NanosFrom(duckdb::ClientContext& context, duckdb::Value value) {
  int64_t below_micro = 0;
  switch (value.type().id()) {
    case duckdb::LogicalTypeId::TIMESTAMP_NS: {
      const int64_t nanos = value.GetValueUnsafe<int64_t>();
      below_micro = ((nanos % 1000) + 1000) % 1000;
      value = duckdb::Value::TIMESTAMP(duckdb::timestamp_t((nanos - below_micro) / 1000));
      break;
    }
    case duckdb::LogicalTypeId::VARCHAR: {
      const std::string text = value.GetValue<std::string>();
      below_micro = NanosBelowMicro(text);
      value = duckdb::Value(CutToMicros(text));
      break;
    }
    case duckdb::LogicalTypeId::TIMESTAMP:
    case duckdb::LogicalTypeId::TIMESTAMP_SEC:
    case duckdb::LogicalTypeId::TIMESTAMP_MS:
    case duckdb::LogicalTypeId::TIMESTAMP_TZ:
    case duckdb::LogicalTypeId::DATE:
      break;
    default:
      return Error(ErrorCode::kInvalidArgument,
                   "AT (TIMESTAMP => t) takes a timestamp, a date or the text of one, not {}",
                   value.type().ToString());
  }
  duckdb::string message;
  duckdb::Value zoned;
  if (value.IsNull() ||
      !value.TryCastAs(context, duckdb::LogicalType::TIMESTAMP_TZ, zoned, &message) ||
      zoned.IsNull()) {
    return Error(ErrorCode::kInvalidArgument, "AT (TIMESTAMP => t): not a time: '{}'",
                 value.ToString());
  }
  const int64_t micros = zoned.GetValueUnsafe<int64_t>();
  // Beyond what nanoseconds count lies no version: the newest is older, the oldest younger.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 1000 - 1;
  if (micros > kMost) return std::numeric_limits<int64_t>::max();
  if (micros < -kMost) return std::numeric_limits<int64_t>::min();
  return micros * 1000 + below_micro;
}

}  // namespace

Result<table::OpenOptions> OpenOptionsFrom(duckdb::ClientContext& context,
                                           const duckdb::BoundAtClause& at) {
  table::OpenOptions options;
  if (duckdb::StringUtil::CIEquals(at.Unit(), "version")) {
    duckdb::Value version = at.GetValue();
    // DuckDB's parser knows no AT (TAG => ...).
    if (!version.IsNull() && version.type().id() == duckdb::LogicalTypeId::VARCHAR) {
      const std::string name = version.GetValue<std::string>();
      if (name.rfind(kBranchPrefix, 0) == 0) {
        options.branch = name.substr(sizeof(kBranchPrefix) - 1);
        return options;
      }
      if (name.find_first_not_of("0123456789") != std::string::npos) {
        options.tag = name;
        return options;
      }
    }
    if (version.IsNull() || !version.DefaultTryCastAs(duckdb::LogicalType::UBIGINT)) {
      return Error(ErrorCode::kInvalidArgument, "AT (VERSION => n): not a version number: '{}'",
                   at.GetValue().ToString());
    }
    options.version = version.GetValueUnsafe<uint64_t>();
    return options;
  }
  if (duckdb::StringUtil::CIEquals(at.Unit(), "timestamp")) {
    ARROW_ASSIGN_OR_RAISE(options.as_of_nanos, NanosFrom(context, at.GetValue()));
    return options;
  }
  return Error(ErrorCode::kUnsupported, "unsupported: AT ({} => ...); VERSION and TIMESTAMP are",
               at.Unit());
}

LakeTransaction::LakeTransaction(duckdb::TransactionManager& manager,
                                 duckdb::ClientContext& context, LakeCatalog& catalog)
    : duckdb::Transaction(manager, context), catalog_(catalog) {}

LakeTransaction::~LakeTransaction() = default;

LakeTransaction& LakeTransaction::Get(duckdb::ClientContext& context, duckdb::Catalog& catalog) {
  return static_cast<LakeTransaction&>(duckdb::Transaction::Get(context, catalog));
}

std::shared_ptr<const commit::OpenTable> LakeTransaction::Open(const Context& context,
                                                               const catalog::Entry& entry,
                                                               const table::OpenOptions& options) {
  const bool newest = !options.version && !options.as_of_nanos && !options.tag && !options.branch;
  if (newest) {
    MutexLock lock(&mutex_);
    const auto pin = pins_.find(entry.incarnation);
    if (pin != pins_.end()) return pin->second;
  }
  auto table = ValueOrThrow(catalog_.lakehouse().OpenEntry(context, entry, options));
  if (!newest) return table;
  MutexLock lock(&mutex_);
  return pins_.emplace(entry.incarnation, std::move(table)).first->second;
}

std::shared_ptr<LakeTableEntry> LakeTransaction::FindTable(duckdb::ClientContext& context,
                                                           LakeSchemaEntry& schema,
                                                           const std::string& name,
                                                           const duckdb::BoundAtClause* at) {
  TableKey key{schema.name, name, ""};
  if (at != nullptr) key.at = at->Unit() + " " + at->GetValue().ToSQLString();
  {
    MutexLock lock(&mutex_);
    const auto known = tables_.find(key);
    if (known != tables_.end()) return known->second;
  }
  SessionState& session = SessionState::Of(context);
  auto view = catalog_.lakehouse().metastore().ViewFor(session.principal);
  const auto entry = view->Find(session.context, {schema.name, name}, catalog::NameMatch::kSql);
  if (!entry.ok() && CodeOf(entry.status()) == ErrorCode::kNotFound) return nullptr;
  ThrowIfError(entry.status());
  if (entry->kind != catalog::EntryKind::kTable) return nullptr;
  const table::OpenOptions options =
      at == nullptr ? table::OpenOptions{} : ValueOrThrow(OpenOptionsFrom(context, *at));
  auto table = Open(session.context, *entry, options);
  auto sql = ValueOrThrow(
      SqlTableFromArrow(context, entry->name.ToString(), *table->dataset->arrow_schema()));
  auto made = LakeTableEntry::Make(schema, entry->name.name, std::move(table), std::move(sql));
  MutexLock lock(&mutex_);
  return tables_.emplace(std::move(key), std::move(made)).first->second;
}

void LakeTransaction::NoteRead(std::shared_ptr<const commit::OpenTable> table) {
  MutexLock lock(&mutex_);
  read_.insert(std::move(table));
}

std::shared_ptr<const commit::OpenTable> LakeTransaction::ReadVersion(const Uuid& incarnation) {
  MutexLock lock(&mutex_);
  const auto pin = pins_.find(incarnation);
  const bool reads = pin != pins_.end() && read_.contains(pin->second);
  return reads ? pin->second : nullptr;
}

void LakeTransaction::Keep(std::shared_ptr<LakeTableEntry> entry) {
  MutexLock lock(&mutex_);
  kept_.push_back(std::move(entry));
}

void LakeTransaction::CheckWritable(const commit::OpenTable& table) {
  if (!pending_ || pending_->empty() ||
      pending_->table()->entry.incarnation == table.entry.incarnation) {
    return;
  }
  ThrowStatus(
      Error(ErrorCode::kUnsupported,
            "unsupported: a second written table in one transaction; COMMIT first: written '{}', "
            "now '{}'",
            pending_->table()->entry.name.ToString(), table.entry.name.ToString()));
}

void LakeTransaction::AddPending(PendingPart part, std::span<const uint64_t> removed,
                                 const ChangePlan& plan) {
  if ((part.rows == nullptr || part.rows->Count() == 0) && removed.empty()) return;
  const std::shared_ptr<const commit::OpenTable>& table = plan.table->table();
  CheckWritable(*table);
  if (!pending_ || pending_->empty()) pending_.emplace(table);
  pending_->Add(std::move(part), removed, plan);
}

const PendingChanges* LakeTransaction::PendingFor(const Uuid& incarnation) const {
  const bool mine =
      pending_ && !pending_->empty() && pending_->table()->entry.incarnation == incarnation;
  return mine ? &*pending_ : nullptr;
}

void LakeTransaction::SetWrite(std::unique_ptr<commit::TableWrite> write) {
  write_ = std::move(write);
}

Status LakeTransaction::Commit(duckdb::ClientContext& context) {
  if (write_) {
    auto write = std::move(write_);
    return write->Commit(SessionState::Of(context).context).status();
  }
  if (pending_ && !pending_->empty()) return CommitPending(context);
  return Status::OK();
}

Status LakeTransaction::CommitPending(duckdb::ClientContext& context) {
  SessionState& session = SessionState::Of(context);
  commit::WriteOptions options;
  options.operation = std::exchange(session.operation, {});
  options.file_provenance_proved = pending_->file_provenance_proved();
  options.max_buffered_bytes = static_cast<uint64_t>(catalog_.write_buffer_bytes());
  options.inserts_by_key = pending_->inserts_by_key();
  ARROW_ASSIGN_OR_RAISE(auto change, catalog_.lakehouse().ChangeRows(
                                         session.context, session.principal, pending_->table(),
                                         pending_->changed_columns(), options));
  ARROW_RETURN_NOT_OK(pending_->WriteTo(context, change.get()));
  ARROW_RETURN_NOT_OK(change->Finish());
  return change->Commit(session.context).status();
}

Status LakeTransaction::Abort(const Context& context) {
  pending_.reset();
  if (!write_) return Status::OK();
  auto write = std::move(write_);
  return write->Abort(context);
}

duckdb::Transaction& LakeTransactionManager::StartTransaction(duckdb::ClientContext& context) {
  auto transaction = std::make_unique<LakeTransaction>(*this, context, catalog_);
  LakeTransaction& result = *transaction;
  MutexLock lock(&mutex_);
  open_.emplace(&result, std::move(transaction));
  return result;
}

std::unique_ptr<LakeTransaction> LakeTransactionManager::Take(duckdb::Transaction& transaction) {
  MutexLock lock(&mutex_);
  auto node = open_.extract(&transaction);
  return node.empty() ? nullptr : std::move(node.mapped());
}

duckdb::ErrorData LakeTransactionManager::CommitTransaction(duckdb::ClientContext& context,
                                                            duckdb::Transaction& transaction) {
  const auto mine = Take(transaction);
  Status status;
  try {
    status = mine->Commit(context);
  } catch (const std::exception& exception) {
    status = StatusFromDuckDb(duckdb::ErrorData(exception));
  }
  if (status.ok()) return {};
  SessionState::Of(context).commit_error = status;
  return ErrorDataFrom(status);
}

void LakeTransactionManager::RollbackTransaction(duckdb::Transaction& transaction) {
  const auto mine = Take(transaction);
  if (!mine) return;
  // The rows are gone in any case: what Abort could not remove is a leftover that `selftest` lists.
  const Status status = mine->Abort(Context{});
  static_cast<void>(status);
}

}  // namespace lake::query
