#include <utility>

#include <arrow/api.h>
#include <duckdb/main/attached_database.hpp>
#include <duckdb/parser/constraints/not_null_constraint.hpp>
#include <duckdb/parser/parsed_data/create_schema_info.hpp>
#include <duckdb/parser/parsed_data/drop_info.hpp>

#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/transaction_internal.h"

namespace lake::query {
namespace {

duckdb::unique_ptr<duckdb::Catalog> Attach(duckdb::optional_ptr<duckdb::StorageExtensionInfo> info,
                                           duckdb::ClientContext&, duckdb::AttachedDatabase& db,
                                           const duckdb::string&, duckdb::AttachInfo&,
                                           duckdb::AttachOptions&) {
  auto& lake = static_cast<LakeStorageInfo&>(*info);
  return duckdb::make_uniq<LakeCatalog>(db, lake.lakehouse, lake.write_buffer_bytes);
}

duckdb::unique_ptr<duckdb::TransactionManager> MakeManager(
    duckdb::optional_ptr<duckdb::StorageExtensionInfo>, duckdb::AttachedDatabase& db,
    duckdb::Catalog& catalog) {
  return duckdb::make_uniq<LakeTransactionManager>(db, static_cast<LakeCatalog&>(catalog));
}

/// The name of the namespace that SQL means, or nothing.
Result<std::optional<std::string>> FindNamespace(duckdb::ClientContext& context,
                                                 commit::Lakehouse& lakehouse,
                                                 const std::string& name) {
  SessionState& session = SessionState::Of(context);
  auto view = lakehouse.metastore().ViewFor(session.principal);
  Result<std::string> found = view->FindNamespace(session.context, name, catalog::NameMatch::kSql);
  if (found.ok()) return *found;
  if (CodeOf(found.status()) == ErrorCode::kNotFound) return std::nullopt;
  return found.status();
}

}  // namespace

SessionState& SessionState::Of(duckdb::ClientContext& context) {
  auto state = context.registered_state->Get<SessionState>(kName);
  if (!state) {
    ThrowStatus(Error(ErrorCode::kPermissionDenied,
                      "permission denied: this connection has no session of lake"));
  }
  return *state;
}

duckdb::unique_ptr<duckdb::StorageExtension> MakeLakeStorageExtension(
    std::shared_ptr<commit::Lakehouse> lakehouse, int64_t write_buffer_bytes) {
  auto info = duckdb::make_shared_ptr<LakeStorageInfo>();
  info->lakehouse = std::move(lakehouse);
  info->write_buffer_bytes = write_buffer_bytes;
  auto extension = duckdb::make_uniq<duckdb::StorageExtension>();
  extension->attach = Attach;
  extension->create_transaction_manager = MakeManager;
  extension->storage_info = std::move(info);
  return extension;
}

void ThrowRefused(const char* what, const std::string& object) {
  ThrowStatus(
      Error(ErrorCode::kUnsupported, "unsupported: lake does not do {} yet: {}", what, object));
}

void RefuseInTransaction(duckdb::ClientContext& context, const char* what) {
  if (context.transaction.IsAutoCommit()) return;
  ThrowStatus(Error(ErrorCode::kUnsupported,
                    "unsupported inside a transaction: {}; COMMIT or ROLLBACK first", what));
}

LakeSchemaEntry& LakeCatalog::SchemaFor(const std::string& name) {
  MutexLock lock(&mutex_);
  std::unique_ptr<LakeSchemaEntry>& entry = schemas_[name];
  if (!entry) {
    duckdb::CreateSchemaInfo info;
    info.catalog = GetName();
    info.schema = name;
    entry = std::make_unique<LakeSchemaEntry>(*this, info);
  }
  return *entry;
}

duckdb::optional_ptr<duckdb::CatalogEntry> LakeCatalog::CreateSchema(
    duckdb::CatalogTransaction transaction, duckdb::CreateSchemaInfo& info) {
  duckdb::ClientContext& context = transaction.GetContext();
  RefuseInTransaction(context, "CREATE SCHEMA");
  if (info.on_conflict == duckdb::OnCreateConflict::REPLACE_ON_CONFLICT) {
    ThrowRefused("CREATE OR REPLACE SCHEMA", info.schema);
  }
  SessionState& session = SessionState::Of(context);
  const Status status = lakehouse_->metastore().CreateNamespace(session.context, info.schema);
  if (!status.ok()) {
    const bool ignore = info.on_conflict == duckdb::OnCreateConflict::IGNORE_ON_CONFLICT &&
                        CodeOf(status) == ErrorCode::kAlreadyExists;
    if (!ignore) ThrowStatus(status);
    const auto existing = ValueOrThrow(FindNamespace(context, *lakehouse_, info.schema));
    if (!existing) ThrowStatus(status);
    return &SchemaFor(*existing);
  }
  return &SchemaFor(info.schema);
}

duckdb::optional_ptr<duckdb::SchemaCatalogEntry> LakeCatalog::LookupSchema(
    duckdb::CatalogTransaction transaction, const duckdb::EntryLookupInfo& lookup,
    duckdb::OnEntryNotFound if_not_found) {
  std::optional<std::string> found;
  if (transaction.HasContext()) {
    found =
        ValueOrThrow(FindNamespace(transaction.GetContext(), *lakehouse_, lookup.GetEntryName()));
  }
  if (found) return &SchemaFor(*found);
  if (if_not_found == duckdb::OnEntryNotFound::RETURN_NULL) return nullptr;
  ThrowStatus(Error(ErrorCode::kNotFound, "not found: schema '{}'", lookup.GetEntryName()));
}

void LakeCatalog::ScanSchemas(duckdb::ClientContext& context,
                              std::function<void(duckdb::SchemaCatalogEntry&)> callback) {
  SessionState& session = SessionState::Of(context);
  auto view = lakehouse_->metastore().ViewFor(session.principal);
  for (const std::string& name : ValueOrThrow(view->ListNamespaces(session.context))) {
    callback(SchemaFor(name));
  }
}

void LakeCatalog::DropSchema(duckdb::ClientContext& context, duckdb::DropInfo& info) {
  RefuseInTransaction(context, "DROP SCHEMA");
  if (info.cascade) ThrowRefused("DROP SCHEMA ... CASCADE", info.name);
  const auto found = ValueOrThrow(FindNamespace(context, *lakehouse_, info.name));
  if (!found) {
    if (info.if_not_found == duckdb::OnEntryNotFound::RETURN_NULL) return;
    ThrowStatus(Error(ErrorCode::kNotFound, "not found: schema '{}'", info.name));
  }
  SessionState& session = SessionState::Of(context);
  ThrowIfError(lakehouse_->metastore().DropNamespace(session.context, *found));
}

duckdb::unique_ptr<duckdb::LogicalOperator> LakeCatalog::BindCreateIndex(
    duckdb::Binder&, duckdb::CreateStatement&, duckdb::TableCatalogEntry& table,
    duckdb::unique_ptr<duckdb::LogicalOperator>) {
  ThrowRefused("CREATE INDEX", table.schema.name + "." + table.name);
}

duckdb::unique_ptr<duckdb::LogicalOperator> LakeCatalog::BindAlterAddIndex(
    duckdb::Binder&, duckdb::TableCatalogEntry& table, duckdb::unique_ptr<duckdb::LogicalOperator>,
    duckdb::unique_ptr<duckdb::CreateIndexInfo>, duckdb::unique_ptr<duckdb::AlterTableInfo>) {
  ThrowRefused("ALTER TABLE ... ADD PRIMARY KEY", table.schema.name + "." + table.name);
}

duckdb::CatalogLookupBehavior LakeCatalog::CatalogTypeLookupRule(duckdb::CatalogType type) const {
  switch (type) {
    case duckdb::CatalogType::TABLE_ENTRY:
    case duckdb::CatalogType::VIEW_ENTRY:
    case duckdb::CatalogType::SCHEMA_ENTRY:
      return duckdb::CatalogLookupBehavior::STANDARD;
    default:
      return duckdb::CatalogLookupBehavior::NEVER_LOOKUP;
  }
}

}  // namespace lake::query
