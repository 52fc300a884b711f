#include "lake/table/testing/table_operations_internal.h"

#include <cstdlib>

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include "lake/table/alter_columns.h"
#include "lake/table/append_writer.h"
#include "lake/table/delete_rows.h"
#include "lake/table/merge_insert.h"
#include "lake/table/testing/fake_table_internal.h"
#include "lake/table/update_rows.h"

namespace lake::table {
namespace {

namespace cp = arrow::compute;
using storage::ObjectStore;

std::shared_ptr<arrow::RecordBatch> FiveRows() {
  arrow::Int64Builder ids;
  arrow::StringBuilder names;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(ids.Append(i).ok());
    EXPECT_TRUE(names.Append("name").ok());
  }
  return arrow::RecordBatch::Make(format::ToArrow(SmallSchema()).ValueOrDie(), 5,
                                  {ids.Finish().ValueOrDie(), names.Finish().ValueOrDie()});
}

Result<std::vector<Fragment>> WriteRows(const Context& context,
                                        std::shared_ptr<ObjectStore> store) {
  ARROW_ASSIGN_OR_RAISE(std::unique_ptr<AppendWriter> writer,
                        AppendWriter::Open(context, std::move(store), SmallSchema()));
  ARROW_RETURN_NOT_OK(writer->Write(*FiveRows()));
  return writer->Finish();
}

Result<CommitResult> RunCreate(const Context& context, std::shared_ptr<ObjectStore> store,
                               std::optional<uint64_t> replay_base) {
  ARROW_ASSIGN_OR_RAISE(std::vector<Fragment> fragments, WriteRows(context, store));
  Transaction create = MakeCreate(context, SmallSchema(), std::move(fragments));
  create.properties[kOperationIdProperty] = kSweptOperationId;
  CommitOptions options;
  options.replay_base = replay_base;
  return Commit(context, store, create, options);
}

Result<CommitResult> RunAppend(const Context& context, std::shared_ptr<ObjectStore> store,
                               std::optional<uint64_t> replay_base) {
  ARROW_ASSIGN_OR_RAISE(std::vector<Fragment> fragments, WriteRows(context, store));
  Transaction append = MakeAppend(context, 1, std::move(fragments));
  append.properties[kOperationIdProperty] = kSweptOperationId;
  CommitOptions options;
  options.replay_base = replay_base;
  return Commit(context, store, append, options);
}

void PrepareTable(const Context& context, std::shared_ptr<ObjectStore> store) {
  std::vector<Fragment> fragments = WriteRows(context, store).ValueOrDie();
  ASSERT_TRUE(Commit(context, store, MakeCreate(context, SmallSchema(), fragments), {}).ok());
}

void PrepareForeignTable(const Context& context, std::shared_ptr<ObjectStore> store) {
  PrepareTable(context, store);
  std::vector<Fragment> fragments = WriteRows(context, store).ValueOrDie();
  ASSERT_TRUE(
      PutForeignVersion(context, store.get(), [&](pb::Manifest* manifest, pb::Transaction*) {
        FragmentToMessage(fragments[0], manifest->add_fragments());
        manifest->mutable_fragments(1)->set_id(1);
        manifest->set_max_fragment_id(1);
      }).ok());
}

using Maker = std::function<Result<PreparedChange>(const Context&, std::shared_ptr<Dataset>)>;

/// Works a change out on version 1 and commits it.
auto RunChange(Maker make) {
  return [make](const Context& context, std::shared_ptr<ObjectStore> store,
                std::optional<uint64_t> replay_base) -> Result<CommitResult> {
    OpenOptions open;
    open.version = 1;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Dataset> dataset, Dataset::Open(context, store, open));
    ARROW_ASSIGN_OR_RAISE(PreparedChange change, make(context, dataset));
    change.transaction.properties[kOperationIdProperty] = kSweptOperationId;
    CommitOptions options;
    options.replay_base = replay_base;
    return Commit(context, store, change.transaction, options);
  };
}

/// Another operation's delete of the last row is version 2.
void PrepareDeleted(const Context& context, std::shared_ptr<ObjectStore> store) {
  PrepareTable(context, store);
  auto dataset = Dataset::Open(context, store).ValueOrDie();
  PreparedChange change =
      DeleteRows(context, dataset, cp::equal(cp::field_ref("id"), cp::literal(int64_t{4})))
          .ValueOrDie();
  ASSERT_TRUE(Commit(context, store, change.transaction, {}).ok());
}

cp::Expression FirstRows() { return cp::less(cp::field_ref("id"), cp::literal(int64_t{2})); }

