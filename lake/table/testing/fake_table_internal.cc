#include "lake/table/testing/fake_table_internal.h"

#include <arrow/type.h>

#include "lake/table/manifest_build_internal.h"
#include "lake/table/transaction_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {

format::Schema SmallSchema() {
  return format::SchemaFromArrow(*arrow::schema({arrow::field("id", arrow::int64(), false),
                                                 arrow::field("name", arrow::utf8())}))
      .ValueOrDie();
}

Result<Fragment> PutFakeFragment(const Context& context, storage::ObjectStore* store,
                                 const format::Schema& schema, uint64_t rows) {
  Fragment fragment;
  fragment.physical_rows = rows;
  DataFile& file = fragment.files.emplace_back();
  file.path = Uuid::NewV4(context).ToString() + ".lance";
  for (const format::Field& field : schema.fields) {
    for (int32_t id : format::Schema::LeafIds(field)) {
      file.column_indices.push_back(static_cast<int32_t>(file.field_ids.size()));
      file.field_ids.push_back(id);
    }
  }
  file.version = format::kFileVersion22;
  const std::string bytes = fmt::format("{} rows", rows);
  file.size_bytes = bytes.size();
  ARROW_RETURN_NOT_OK(
      store->Put(context, DataFileKey(file), bytes, storage::PutCondition::kIfAbsent));
  return fragment;
}

Transaction MakeCreate(const Context& context, format::Schema schema,
                       std::vector<Fragment> fragments) {
  std::vector<std::string> keys = DataFileKeys(fragments);
  OverwriteOperation create;
  create.schema = std::move(schema);
  create.fragments = std::move(fragments);
  return NewTransaction(context, 0, std::move(create), std::move(keys));
}

Transaction MakeAppend(const Context& context, uint64_t read_version,
                       std::vector<Fragment> fragments) {
  std::vector<std::string> keys = DataFileKeys(fragments);
  return NewTransaction(context, read_version, AppendOperation{std::move(fragments)},
                        std::move(keys));
}

std::vector<Fragment>& FragmentsOf(Transaction& transaction) {
  auto* append = std::get_if<AppendOperation>(&transaction.operation);
  return append != nullptr ? append->fragments
                           : std::get<OverwriteOperation>(transaction.operation).fragments;
}

Result<std::string> BuildManifest(const Transaction& transaction, const ManifestFile* newest,
                                  const std::string& transaction_bytes, int64_t now_nanos) {
  return BuildManifest({.transaction = transaction,
                        .operation = transaction.operation,
                        .transaction_bytes = transaction_bytes,
                        .now_nanos = now_nanos,
                        .newest = newest});
}

Result<uint64_t> PutForeignVersion(const Context& context, storage::ObjectStore* store,
                                   const ForeignEdit& edit) {
  ARROW_ASSIGN_OR_RAISE(VersionList list, ListVersions(context, store));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const Manifest> newest,
                        ReadManifest(context, store, list.newest(), list.naming));
  pb::Manifest manifest = FileOf(*newest).message();
  manifest.set_version(list.newest() + 1);
  manifest.mutable_writer_version()->set_library("lance");
  manifest.mutable_writer_version()->set_version("14.0.2");
  pb::Transaction transaction;
  transaction.set_read_version(list.newest());
  transaction.set_uuid(Uuid::NewV4(context).ToString());
  transaction.mutable_append();
  manifest.set_transaction_file(TransactionFileName(list.newest(), transaction.uuid()));
  edit(&manifest, &transaction);
  const std::string bytes = transaction.SerializeAsString();
  if (!manifest.transaction_file().empty()) {
    ARROW_RETURN_NOT_OK(store->Put(context, TransactionKey(manifest.transaction_file()), bytes,
                                   storage::PutCondition::kNone));
  }
  const uint64_t version = manifest.version();
  ARROW_ASSIGN_OR_RAISE(
      std::string encoded,
      EncodeManifest(std::move(manifest), *FileOf(*newest).index_section(), bytes));
  ARROW_RETURN_NOT_OK(store->Put(context, ManifestKey(version, list.naming), encoded,
                                 storage::PutCondition::kIfAbsent));
  return version;
}

Status PutManifest(const Context& context, storage::ObjectStore* store, uint64_t version,
                   const std::string& bytes) {
  return store->Put(context, ManifestKey(version, ManifestNaming::kV2), bytes,
                    storage::PutCondition::kNone);
}

}  // namespace lake::table
