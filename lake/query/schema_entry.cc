#include <cctype>
#include <utility>

#include <arrow/api.h>
#include <duckdb/parser/constraints/not_null_constraint.hpp>
#include <duckdb/parser/parsed_data/alter_info.hpp>
#include <duckdb/parser/parsed_data/create_collation_info.hpp>
#include <duckdb/parser/parsed_data/create_copy_function_info.hpp>
#include <duckdb/parser/parsed_data/create_index_info.hpp>
#include <duckdb/parser/parsed_data/create_pragma_function_info.hpp>
#include <duckdb/parser/parsed_data/create_sequence_info.hpp>
#include <duckdb/parser/parsed_data/create_table_function_info.hpp>
#include <duckdb/parser/parsed_data/create_type_info.hpp>
#include <duckdb/parser/parsed_data/create_view_info.hpp>
#include <duckdb/parser/parsed_data/drop_info.hpp>
#include <duckdb/planner/operator/logical_update.hpp>
#include <duckdb/storage/statistics/base_statistics.hpp>

#include "lake/query/catalog_internal.h"
#include "lake/query/duckdb_error_internal.h"
#include "lake/query/scan_internal.h"
#include "lake/query/session_state_internal.h"
#include "lake/query/transaction_internal.h"

namespace lake::query {
namespace {

const char* KindName(duckdb::CatalogType type) {
  switch (type) {
    case duckdb::CatalogType::VIEW_ENTRY:
      return "view";
    case duckdb::CatalogType::SEQUENCE_ENTRY:
      return "sequence";
    case duckdb::CatalogType::INDEX_ENTRY:
      return "index";
    case duckdb::CatalogType::TYPE_ENTRY:
      return "type";
    case duckdb::CatalogType::MACRO_ENTRY:
      return "macro";
    case duckdb::CatalogType::TABLE_MACRO_ENTRY:
      return "table macro";
    default:
      return "object";
  }
}

void RefuseConstraint(const duckdb::Constraint& constraint, const std::string& table) {
  switch (constraint.type) {
    case duckdb::ConstraintType::NOT_NULL:
      return;
    case duckdb::ConstraintType::CHECK:
      ThrowRefused("CHECK constraints", table);
    case duckdb::ConstraintType::UNIQUE:
      ThrowRefused("PRIMARY KEY and UNIQUE constraints", table);
    case duckdb::ConstraintType::FOREIGN_KEY:
      ThrowRefused("FOREIGN KEY constraints", table);
    default:
      ThrowRefused("this constraint", table);
  }
}

/// An entry of a table that a listing shows although it cannot be opened or not be shown in SQL: no
/// columns.
std::shared_ptr<LakeTableEntry> EntryWithoutColumns(LakeSchemaEntry& schema,
                                                    const catalog::Entry& entry) {
  auto table = std::make_shared<commit::OpenTable>();
  table->entry = entry;
  return LakeTableEntry::Make(schema, entry.name.name, std::move(table), nullptr);
}

}  // namespace

void RefuseReservedColumn(const std::string& column) {
  const bool reserved = column.rfind("_row", 0) == 0 || column == "_distance" || column == "_score";
  if (!reserved) return;
  ThrowStatus(Error(ErrorCode::kInvalidArgument,
                    "reserved column name (_row*, _distance and _score are): '{}'", column));
}

std::shared_ptr<arrow::Schema> SchemaForCreate(const duckdb::CreateTableInfo& info) {
  const std::string table = info.schema + "." + info.table;
  std::vector<bool> not_null(info.columns.LogicalColumnCount(), false);
  for (const auto& constraint : info.constraints) {
    RefuseConstraint(*constraint, table);
    not_null[constraint->Cast<duckdb::NotNullConstraint>().index.index] = true;
  }
  arrow::FieldVector fields;
  for (const auto& column : info.columns.Logical()) {
    if (column.Generated()) ThrowRefused("generated columns", table + ", column " + column.Name());
    if (column.HasDefaultValue()) ThrowRefused("DEFAULT", table + ", column " + column.Name());
    RefuseReservedColumn(column.Name());
    fields.push_back(
        ValueOrThrow(FieldForCreate(column.Name(), column.Type(), !not_null[fields.size()])));
  }
  return arrow::schema(std::move(fields));
}

void LakeSchemaEntry::Scan(duckdb::ClientContext& context, duckdb::CatalogType type,
                           const std::function<void(duckdb::CatalogEntry&)>& callback) {
  if (type != duckdb::CatalogType::TABLE_ENTRY) return;
  SessionState& session = SessionState::Of(context);
  LakeTransaction& transaction = LakeTransaction::Get(context, catalog);
  auto view = lake_catalog_.lakehouse().metastore().ViewFor(session.principal);
  for (const catalog::Entry& entry : ValueOrThrow(view->ListEntries(session.context, name))) {
    if (entry.kind != catalog::EntryKind::kTable) continue;
    std::shared_ptr<LakeTableEntry> table;
    try {
      table = transaction.FindTable(context, *this, entry.name.name, nullptr);
    } catch (const std::exception& exception) {
      const ErrorCode code = CodeOf(StatusFromDuckDb(duckdb::ErrorData(exception)));
      if (code == ErrorCode::kCancelled || code == ErrorCode::kDeadlineExceeded) throw;
      // One table that cannot be read must not hide the others; naming it in a query tells why.
      table = EntryWithoutColumns(*this, entry);
      transaction.Keep(table);
    }
    if (table) callback(*table);
  }
}

LakeSchemaEntry::Entry LakeSchemaEntry::LookupEntry(duckdb::CatalogTransaction transaction,
                                                    const duckdb::EntryLookupInfo& lookup) {
  const bool may_be_table = lookup.GetCatalogType() == duckdb::CatalogType::TABLE_ENTRY ||
                            lookup.GetCatalogType() == duckdb::CatalogType::VIEW_ENTRY;
  if (!may_be_table || !transaction.HasContext()) return nullptr;
  duckdb::ClientContext& context = transaction.GetContext();
  const auto table =
      LakeTransaction::Get(context, catalog)
          .FindTable(context, *this, lookup.GetEntryName(), lookup.GetAtClause().get());
  return table.get();  // The transaction keeps it.
}

LakeSchemaEntry::Entry LakeSchemaEntry::CreateTable(duckdb::CatalogTransaction transaction,
                                                    duckdb::BoundCreateTableInfo& bound) {
  duckdb::ClientContext& context = transaction.GetContext();
  duckdb::CreateTableInfo& info = bound.Base();
  RefuseInTransaction(context, "CREATE TABLE");
  SessionState& session = SessionState::Of(context);
  const catalog::QualifiedName qualified{name, info.table};
  if (info.on_conflict == duckdb::OnCreateConflict::IGNORE_ON_CONFLICT) {
    auto view = lake_catalog_.lakehouse().metastore().ViewFor(session.principal);
    const auto found = view->Find(session.context, qualified, catalog::NameMatch::kSql);
    if (found.ok()) return nullptr;
    if (CodeOf(found.status()) != ErrorCode::kNotFound) ThrowStatus(found.status());
  }
  const auto schema = SchemaForCreate(info);
  commit::WriteOptions options;
  options.operation = std::exchange(session.operation, {});
  options.file_provenance_proved = true;  // There are no rows.
  options.file_version = session.table_options.file_version;
  auto write = StartCreate(context, lake_catalog_, qualified, *schema, options, info.on_conflict);
  if (!write.ok() && CodeOf(write.status()) == ErrorCode::kAlreadyExists &&
      info.on_conflict == duckdb::OnCreateConflict::IGNORE_ON_CONFLICT) {
    return nullptr;
  }
  ThrowIfError(write.status());
  ThrowIfError((*write)->Commit(session.context).status());
  return nullptr;
}

Result<std::unique_ptr<commit::TableWrite>> StartCreate(duckdb::ClientContext& context,
                                                        LakeCatalog& catalog,
                                                        const catalog::QualifiedName& name,
                                                        const arrow::Schema& schema,
                                                        const commit::WriteOptions& options,
                                                        duckdb::OnCreateConflict on_conflict) {
  SessionState& session = SessionState::Of(context);
  commit::Lakehouse& lakehouse = catalog.lakehouse();
  if (on_conflict == duckdb::OnCreateConflict::REPLACE_ON_CONFLICT) {
    auto table =
        lakehouse.OpenByName(session.context, session.principal, name, catalog::NameMatch::kSql);
    if (table.ok()) {
      // Rows that come from the table itself take the place of those that were read, no others.
      auto read = LakeTransaction::Get(context, catalog).ReadVersion((*table)->entry.incarnation);
      commit::WriteOptions replace = options;
      replace.replaces_what_was_read = read != nullptr;
      return lakehouse.Replace(session.context, session.principal, read ? read : *table, schema,
                               replace);
    }
    if (CodeOf(table.status()) != ErrorCode::kNotFound) return table.status();
  }
  return lakehouse.Create(session.context, session.principal, name, schema, {}, options);
}

void LakeSchemaEntry::DropEntry(duckdb::ClientContext& context, duckdb::DropInfo& info) {
  const std::string qualified = name + "." + info.name;
  if (info.type != duckdb::CatalogType::TABLE_ENTRY) {
    ThrowStatus(Error(ErrorCode::kNotFound, "not found: {} '{}'", KindName(info.type), qualified));
  }
  RefuseInTransaction(context, "DROP TABLE");
  SessionState& session = SessionState::Of(context);
  auto view = lake_catalog_.lakehouse().metastore().ViewFor(session.principal);
  const auto entry = view->Find(session.context, {name, info.name}, catalog::NameMatch::kSql);
  if (!entry.ok() && CodeOf(entry.status()) == ErrorCode::kNotFound &&
      info.if_not_found == duckdb::OnEntryNotFound::RETURN_NULL) {
    return;
  }
  ThrowIfError(entry.status());
  ThrowIfError(lake_catalog_.lakehouse().Drop(session.context, session.principal, *entry));
}

LakeSchemaEntry::Entry LakeSchemaEntry::CreateIndex(duckdb::CatalogTransaction,
                                                    duckdb::CreateIndexInfo& info,
                                                    duckdb::TableCatalogEntry&) {
  ThrowRefused("CREATE INDEX", info.index_name);
}

LakeSchemaEntry::Entry LakeSchemaEntry::CreateFunction(duckdb::CatalogTransaction,
                                                       duckdb::CreateFunctionInfo& info) {
  ThrowRefused("CREATE MACRO and CREATE FUNCTION", name + "." + info.name);
}

LakeSchemaEntry::Entry LakeSchemaEntry::CreateView(duckdb::CatalogTransaction,
                                                   duckdb::CreateViewInfo& info) {
  ThrowRefused("CREATE VIEW (CREATE TEMP VIEW works)", name + "." + info.view_name);
}

LakeSchemaEntry::Entry LakeSchemaEntry::CreateSequence(duckdb::CatalogTransaction,
                                                       duckdb::CreateSequenceInfo& info) {
  ThrowRefused("CREATE SEQUENCE", name + "." + info.name);
}

LakeSchemaEntry::Entry LakeSchemaEntry::CreateTableFunction(duckdb::CatalogTransaction,
                                                            duckdb::CreateTableFunctionInfo& info) {
  ThrowRefused("CREATE MACRO ... AS TABLE", name + "." + info.name);
}

LakeSchemaEntry::Entry LakeSchemaEntry::CreateCopyFunction(duckdb::CatalogTransaction,
                                                           duckdb::CreateCopyFunctionInfo& info) {
  ThrowRefused("copy functions", name + "." + info.name);
}

LakeSchemaEntry::Entry LakeSchemaEntry::CreatePragmaFunction(
    duckdb::CatalogTransaction, duckdb::CreatePragmaFunctionInfo& info) {
  ThrowRefused("pragma functions", name + "." + info.name);
}

LakeSchemaEntry::Entry LakeSchemaEntry::CreateCollation(duckdb::CatalogTransaction,
                                                        duckdb::CreateCollationInfo& info) {
  ThrowRefused("collations", name + "." + info.name);
}

LakeSchemaEntry::Entry LakeSchemaEntry::CreateType(duckdb::CatalogTransaction,
                                                   duckdb::CreateTypeInfo& info) {
  ThrowRefused("CREATE TYPE", name + "." + info.name);
}

namespace {

duckdb::Value CommentValue(const std::string& text) {
  return duckdb::Value::StringIsValid(text) ? duckdb::Value(text) : duckdb::Value();
}

duckdb::Value CommentIn(const std::shared_ptr<const arrow::KeyValueMetadata>& metadata) {
  if (metadata == nullptr) return duckdb::Value();
  const auto text = metadata->Get(kCommentKey);
  return text.ok() ? CommentValue(*text) : duckdb::Value();
}

}  // namespace

std::shared_ptr<LakeTableEntry> LakeTableEntry::Make(LakeSchemaEntry& schema,
                                                     const std::string& name,
                                                     std::shared_ptr<const commit::OpenTable> table,
                                                     std::shared_ptr<const SqlTable> sql) {
  duckdb::CreateTableInfo info(schema, name);
  if (sql) {
    for (size_t i = 0; i < sql->columns.size(); ++i) {
      const SqlColumn& column = sql->columns[i];
      duckdb::ColumnDefinition definition(column.name, column.type);
      definition.SetComment(CommentIn(column.stored->metadata()));
      info.columns.AddColumn(std::move(definition));
      if (column.not_null) {
        info.constraints.push_back(
            duckdb::make_uniq<duckdb::NotNullConstraint>(duckdb::LogicalIndex(i)));
      }
    }
  }
  if (table->dataset) {
    const auto& metadata = table->dataset->manifest().table_metadata();
    const auto comment = metadata.find(kCommentKey);
    if (comment != metadata.end()) info.comment = CommentValue(comment->second);
  }
  return std::make_shared<LakeTableEntry>(schema, info, std::move(table), std::move(sql));
}

LakeTableEntry::LakeTableEntry(LakeSchemaEntry& schema, duckdb::CreateTableInfo& info,
                               std::shared_ptr<const commit::OpenTable> table,
                               std::shared_ptr<const SqlTable> sql)
    : duckdb::TableCatalogEntry(schema.catalog, schema, info),
      table_(std::move(table)),
      sql_(std::move(sql)) {}

std::string LakeTableEntry::QualifiedName() const { return schema.name + "." + name; }

duckdb::TableFunction LakeTableEntry::GetScanFunction(
    duckdb::ClientContext& context, duckdb::unique_ptr<duckdb::FunctionData>& bind_data) {
  LakeTransaction::Get(context, catalog).NoteRead(table_);
  auto data = duckdb::make_uniq<ScanBindData>();
  data->name = QualifiedName();
  data->dataset = table_->dataset;
  data->sql = sql_;
  data->entry = shared_from_this();
  bind_data = std::move(data);
  return LakeScanFunction();
}

duckdb::TableStorageInfo LakeTableEntry::GetStorageInfo(duckdb::ClientContext& context) {
  duckdb::TableStorageInfo info;
  if (table_->dataset) {
    info.cardinality = ValueOrThrow(table_->dataset->CountRows(SessionState::Of(context).context));
  }
  return info;
}

void LakeTableEntry::BindUpdateConstraints(duckdb::Binder&, duckdb::LogicalGet& get,
                                           duckdb::LogicalProjection& projection,
                                           duckdb::LogicalUpdate& update, duckdb::ClientContext&) {
  // A changed row is written whole.
  update.update_is_del_and_insert = true;
  duckdb::physical_index_set_t all;
  for (const auto& column : GetColumns().Physical()) all.insert(column.Physical());
  duckdb::LogicalUpdate::BindExtraColumns(*this, get, projection, update, all);
}

duckdb::virtual_column_map_t LakeTableEntry::GetVirtualColumns() const { return HiddenColumnMap(); }

duckdb::vector<duckdb::column_t> LakeTableEntry::GetRowIdColumns() const {
  return {kRowAddressColumn};
}

}  // namespace lake::query
