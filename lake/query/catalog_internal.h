#pragma once

#include <map>
#include <memory>
#include <string>

#include <duckdb.hpp>
#include <duckdb/catalog/catalog.hpp>
#include <duckdb/catalog/catalog_entry/schema_catalog_entry.hpp>
#include <duckdb/catalog/catalog_entry/table_catalog_entry.hpp>
#include <duckdb/parser/parsed_data/create_table_info.hpp>
#include <duckdb/planner/parsed_data/bound_create_table_info.hpp>
#include <duckdb/storage/database_size.hpp>
#include <duckdb/storage/storage_extension.hpp>
#include <duckdb/storage/table_storage_info.hpp>

#include "lake/base/mutex.h"
#include "lake/commit/lakehouse.h"
#include "lake/query/types_internal.h"

namespace lake::query {

class LakeSchemaEntry;

/// The names and tables of a lakehouse as DuckDB sees them. Holds no state of names but the schema
/// entries that DuckDB keeps references to; what a transaction sees stands in LakeTransaction.
class LakeCatalog : public duckdb::Catalog {
 public:
  LakeCatalog(duckdb::AttachedDatabase& db, std::shared_ptr<commit::Lakehouse> lakehouse,
              int64_t write_buffer_bytes)
      : duckdb::Catalog(db),
        lakehouse_(std::move(lakehouse)),
        write_buffer_bytes_(write_buffer_bytes) {}

  commit::Lakehouse& lakehouse() { return *lakehouse_; }
  int64_t write_buffer_bytes() const { return write_buffer_bytes_; }
  /// The entry of a namespace that exists, by its real name. Lives as long as the catalog.
  LakeSchemaEntry& SchemaFor(const std::string& name);

  void Initialize(bool) override {}
  duckdb::string GetCatalogType() override { return "lake"; }
  duckdb::optional_ptr<duckdb::CatalogEntry> CreateSchema(duckdb::CatalogTransaction transaction,
                                                          duckdb::CreateSchemaInfo& info) override;
  duckdb::optional_ptr<duckdb::SchemaCatalogEntry> LookupSchema(
      duckdb::CatalogTransaction transaction, const duckdb::EntryLookupInfo& lookup,
      duckdb::OnEntryNotFound if_not_found) override;
  void ScanSchemas(duckdb::ClientContext& context,
                   std::function<void(duckdb::SchemaCatalogEntry&)> callback) override;
  void DropSchema(duckdb::ClientContext& context, duckdb::DropInfo& info) override;

  duckdb::PhysicalOperator& PlanCreateTableAs(duckdb::ClientContext& context,
                                              duckdb::PhysicalPlanGenerator& planner,
                                              duckdb::LogicalCreateTable& op,
                                              duckdb::PhysicalOperator& plan) override;
  duckdb::PhysicalOperator& PlanInsert(
      duckdb::ClientContext& context, duckdb::PhysicalPlanGenerator& planner,
      duckdb::LogicalInsert& op, duckdb::optional_ptr<duckdb::PhysicalOperator> plan) override;
  duckdb::PhysicalOperator& PlanDelete(duckdb::ClientContext& context,
                                       duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalDelete& op,
                                       duckdb::PhysicalOperator& plan) override;
  /// DELETE of all rows reads none.
  duckdb::PhysicalOperator& PlanDelete(duckdb::ClientContext& context,
                                       duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalDelete& op) override;
  duckdb::PhysicalOperator& PlanUpdate(duckdb::ClientContext& context,
                                       duckdb::PhysicalPlanGenerator& planner,
                                       duckdb::LogicalUpdate& op,
                                       duckdb::PhysicalOperator& plan) override;
  duckdb::PhysicalOperator& PlanMergeInto(duckdb::ClientContext& context,
                                          duckdb::PhysicalPlanGenerator& planner,
                                          duckdb::LogicalMergeInto& op,
                                          duckdb::PhysicalOperator& plan) override;
  duckdb::unique_ptr<duckdb::LogicalOperator> BindCreateIndex(
      duckdb::Binder&, duckdb::CreateStatement&, duckdb::TableCatalogEntry& table,
      duckdb::unique_ptr<duckdb::LogicalOperator>) override;
  duckdb::unique_ptr<duckdb::LogicalOperator> BindAlterAddIndex(
      duckdb::Binder&, duckdb::TableCatalogEntry& table,
      duckdb::unique_ptr<duckdb::LogicalOperator>, duckdb::unique_ptr<duckdb::CreateIndexInfo>,
      duckdb::unique_ptr<duckdb::AlterTableInfo>) override;

  duckdb::DatabaseSize GetDatabaseSize(duckdb::ClientContext&) override { return {}; }
  bool InMemory() override { return false; }
  duckdb::string GetDBPath() override { return lakehouse_->data_dir(); }
  bool SupportsTimeTravel() const override { return true; }
  /// Functions, operators and types are never ours: without this each one would be looked up here
  /// first.
  duckdb::CatalogLookupBehavior CatalogTypeLookupRule(duckdb::CatalogType type) const override;

 private:
  const std::shared_ptr<commit::Lakehouse> lakehouse_;
  const int64_t write_buffer_bytes_;
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<LakeSchemaEntry>> schemas_ LAKE_GUARDED_BY(mutex_);
};

/// A namespace.
class LakeSchemaEntry : public duckdb::SchemaCatalogEntry {
 public:
  LakeSchemaEntry(LakeCatalog& catalog, duckdb::CreateSchemaInfo& info)
      : duckdb::SchemaCatalogEntry(catalog, info), lake_catalog_(catalog) {}

  using Entry = duckdb::optional_ptr<duckdb::CatalogEntry>;

  LakeCatalog& lake_catalog() { return lake_catalog_; }

