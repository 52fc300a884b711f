#include "lake/commit/testing/swept_changes.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/commit/maintenance.h"
#include "lake/commit/testing/test_lakehouse.h"
#include "lake/table/alter_columns.h"
#include "lake/table/delete_rows.h"
#include "lake/table/merge_insert.h"
#include "lake/table/transaction.h"

namespace lake::commit {
namespace {

namespace cp = arrow::compute;
using Values = std::vector<int64_t>;
using Table = std::shared_ptr<const OpenTable>;

constexpr char kTable[] = "t";
constexpr char kOther[] = "other";

catalog::QualifiedName InMain(const std::string& name) { return {catalog::kMainNamespace, name}; }

Result<Table> Open(const Context& context, Lakehouse* lakehouse, const std::string& name = kTable,
                   const table::OpenOptions& options = {}) {
  return lakehouse->OpenByName(context, {}, InMain(name), catalog::NameMatch::kExact, options);
}

/// True if `seen` is `after`; fails the test if it is not `before` either.
template <typename T>
bool IsAfter(const Result<T>& seen, const T& before, const T& after) {
  EXPECT_TRUE(seen.ok()) << seen.status();
  if (!seen.ok() || *seen == before) return false;
  EXPECT_EQ(*seen, after);
  return true;
}

// ---- What changes start from. -------------------------------------------------------------------

void Nothing(const Context&, Lakehouse*) {}

void TwoNumbers(const Context& context, Lakehouse* lakehouse) {
  ASSERT_TRUE(CreateNumbers(context, lakehouse, kTable, {1, 2}).ok());
}

/// Three versions an hour apart, each with a fragment more.
void ThreeVersions(const Context& context, Lakehouse* lakehouse) {
  const auto& clock = dynamic_cast<const FakeClock&>(*context.clock);
  TwoNumbers(context, lakehouse);
  for (const int64_t number : {3, 4}) {
    clock.Advance(std::chrono::hours(1));
    ASSERT_TRUE(AppendNumbers(context, lakehouse, kTable, {number}).ok());
  }
  clock.Advance(std::chrono::hours(1));
}

Status Commit(const Context& context, Lakehouse* lakehouse, const OperationKey& operation,
              const ChangeMaker& make) {
  WriteOptions options;
  options.operation = operation;
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  return lakehouse->Change(context, {}, table, make, options).status();
}

/// Two numbers, and a column `more` of nulls.
void TwoColumns(const Context& context, Lakehouse* lakehouse) {
  TwoNumbers(context, lakehouse);
  ASSERT_TRUE(Commit(context, lakehouse, {}, [](const Context& context, const ChangeInput& input) {
                return table::AddNullColumns(
                    context, input.dataset, *arrow::schema({arrow::field("more", arrow::int16())}));
              }).ok());
}

// ---- What is seen. ------------------------------------------------------------------------------

auto Numbers(Values before, Values after) {
  return [=](const Context& context, Lakehouse* lakehouse) {
    return IsAfter(NumbersOf(context, lakehouse, kTable), before, after);
  };
}

Result<std::string> ColumnsOf(const Context& context, Lakehouse* lakehouse) {
  ARROW_ASSIGN_OR_RAISE(Values numbers, NumbersOf(context, lakehouse, kTable));
  EXPECT_EQ(numbers, Values({1, 2}));
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  std::string columns;
  for (const auto& field : table->dataset->arrow_schema()->fields()) {
    columns += field->name() + " " + field->type()->ToString() + ";";
  }
  return columns;
}

auto Columns(std::string before, std::string after) {
  return [=](const Context& context, Lakehouse* lakehouse) {
    return IsAfter(ColumnsOf(context, lakehouse), before, after);
  };
}

/// What a table that may not be there holds.
bool IsThere(const Context& context, Lakehouse* lakehouse, const std::string& name,
             const Values& numbers) {
  const Result<Values> seen = NumbersOf(context, lakehouse, name);
  if (!seen.ok()) {
    EXPECT_EQ(CodeOf(seen.status()), ErrorCode::kNotFound) << seen.status();
    return false;
  }
  EXPECT_EQ(*seen, numbers);
  return true;
}

/// The version that a tag names, 0 if there is none.
Result<uint64_t> Tagged(const Context& context, Lakehouse* lakehouse, const std::string& name) {
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  ARROW_ASSIGN_OR_RAISE(auto tags, lakehouse->maintenance().ListTags(context, *table));
  for (const table::Tag& tag : tags) {
    if (tag.name == name) return tag.target.version;
  }
  return uint64_t{0};
}

Result<bool> HasBranch(const Context& context, Lakehouse* lakehouse) {
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  ARROW_ASSIGN_OR_RAISE(auto branches, lakehouse->maintenance().ListBranches(context, *table));
  if (branches.empty()) return false;
  table::OpenOptions options;
  options.branch = branches[0].name;
  ARROW_ASSIGN_OR_RAISE(Table line, Open(context, lakehouse, kTable, options));
  ARROW_ASSIGN_OR_RAISE(Values numbers, ReadNumbers(context, *line->dataset));
  EXPECT_EQ(numbers, Values({1, 2}));
  return true;
}

// ---- Changes. -----------------------------------------------------------------------------------

auto Working(ChangeMaker make) {
  return [make](const Context& context, Lakehouse* lakehouse, const OperationKey& operation) {
    return Commit(context, lakehouse, operation, make);
  };
}

Result<table::PreparedChange> Delete(const Context& context, const ChangeInput& input) {
  return table::DeleteRows(context, input.dataset,
                           cp::equal(cp::field_ref("x"), cp::literal(int64_t{2})));
}
Result<table::PreparedChange> Truncate(const Context& context, const ChangeInput& input) {
  return table::DeleteRows(context, input.dataset, std::nullopt);
}
Result<table::PreparedChange> Merge(const Context& context, const ChangeInput& input) {
  ARROW_ASSIGN_OR_RAISE(auto source,
                        arrow::RecordBatchReader::Make({lake::commit::Numbers({2, 3})}));
  table::MergeInsertOptions options;
  options.on = {"x"};
  options.delete_not_matched_by_source = true;
  options.check = input.check;
  return table::MergeInsert(context, input.dataset, source.get(), options);
}
Result<table::PreparedChange> AddColumn(const Context& context, const ChangeInput& input) {
  return table::AddComputedColumns(context, input.dataset, {{"more", cp::field_ref("x"), nullptr}},
                                   {.check = input.check});
}
Result<table::PreparedChange> DropColumn(const Context& context, const ChangeInput& input) {
  return table::DropColumns(context, input.dataset, {"more"});
}
Result<table::PreparedChange> RenameColumn(const Context& context, const ChangeInput& input) {
  table::ColumnAlteration alteration;
  alteration.column = "more";
  alteration.new_name = "less";
  return table::AlterColumns(context, input.dataset, {alteration}, {.check = input.check});
}
Result<table::PreparedChange> RetypeColumn(const Context& context, const ChangeInput& input) {
  table::ColumnAlteration alteration;
  alteration.column = "more";
  alteration.new_type = arrow::int32();
  return table::AlterColumns(context, input.dataset, {alteration}, {.check = input.check});
}
Result<table::PreparedChange> ReplaceFiles(const Context& context, const ChangeInput& input) {
  return table::ReplaceColumn(context, input.dataset, "x", cp::literal(int64_t{5}),
                              {.check = input.check});
}
Result<table::PreparedChange> Configure(const Context& context, const ChangeInput& input) {
  table::UpdateConfigOperation update;
  update.config.emplace().entries["k"] = "v";
  table::PreparedChange change;
  change.transaction =
      table::NewTransaction(context, input.dataset->manifest().version(), std::move(update));
  return change;
}

bool IsConfigured(const Context& context, Lakehouse* lakehouse) {
  const Result<Table> table = Open(context, lakehouse);
  EXPECT_TRUE(table.ok()) << table.status();
  return table.ok() && (*table)->dataset->manifest().config().contains("k");
}

/// What a SQL statement does: rows by their addresses.
Status ChangeRows(const Context& context, Lakehouse* lakehouse, const OperationKey& operation) {
  WriteOptions options;
  options.operation = operation;
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  ARROW_ASSIGN_OR_RAISE(auto write, lakehouse->ChangeRows(context, {}, table, {"x"}, options));
  const table::RowAddress addresses[] = {0};
  ARROW_RETURN_NOT_OK(write->Delete(addresses));
  ARROW_RETURN_NOT_OK(write->Write(*lake::commit::Numbers({9})));
  return write->Commit(context).status();
}

Status Create(const Context& context, Lakehouse* lakehouse, const OperationKey& operation) {
  return CreateNumbers(context, lakehouse, kTable, {1, 2}, operation).status();
}
Status Append(const Context& context, Lakehouse* lakehouse, const OperationKey& operation) {
  return AppendNumbers(context, lakehouse, kTable, {3}, operation).status();
}
Status Update(const Context& context, Lakehouse* lakehouse, const OperationKey& operation) {
  return UpdateNumbers(context, lakehouse, kTable, 2, 10, operation).status();
}
Status Replace(const Context& context, Lakehouse* lakehouse, const OperationKey& operation) {
  return ReplaceNumbers(context, lakehouse, kTable, {7}, operation).status();
}

Result<catalog::Entry> Find(const Context& context, Lakehouse* lakehouse) {
  return lakehouse->metastore().ViewFor({})->Find(context, InMain(kTable),
                                                  catalog::NameMatch::kExact);
}
Status Drop(const Context& context, Lakehouse* lakehouse, const OperationKey&) {
  const Result<catalog::Entry> entry = Find(context, lakehouse);
  return entry.ok() ? lakehouse->Drop(context, {}, *entry) : Status::OK();
}
bool IsDropped(const Context& context, Lakehouse* lakehouse) {
  if (IsThere(context, lakehouse, kTable, {1, 2})) return false;
  // Dropped means that it can be brought back as it was.
  auto tombstones = lakehouse->metastore().ViewFor({})->ListTombstones(context);
  EXPECT_EQ(tombstones.ValueOrDie().size(), 1u);
  return true;
}
void Dropped(const Context& context, Lakehouse* lakehouse) {
  TwoNumbers(context, lakehouse);
  ASSERT_TRUE(Drop(context, lakehouse, {}).ok());
}
Status Undrop(const Context& context, Lakehouse* lakehouse, const OperationKey&) {
  if (NumbersOf(context, lakehouse, kTable).ok()) return Status::OK();
  return lakehouse->Undrop(context, {}, InMain(kTable), {}, {}).status();
}
Status Rename(const Context& context, Lakehouse* lakehouse, const OperationKey&) {
  const Result<catalog::Entry> entry = Find(context, lakehouse);
  if (!entry.ok()) return Status::OK();
  return lakehouse->Rename(context, {}, *entry, InMain(kOther)).status();
}
bool IsRenamed(const Context& context, Lakehouse* lakehouse) {
  const bool renamed = NumbersOf(context, lakehouse, kOther).ok();
  EXPECT_NE(renamed, NumbersOf(context, lakehouse, kTable).ok());
  return renamed;
}

Status Restore(const Context& context, Lakehouse* lakehouse, const OperationKey&) {
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  return lakehouse->maintenance().Restore(context, *table, 1).status();
}
Status Compact(const Context& context, Lakehouse* lakehouse, const OperationKey&) {
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  return lakehouse->maintenance().Compact(context, *table, {}).status();
}
bool IsCompacted(const Context& context, Lakehouse* lakehouse) {
  EXPECT_EQ(NumbersOf(context, lakehouse, kTable).ValueOrDie(), Values({1, 2, 3, 4}));
  return Open(context, lakehouse).ValueOrDie()->dataset->manifest().fragments().size() == 1;
}
Status CleanUp(const Context& context, Lakehouse* lakehouse, const OperationKey&) {
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  table::CleanupOptions options;
  options.older_than_nanos = options.superseded_for_nanos = options.replay_retention_nanos = 0;
  options.delete_unverified = true;
  return lakehouse->maintenance().CleanUp(context, *table, options).status();
}
bool IsCleanedUp(const Context& context, Lakehouse* lakehouse) {
  EXPECT_EQ(NumbersOf(context, lakehouse, kTable).ValueOrDie(), Values({1, 2, 3, 4}));
  const Table table = Open(context, lakehouse).ValueOrDie();
  return table->dataset->Versions(context).ValueOrDie().size() == 1;
}

Status Tag(const Context& context, Lakehouse* lakehouse, const OperationKey&) {
  ARROW_ASSIGN_OR_RAISE(uint64_t tagged, Tagged(context, lakehouse, "tag"));
  if (tagged != 0) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  return lakehouse->maintenance().CreateTag(context, *table, "tag").status();
}
void TaggedFirst(const Context& context, Lakehouse* lakehouse) {
  ThreeVersions(context, lakehouse);
  table::OpenOptions options;
  options.version = 1;
  const Table first = Open(context, lakehouse, kTable, options).ValueOrDie();
  ASSERT_TRUE(lakehouse->maintenance().CreateTag(context, *first, "tag").ok());
}
Status MoveTag(const Context& context, Lakehouse* lakehouse, const OperationKey&) {
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  return lakehouse->maintenance().UpdateTag(context, *table, "tag").status();
}
Status DeleteTag(const Context& context, Lakehouse* lakehouse, const OperationKey&) {
  ARROW_ASSIGN_OR_RAISE(uint64_t tagged, Tagged(context, lakehouse, "tag"));
  if (tagged == 0) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  return lakehouse->maintenance().DeleteTag(context, *table, "tag");
}
auto TagMoves(uint64_t before, uint64_t after) {
  return [=](const Context& context, Lakehouse* lakehouse) {
    return IsAfter(Tagged(context, lakehouse, "tag"), before, after);
  };
}

Status Branch(const Context& context, Lakehouse* lakehouse, const OperationKey&) {
  ARROW_ASSIGN_OR_RAISE(bool has, HasBranch(context, lakehouse));
  if (has) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  return lakehouse->maintenance().CreateBranch(context, *table, "b").status();
}
void Branched(const Context& context, Lakehouse* lakehouse) {
  TwoNumbers(context, lakehouse);
  ASSERT_TRUE(Branch(context, lakehouse, {}).ok());
}
Status DeleteBranch(const Context& context, Lakehouse* lakehouse, const OperationKey&) {
  ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
  const Status deleted = lakehouse->maintenance().DeleteBranch(context, *table, "b");
  return !deleted.ok() && CodeOf(deleted) == ErrorCode::kNotFound ? Status::OK() : deleted;
}
auto BranchIs(bool after) {
  return [=](const Context& context, Lakehouse* lakehouse) {
    return IsAfter(HasBranch(context, lakehouse), !after, after);
  };
}

auto Cloning(bool deep) {
  return [deep](const Context& context, Lakehouse* lakehouse, const OperationKey&) -> Status {
    if (NumbersOf(context, lakehouse, kOther).ok()) return Status::OK();
    ARROW_ASSIGN_OR_RAISE(Table table, Open(context, lakehouse));
    CloneOptions options;
    options.deep = deep;
    return lakehouse->maintenance().Clone(context, *table, InMain(kOther), options).status();
  };
}
auto IsCloned(bool deep) {
  return [deep](const Context& context, Lakehouse* lakehouse) {
    EXPECT_TRUE(IsThere(context, lakehouse, kTable, {1, 2, 3, 4}));
    if (!IsThere(context, lakehouse, kOther, {1, 2, 3, 4})) return false;
    if (deep) return true;
    const Table clone = Open(context, lakehouse, kOther).ValueOrDie();
    const std::string pin =
        std::string(table::kClonePinPrefix) + clone->entry.incarnation.ToString();
    EXPECT_EQ(Tagged(context, lakehouse, pin).ValueOrDie(), 3u);
    return true;
  };
}

constexpr char kBoth[] = "x int64;more int16;";

const SweptChange kChanges[] = {
    {"create", Nothing, Create,
     [](const Context& context, Lakehouse* lakehouse) {
       return IsThere(context, lakehouse, kTable, {1, 2});
     }},
    {"append", TwoNumbers, Append, Numbers({1, 2}, {1, 2, 3})},
    {"replace", TwoNumbers, Replace, Numbers({1, 2}, {7})},
    {"change rows", TwoNumbers, ChangeRows, Numbers({1, 2}, {2, 9})},
    {"delete", TwoNumbers, Working(Delete), Numbers({1, 2}, {1})},
    {"truncate", TwoNumbers, Working(Truncate), Numbers({1, 2}, {})},
    {"update", TwoNumbers, Update, Numbers({1, 2}, {1, 12})},
    {"merge", TwoNumbers, Working(Merge), Numbers({1, 2}, {2, 3})},
    {"add column", TwoNumbers, Working(AddColumn), Columns("x int64;", "x int64;more int64;")},
    {"drop column", TwoColumns, Working(DropColumn), Columns(kBoth, "x int64;")},
    {"rename column", TwoColumns, Working(RenameColumn), Columns(kBoth, "x int64;less int16;")},
    {"retype column", TwoColumns, Working(RetypeColumn), Columns(kBoth, "x int64;more int32;")},
    {"replace column", TwoNumbers, Working(ReplaceFiles), Numbers({1, 2}, {5, 5})},
    {"config", TwoNumbers, Working(Configure), IsConfigured},
    {"restore", ThreeVersions, Restore, Numbers({1, 2, 3, 4}, {1, 2})},
    {"compact", ThreeVersions, Compact, IsCompacted},
    {"clean up", ThreeVersions, CleanUp, IsCleanedUp, SweptChange::Kind::kPiecemeal},
    {"tag", TwoNumbers, Tag, TagMoves(0, 1)},
    {"move tag", TaggedFirst, MoveTag, TagMoves(1, 3)},
    {"delete tag", TaggedFirst, DeleteTag, TagMoves(1, 0)},
    {"branch", TwoNumbers, Branch, BranchIs(true)},
    {"delete branch", Branched, DeleteBranch, BranchIs(false)},
    {"shallow clone", ThreeVersions, Cloning(false), IsCloned(false)},
    {"deep copy", ThreeVersions, Cloning(true), IsCloned(true)},
    {"drop", TwoNumbers, Drop, IsDropped, SweptChange::Kind::kOnlyNames},
    {"undrop", Dropped, Undrop,
     [](const Context& context, Lakehouse* lakehouse) {
       return IsThere(context, lakehouse, kTable, {1, 2});
     },
     SweptChange::Kind::kOnlyNames},
    {"rename", TwoNumbers, Rename, IsRenamed, SweptChange::Kind::kOnlyNames},
};

}  // namespace

std::span<const SweptChange> SweptChanges() { return kChanges; }

}  // namespace lake::commit