Result<PreparedChange> Delete(const Context& context, std::shared_ptr<Dataset> dataset) {
  return DeleteRows(context, dataset, FirstRows());
}
Result<PreparedChange> Truncate(const Context& context, std::shared_ptr<Dataset> dataset) {
  return DeleteRows(context, dataset, std::nullopt);
}
Result<PreparedChange> Update(const Context& context, std::shared_ptr<Dataset> dataset) {
  UpdateRowsOptions options;
  options.filter = FirstRows();
  options.assignments.emplace("name", cp::literal("changed"));
  return UpdateRows(context, dataset, options);
}
Result<PreparedChange> Merge(const Context& context, std::shared_ptr<Dataset> dataset) {
  ARROW_ASSIGN_OR_RAISE(auto source, arrow::RecordBatchReader::Make({FiveRows()->Slice(3, 2)}));
  MergeInsertOptions options;
  options.on = {"id"};
  options.when_matched = MergeInsertOptions::Matched::kUpdate;
  return MergeInsert(context, dataset, source.get(), options);
}
Result<PreparedChange> AddColumn(const Context& context, std::shared_ptr<Dataset> dataset) {
  return AddComputedColumns(context, dataset, {{"more", cp::field_ref("id"), nullptr}});
}
Result<PreparedChange> Drop(const Context& context, std::shared_ptr<Dataset> dataset) {
  return DropColumns(context, dataset, {"name"});
}
Result<PreparedChange> Cast(const Context& context, std::shared_ptr<Dataset> dataset) {
  ColumnAlteration alteration;
  alteration.column = "id";
  alteration.new_type = arrow::int32();
  return AlterColumns(context, dataset, {alteration});
}
Result<PreparedChange> ReplaceName(const Context& context, std::shared_ptr<Dataset> dataset) {
  return ReplaceColumn(context, dataset, "name", cp::literal("all"));
}
Result<PreparedChange> Configure(const Context& context, std::shared_ptr<Dataset> dataset) {
  UpdateConfigOperation update;
  update.config.emplace().entries["k"] = "v";
  PreparedChange change;
  change.transaction = NewTransaction(context, dataset->manifest().version(), std::move(update));
  return change;
}
Result<PreparedChange> Restore(const Context& context, std::shared_ptr<Dataset> dataset) {
  PreparedChange change;
  change.transaction = NewTransaction(context, dataset->manifest().version(), RestoreOperation{1});
  return change;
}
Result<PreparedChange> Overwrite(const Context& context, std::shared_ptr<Dataset> dataset) {
  OverwriteOperation overwrite;
  overwrite.schema = SmallSchema();
  ARROW_ASSIGN_OR_RAISE(overwrite.fragments, WriteRows(context, dataset->store()));
  std::vector<std::string> keys = DataFileKeys(overwrite.fragments);
  PreparedChange change;
  change.transaction =
      NewTransaction(context, dataset->manifest().version(), std::move(overwrite), std::move(keys));
  return change;
}

Result<PreparedChange> AddNull(const Context& context, std::shared_ptr<Dataset> dataset) {
  return AddNullColumns(context, dataset, *arrow::schema({arrow::field("more", arrow::int16())}));
}
Result<PreparedChange> AddFromRows(const Context& context, std::shared_ptr<Dataset> dataset) {
  arrow::Int64Builder values;
  ARROW_RETURN_NOT_OK(values.AppendValues({1, 2, 3, 4, 5}));
  ARROW_ASSIGN_OR_RAISE(auto column, values.Finish());
  auto rows = arrow::RecordBatch::Make(arrow::schema({arrow::field("more", arrow::int64())}), 5,
                                       {std::move(column)});
  ARROW_ASSIGN_OR_RAISE(auto reader, arrow::RecordBatchReader::Make({std::move(rows)}));
  return AddColumnsFrom(context, dataset, reader.get());
}
Result<PreparedChange> Rename(const Context& context, std::shared_ptr<Dataset> dataset) {
  ColumnAlteration alteration;
  alteration.column = "name";
  alteration.new_name = "title";
  return AlterColumns(context, dataset, {alteration});
}
Result<PreparedChange> MergeAway(const Context& context, std::shared_ptr<Dataset> dataset) {
  ARROW_ASSIGN_OR_RAISE(auto source, arrow::RecordBatchReader::Make({FiveRows()->Slice(3, 2)}));
  MergeInsertOptions options;
  options.on = {"id"};
  options.insert_not_matched = false;
  options.delete_not_matched_by_source = true;
  return MergeInsert(context, dataset, source.get(), options);
}

const TableOperation kOperations[] = {
    {"create", [](const Context&, std::shared_ptr<ObjectStore>) {}, RunCreate, 0},
    {"append", PrepareTable, RunAppend, 1},
    {"append behind a foreign version", PrepareForeignTable, RunAppend, 1},
    {"delete", PrepareTable, RunChange(Delete), 1},
    {"delete behind a delete", PrepareDeleted, RunChange(Delete), 1},
    {"truncate", PrepareTable, RunChange(Truncate), 1},
    {"update", PrepareTable, RunChange(Update), 1},
    {"update behind a delete", PrepareDeleted, RunChange(Update), 1},
    {"merge", PrepareTable, RunChange(Merge), 1},
    {"merge that deletes", PrepareTable, RunChange(MergeAway), 1},
    {"add column", PrepareTable, RunChange(AddColumn), 1},
    {"add null column", PrepareTable, RunChange(AddNull), 1},
    {"add column from rows", PrepareTable, RunChange(AddFromRows), 1},
    {"rename column", PrepareTable, RunChange(Rename), 1},
    {"drop column", PrepareTable, RunChange(Drop), 1},
    {"cast column", PrepareTable, RunChange(Cast), 1},
    {"replace column", PrepareTable, RunChange(ReplaceName), 1},
    {"config", PrepareTable, RunChange(Configure), 1},
    {"restore", PrepareDeleted, RunChange(Restore), 1},
    {"overwrite", PrepareTable, RunChange(Overwrite), 1},
};

}  // namespace

std::span<const TableOperation> TableOperations() { return kOperations; }

const TableOperation& FindTableOperation(std::string_view name) {
  for (const TableOperation& operation : kOperations) {
    if (name == operation.name) return operation;
  }
  std::abort();
}

}  // namespace lake::table