  void Scan(duckdb::ClientContext& context, duckdb::CatalogType type,
            const std::function<void(duckdb::CatalogEntry&)>& callback) override;
  void Scan(duckdb::CatalogType, const std::function<void(duckdb::CatalogEntry&)>&) override {}
  Entry LookupEntry(duckdb::CatalogTransaction transaction,
                    const duckdb::EntryLookupInfo& lookup) override;
  Entry CreateTable(duckdb::CatalogTransaction transaction,
                    duckdb::BoundCreateTableInfo& info) override;
  void DropEntry(duckdb::ClientContext& context, duckdb::DropInfo& info) override;
  void Alter(duckdb::CatalogTransaction transaction, duckdb::AlterInfo& info) override;

  // Refused by name.
  Entry CreateIndex(duckdb::CatalogTransaction, duckdb::CreateIndexInfo&,
                    duckdb::TableCatalogEntry&) override;
  Entry CreateFunction(duckdb::CatalogTransaction, duckdb::CreateFunctionInfo&) override;
  Entry CreateView(duckdb::CatalogTransaction, duckdb::CreateViewInfo&) override;
  Entry CreateSequence(duckdb::CatalogTransaction, duckdb::CreateSequenceInfo&) override;
  Entry CreateTableFunction(duckdb::CatalogTransaction, duckdb::CreateTableFunctionInfo&) override;
  Entry CreateCopyFunction(duckdb::CatalogTransaction, duckdb::CreateCopyFunctionInfo&) override;
  Entry CreatePragmaFunction(duckdb::CatalogTransaction,
                             duckdb::CreatePragmaFunctionInfo&) override;
  Entry CreateCollation(duckdb::CatalogTransaction, duckdb::CreateCollationInfo&) override;
  Entry CreateType(duckdb::CatalogTransaction, duckdb::CreateTypeInfo&) override;

 private:
  LakeCatalog& lake_catalog_;
};

/// A table at one version, as one transaction sees it. Bind data share it, so that it outlives the
/// transaction for as long as a plan needs it.
class LakeTableEntry : public duckdb::TableCatalogEntry,
                       public std::enable_shared_from_this<LakeTableEntry> {
 public:
  /// The entry of `table`; `sql` is null for a table that is listed although it cannot be opened.
  static std::shared_ptr<LakeTableEntry> Make(LakeSchemaEntry& schema, const std::string& name,
                                              std::shared_ptr<const commit::OpenTable> table,
                                              std::shared_ptr<const SqlTable> sql);

  LakeTableEntry(LakeSchemaEntry& schema, duckdb::CreateTableInfo& info,
                 std::shared_ptr<const commit::OpenTable> table,
                 std::shared_ptr<const SqlTable> sql);

  const std::shared_ptr<const commit::OpenTable>& table() const { return table_; }
  const std::shared_ptr<const SqlTable>& sql() const { return sql_; }
  std::string QualifiedName() const;

  duckdb::unique_ptr<duckdb::BaseStatistics> GetStatistics(duckdb::ClientContext&,
                                                           duckdb::column_t) override {
    return nullptr;
  }
  duckdb::TableFunction GetScanFunction(
      duckdb::ClientContext& context, duckdb::unique_ptr<duckdb::FunctionData>& bind_data) override;
  duckdb::TableFunction GetScanFunction(duckdb::ClientContext& context,
                                        duckdb::unique_ptr<duckdb::FunctionData>& bind_data,
                                        const duckdb::EntryLookupInfo&) override {
    return GetScanFunction(context, bind_data);
  }
  duckdb::TableStorageInfo GetStorageInfo(duckdb::ClientContext& context) override;
  void BindUpdateConstraints(duckdb::Binder&, duckdb::LogicalGet&, duckdb::LogicalProjection&,
                             duckdb::LogicalUpdate&, duckdb::ClientContext&) override;
  duckdb::virtual_column_map_t GetVirtualColumns() const override;
  duckdb::vector<duckdb::column_t> GetRowIdColumns() const override;

 private:
  const std::shared_ptr<const commit::OpenTable> table_;
  const std::shared_ptr<const SqlTable> sql_;
};

/// What ATTACH needs to find the lakehouse of this process.
struct LakeStorageInfo : public duckdb::StorageExtensionInfo {
  std::shared_ptr<commit::Lakehouse> lakehouse;
  int64_t write_buffer_bytes = 0;
};
duckdb::unique_ptr<duckdb::StorageExtension> MakeLakeStorageExtension(
    std::shared_ptr<commit::Lakehouse> lakehouse, int64_t write_buffer_bytes);

/// Throws "refused by name": `what` is a static phrase such as "UPDATE", `object` the thing it was
/// asked of.
[[noreturn]] void ThrowRefused(const char* what, const std::string& object);

/// Where the comments of tables and columns stand, in metadata of table and field.
inline constexpr char kCommentKey[] = "lake.comment";

/// Throws for a name that is lake's own.
void RefuseReservedColumn(const std::string& column);

/// Starts a new table, or with REPLACE_ON_CONFLICT the replacement of one that is there.
Result<std::unique_ptr<commit::TableWrite>> StartCreate(duckdb::ClientContext& context,
                                                        LakeCatalog& catalog,
                                                        const catalog::QualifiedName& name,
                                                        const arrow::Schema& schema,
                                                        const commit::WriteOptions& options,
                                                        duckdb::OnCreateConflict on_conflict);

/// DDL does not take part in transactions: throws inside BEGIN ... COMMIT.
void RefuseInTransaction(duckdb::ClientContext& context, const char* what);

/// The Arrow schema that CREATE TABLE asks for. Throws for constraints and types that are not
/// stored.
std::shared_ptr<arrow::Schema> SchemaForCreate(const duckdb::CreateTableInfo& info);

}  // namespace lake::query
