#include "lake/commit/maintenance.h"

#include <functional>
#include <utility>

#include <arrow/compute/expression.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/commit/testing/test_lakehouse.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"
#include "lake/table/update_rows.h"

namespace lake::commit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

table::CleanupOptions Everything() {
  table::CleanupOptions options;
  options.older_than_nanos = 0;
  options.superseded_for_nanos = 0;
  options.replay_retention_nanos = 0;
  return options;
}

class MaintenanceTest : public ::testing::Test {
 protected:
  MaintenanceTest() {
    context_.clock = &clock_;
    lakehouse_ = std::make_unique<TestLakehouse>(store_, context_);
  }

  void MakeTable() {
    ASSERT_TRUE(CreateNumbers(context_, lakehouse_->get(), "t", {1, 2}).ok());
    for (int64_t i = 3; i < 6; ++i) {
      clock_.Advance(std::chrono::hours(1));
      ASSERT_TRUE(AppendNumbers(context_, lakehouse_->get(), "t", {i}).ok());
    }
    clock_.Advance(std::chrono::hours(1));
  }
  std::shared_ptr<const OpenTable> Open(const std::string& name = "t",
                                        const table::OpenOptions& options = {}) {
    auto table = (*lakehouse_)
                     ->OpenByName(context_, {}, {catalog::kMainNamespace, name},
                                  catalog::NameMatch::kExact, options);
    EXPECT_TRUE(table.ok()) << table.status();
    return table.ok() ? *table : nullptr;
  }
  Maintenance& maintenance() { return lakehouse_->get()->maintenance(); }
  /// A clone whose creation was given up.
  catalog::Entry AbandonedCreation() {
    catalog::Entry entry;
    entry.incarnation = Uuid::NewV7(context_);
    entry.name = {catalog::kMainNamespace, "gone"};
    entry.location = NewTableLocation(entry.name, entry.incarnation);
    entry = lakehouse_->metastore().BeginCreate(context_, entry, 1).ValueOrDie();
    EXPECT_TRUE(lakehouse_->metastore().AbandonCreate(context_, entry).ok());
    return entry;
  }
  /// Pins version 1 for a clone.
  void Pin(const Uuid& clone) {
    const std::string name = std::string(table::kClonePinPrefix) + clone.ToString();
    ASSERT_TRUE(table::CreateTag(context_, Open()->dataset->root_store(), name, {{}, 1}).ok());
  }
  /// Makes `change` on a table that is made anew, for each of its store calls and each fault there;
  /// `check` sees what is left behind, `where` names call and fault. The number of calls.
  size_t UnderEachFault(
      const std::function<Status(const OpenTable&)>& change,
      const std::function<void(const Status& status, const std::string& where)>& check) {
    bool reached = true;
    size_t call = 0;
    for (; reached; ++call) {
      reached = false;
      for (const storage::Fault fault : storage::kAllFaults) {
        store_ = std::make_shared<storage::FaultyStore>(storage::MakeMemoryStore());
        lakehouse_ = std::make_unique<TestLakehouse>(store_, context_);
        MakeTable();
        const std::shared_ptr<const OpenTable> table = Open();
        store_->Reset();
        store_->FailCall(call, fault);
        const Status status = change(*table);
        reached |= store_->num_injected() > 0;
        store_->Reset();
        check(status, fmt::format("call {}, {}", call, storage::FaultName(fault)));
      }
    }
    return call;
  }
  std::vector<int64_t> Values(const std::string& name = "t") {
    Result<std::vector<int64_t>> values = NumbersOf(context_, lakehouse_->get(), name);
    EXPECT_TRUE(values.ok()) << values.status();
    return values.ok() ? *values : std::vector<int64_t>();
  }

  FakeClock clock_;
  Context context_;
  std::shared_ptr<storage::FaultyStore> store_ =
      std::make_shared<storage::FaultyStore>(storage::MakeMemoryStore());
  std::unique_ptr<TestLakehouse> lakehouse_;
};

TEST_F(MaintenanceTest, CompactionKeepsWhatOthersCommitMeanwhile) {
  MakeTable();
  std::shared_ptr<const OpenTable> old = Open();
  ASSERT_TRUE(AppendNumbers(context_, lakehouse_->get(), "t", {9}).ok());
  CompactOutcome outcome = maintenance().Compact(context_, *old, {}).ValueOrDie();
  EXPECT_TRUE(outcome.changed);
  EXPECT_EQ(outcome.groups_given_up, 0u);
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4, 5, 9));
  EXPECT_EQ(Open()->dataset->manifest().fragments().size(), 2u);
  EXPECT_FALSE(maintenance().Compact(context_, *Open(), {.target_rows = 1}).ValueOrDie().changed);
}

TEST_F(MaintenanceTest, ACompactionThatLosesLeavesNothingBehind) {
  MakeTable();
  std::shared_ptr<const OpenTable> old = Open();
  ASSERT_TRUE(maintenance().Compact(context_, *old, {}).ok());
  CompactOutcome late = maintenance().Compact(context_, *old, {}).ValueOrDie();
  EXPECT_FALSE(late.changed);
  EXPECT_EQ(late.groups_given_up, 1u);
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4, 5));
  table::VerifyReport report = maintenance().Verify(context_, {}, *Open(), {}).ValueOrDie();
  for (const table::Finding& finding : report.findings) ADD_FAILURE() << finding.object;
}

TEST_F(MaintenanceTest, CleanUpResolvesOperationsAndKeepsWhatAReplayReads) {
  MakeTable();
  const OperationKey done{"01890a5d-ac96-774b-bcce-b302099a8057", std::string(64, 'a')};
  ASSERT_TRUE(AppendNumbers(context_, lakehouse_->get(), "t", {6}, done).ok());
  // Begun, and its writer died before it committed anything.
  catalog::OperationRecord open;
  open.operation_id = "01890a5d-ac96-774b-bcce-b302099a8058";
  open.payload_digest = std::string(64, 'b');
  open.incarnation = Open()->entry.incarnation;
  open.base_version = 2;
  ASSERT_TRUE(lakehouse_->metastore().BeginOperation(context_, open).ok());
  clock_.Advance(std::chrono::hours(1));
  ASSERT_TRUE(AppendNumbers(context_, lakehouse_->get(), "t", {7}).ok());
  clock_.Advance(std::chrono::hours(1));

  table::CleanupOptions options = Everything();
  options.replay_retention_nanos = 3 * table::kDayNanos / 24;
  options.dry_run = true;
  table::CleanupReport report = maintenance().CleanUp(context_, *Open(), options).ValueOrDie();
  EXPECT_TRUE(report.versions[0].removed);
  EXPECT_TRUE(report.versions[1].removed);
  EXPECT_EQ(report.versions[2].reason, "an operation that is not resolved may be replayed");
  clock_.Advance(std::chrono::hours(24));
  report = maintenance().CleanUp(context_, *Open(), options).ValueOrDie();
  EXPECT_EQ(report.num_versions_removed(), 5u);
}

TEST_F(MaintenanceTest, AShallowClonePinsItsSource) {
  MakeTable();
  table::OpenOptions second;
  second.version = 2;
  catalog::Entry clone =
      maintenance()
          .Clone(context_, *Open("t", second), {catalog::kMainNamespace, "c"}, {})
          .ValueOrDie();
  EXPECT_THAT(Values("c"), ElementsAre(1, 2, 3));
  ASSERT_TRUE(AppendNumbers(context_, lakehouse_->get(), "c", {70}).ok());
  EXPECT_THAT(Values("c"), ElementsAre(1, 2, 3, 70));
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4, 5));

  Status refused = (*lakehouse_)->Drop(context_, {}, Open()->entry);
  EXPECT_EQ(CodeOf(refused), ErrorCode::kConflict);
  EXPECT_THAT(refused.message(), HasSubstr("main.c"));
  table::CleanupReport report = maintenance().CleanUp(context_, *Open(), Everything()).ValueOrDie();
  EXPECT_EQ(report.num_versions_removed(), 2u);
  EXPECT_THAT(Values("c"), ElementsAre(1, 2, 3, 70));
  // A user cannot lift the pin.
  EXPECT_FALSE(maintenance()
                   .DeleteTag(context_, *Open(),
                              std::string(table::kClonePinPrefix) + clone.incarnation.ToString())
                   .ok());
  ASSERT_TRUE((*lakehouse_)->Drop(context_, {}, Open("c")->entry).ok());
  EXPECT_TRUE((*lakehouse_)->Drop(context_, {}, Open()->entry).ok());
}

/// Adds 1 to each number; another commit that adds 100 to each comes first, once.
Status ChangeBehindAnother(const Context& context, Lakehouse* lakehouse,
                           const std::shared_ptr<const OpenTable>& table) {
  namespace cp = arrow::compute;
  bool raced = false;
  auto add = [](int64_t step) {
    table::UpdateRowsOptions options;
    options.assignments.emplace("x", cp::call("add", {cp::field_ref("x"), cp::literal(step)}));
    return options;
  };
  auto other = [&](const Context& context, const ChangeInput& input) {
    return table::UpdateRows(context, input.dataset, add(100));
  };
  auto mine = [&](const Context& context,
                  const ChangeInput& input) -> Result<table::PreparedChange> {
    ARROW_ASSIGN_OR_RAISE(table::PreparedChange change,
                          table::UpdateRows(context, input.dataset, add(1)));
    if (!std::exchange(raced, true)) {
      ARROW_RETURN_NOT_OK(lakehouse->Change(context, {}, table, other, {}).status());
    }
    return change;
  };
  return lakehouse->Change(context, {}, table, mine, {}).status();
}

TEST_F(MaintenanceTest, AChangeOfABranchIsWorkedOutAgainBehindAnother) {
  MakeTable();
  ASSERT_TRUE(maintenance().CreateBranch(context_, *Open(), "b").ok());
  table::OpenOptions on_branch;
  on_branch.branch = "b";
  const Status changed = ChangeBehindAnother(context_, lakehouse_->get(), Open("t", on_branch));
  ASSERT_TRUE(changed.ok()) << changed;
  EXPECT_THAT(*ReadNumbers(context_, *Open("t", on_branch)->dataset),
              ElementsAre(102, 103, 104, 105, 106));
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(MaintenanceTest, AChangeOfAShallowCloneIsWorkedOutAgainBehindAnother) {
  MakeTable();
  ASSERT_TRUE(maintenance().Clone(context_, *Open(), {catalog::kMainNamespace, "c"}, {}).ok());
  const Status changed = ChangeBehindAnother(context_, lakehouse_->get(), Open("c"));
  ASSERT_TRUE(changed.ok()) << changed;
  EXPECT_THAT(Values("c"), ElementsAre(102, 103, 104, 105, 106));
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(MaintenanceTest, OperationsWithAnIdAreForTheMainLine) {
  MakeTable();
  ASSERT_TRUE(maintenance().CreateBranch(context_, *Open(), "b").ok());
  table::OpenOptions on_branch;
  on_branch.branch = "b";
  const auto table = Open("t", on_branch);
  WriteOptions options;
  auto write = lakehouse_->get()->Append(context_, {}, table, options).ValueOrDie();
  ASSERT_TRUE(write->Write(*Numbers({6})).ok());
  ASSERT_TRUE(write->Commit(context_).ok());
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4, 5));
  options.operation = {Uuid::NewV7(context_).ToString(), "digest"};
  const Status refused = lakehouse_->get()->Append(context_, {}, table, options).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("branch b"));
}

TEST_F(MaintenanceTest, PinsOfClonesThatNeverCameToBeAreLifted) {
  MakeTable();
  catalog::Entry clone = AbandonedCreation();
  Pin(clone.incarnation);
  // The manifest that it put came to be after all.
  const std::string manifest = clone.location + "/_versions/1.manifest";
  ASSERT_TRUE(store_->Put(context_, manifest, "late", storage::PutCondition::kNone).ok());
  EXPECT_EQ(
      maintenance().CleanUp(context_, *Open(), Everything()).ValueOrDie().num_versions_removed(),
      2u);
  EXPECT_EQ(maintenance().ListTags(context_, *Open()).ValueOrDie().size(), 1u);
  ASSERT_TRUE(store_->Delete(context_, manifest).ok());
  EXPECT_EQ(
      maintenance().CleanUp(context_, *Open(), Everything()).ValueOrDie().num_versions_removed(),
      1u);
  EXPECT_TRUE(maintenance().ListTags(context_, *Open()).ValueOrDie().empty());
}

TEST_F(MaintenanceTest, PinsOfClonesThatAnOlderMetastoreDoesNotKnowStay) {
  MakeTable();
  Pin(Uuid::NewV7(context_));
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(maintenance().CleanUp(context_, *Open(), Everything()).ok());
  }
  table::OpenOptions pinned;
  pinned.version = 1;
  EXPECT_THAT(ReadNumbers(context_, *Open("t", pinned)->dataset).ValueOrDie(), ElementsAre(1, 2));
  table::VerifyReport report = maintenance().Verify(context_, {}, *Open(), {}).ValueOrDie();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(report.findings[0].what, HasSubstr("the metastore does not know"));
}

TEST_F(MaintenanceTest, ATableReadsNoFilesOfTablesThatItIsNoCloneOf) {
  MakeTable();
  const catalog::QualifiedName c{catalog::kMainNamespace, "c"};
  const catalog::QualifiedName d{catalog::kMainNamespace, "d"};
  catalog::Entry clone = maintenance().Clone(context_, *Open(), c, {}).ValueOrDie();
  ASSERT_TRUE(AppendNumbers(context_, lakehouse_->get(), "c", {70}).ok());
  ASSERT_TRUE(maintenance().Clone(context_, *Open("c"), d, {}).ok());
  EXPECT_THAT(Values("d"), ElementsAre(1, 2, 3, 4, 5, 70));

  // A program that writes into the table's folder names the files of another.
  clone.properties.erase(kCloneOfProperty);
  auto table = (*lakehouse_)->OpenEntry(context_, clone, {}).ValueOrDie();
  const Status refused = ReadNumbers(context_, *table->dataset).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kPermissionDenied);
  EXPECT_THAT(refused.message(), HasSubstr(Open()->entry.location));
  clone.properties[kCloneOfProperty] = Uuid::NewV7(context_).ToString();
  table = (*lakehouse_)->OpenEntry(context_, clone, {}).ValueOrDie();
  EXPECT_EQ(CodeOf(ReadNumbers(context_, *table->dataset).status()), ErrorCode::kPermissionDenied);
}

TEST_F(MaintenanceTest, AChangeOfABranchHasNoOperationIdAndLeavesTheHint) {
  MakeTable();
  ASSERT_TRUE(maintenance().CreateBranch(context_, *Open(), "dev").ok());
  table::OpenOptions on_branch;
  on_branch.branch = "dev";
  WriteOptions options;
  options.operation = {Uuid::NewV7(context_).ToString(), std::string(64, 'a')};
  EXPECT_EQ(CodeOf((*lakehouse_)->Append(context_, {}, Open("t", on_branch), options).status()),
            ErrorCode::kUnsupported);
  const uint64_t hint = Open()->entry.version_hint;
  auto write = (*lakehouse_)->Append(context_, {}, Open("t", on_branch), {}).ValueOrDie();
  ASSERT_TRUE(write->Write(*Numbers({6})).ok());
  EXPECT_EQ(write->Commit(context_).ValueOrDie().version, 5u);
  EXPECT_EQ(Open()->entry.version_hint, hint);
  EXPECT_EQ(Open("t", on_branch)->dataset->CountRows(context_).ValueOrDie(), 6u);
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(MaintenanceTest, ADeepCopyStandsAlone) {
  MakeTable();
  CloneOptions options;
  options.deep = true;
  size_t files = 0;
  options.progress = [&](const table::CopyProgress& progress) { files = progress.files_done; };
  ASSERT_TRUE(maintenance().Clone(context_, *Open(), {catalog::kMainNamespace, "c"}, options).ok());
  EXPECT_EQ(files, 4u);
  EXPECT_TRUE(maintenance().ListTags(context_, *Open()).ValueOrDie().empty());
  ASSERT_TRUE((*lakehouse_)->Drop(context_, {}, Open()->entry).ok());
  EXPECT_THAT(Values("c"), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(MaintenanceTest, RestoreIsACommitAndLiftsItsPin) {
  MakeTable();
  CommitOutcome outcome = maintenance().Restore(context_, *Open(), 1).ValueOrDie();
  EXPECT_EQ(outcome.version, 5u);
  EXPECT_EQ(outcome.num_rows, 2u);
  EXPECT_THAT(Values(), ElementsAre(1, 2));
  EXPECT_TRUE(maintenance().ListTags(context_, *Open()).ValueOrDie().empty());
  EXPECT_EQ(CodeOf(maintenance().Restore(context_, *Open(), 99).status()), ErrorCode::kNotFound);
}

TEST_F(MaintenanceTest, AReplacedTableIsNotTouched) {
  MakeTable();
  std::shared_ptr<const OpenTable> table = Open();
  OpenTable other = *table;
  other.entry.incarnation = Uuid::NewV7(context_);
  other.entry.first_transaction.reset();
  EXPECT_EQ(CodeOf(maintenance().CleanUp(context_, other, Everything()).status()),
            ErrorCode::kTableReplaced);
  EXPECT_EQ(CodeOf(maintenance().Compact(context_, other, {}).status()), ErrorCode::kTableReplaced);
  EXPECT_EQ(CodeOf(maintenance().CreateTag(context_, other, "t").status()),
            ErrorCode::kTableReplaced);
  EXPECT_EQ(
      CodeOf(maintenance().Clone(context_, other, {catalog::kMainNamespace, "c"}, {}).status()),
      ErrorCode::kTableReplaced);
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4, 5));
}

// Each store call of compaction and clone, under each fault: rows are never lost or doubled, and a
// clone either is there whole or not at all.
TEST_F(MaintenanceTest, NoFaultOfCompactionOrCloneLosesARow) {
  for (const bool clone : {false, true}) {
    auto change = [&](const OpenTable& table) {
      return clone
                 ? maintenance().Clone(context_, table, {catalog::kMainNamespace, "c"}, {}).status()
                 : maintenance().Compact(context_, table, {}).status();
    };
    const size_t calls =
        UnderEachFault(change, [&](const Status& status, const std::string& where) {
          EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4, 5)) << where;
          if (clone && status.ok()) {
            EXPECT_THAT(Values("c"), ElementsAre(1, 2, 3, 4, 5)) << where;
          }
          if (!clone && status.ok()) {
            EXPECT_EQ(Open()->dataset->manifest().fragments().size(), 1u) << where;
          }
        });
    EXPECT_GT(calls, 10u);
  }
}

TEST_F(MaintenanceTest, ACompactionRunsOnceByItsId) {
  MakeTable();
  const OperationKey operation{"01890a5d-ac96-774b-bcce-b302099a8057", "digest"};
  CompactOutcome first = maintenance().Compact(context_, *Open(), {}, {}, operation).ValueOrDie();
  EXPECT_TRUE(first.changed);
  EXPECT_FALSE(first.replayed);
  ASSERT_TRUE(AppendNumbers(context_, lakehouse_->get(), "t", {9}).ok());
  for (int i = 0; i < 2; ++i) {
    CompactOutcome again = maintenance().Compact(context_, *Open(), {}, {}, operation).ValueOrDie();
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.version, first.version);
    EXPECT_EQ(again.rows, 5u);
  }
  EXPECT_EQ(Open()->dataset->manifest().fragments().size(), 2u);
  // One that found nothing to do is remembered, too.
  const OperationKey nothing{"01890a5d-ac96-774b-bcce-b302099a8058", "digest"};
  const table::CompactionOptions idle{.target_rows = 1};
  EXPECT_FALSE(maintenance().Compact(context_, *Open(), idle, {}, nothing)->replayed);
  EXPECT_TRUE(maintenance().Compact(context_, *Open(), idle, {}, nothing)->replayed);
  EXPECT_EQ(CodeOf(maintenance()
                       .Compact(context_, *Open(), {}, {}, {nothing.operation_id, "other"})
                       .status()),
            ErrorCode::kInvalidArgument);
}

TEST_F(MaintenanceTest, ARestoreRunsOnceByItsId) {
  MakeTable();
  const OperationKey operation{"01890a5d-ac96-774b-bcce-b302099a8057", "digest"};
  CommitOutcome first = maintenance().Restore(context_, *Open(), 2, operation).ValueOrDie();
  ASSERT_TRUE(AppendNumbers(context_, lakehouse_->get(), "t", {9}).ok());
  CommitOutcome again = maintenance().Restore(context_, *Open(), 2, operation).ValueOrDie();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.version, first.version);
  EXPECT_EQ(again.num_rows, 3u);
  EXPECT_EQ((*lakehouse_)->Replay(context_, {}, operation)->version, first.version);
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 9));
}

TEST_F(MaintenanceTest, AnOperationIdOnABranchIsRefusedByName) {
  MakeTable();
  ASSERT_TRUE(maintenance().CreateBranch(context_, *Open(), "dev").ok());
  table::OpenOptions options;
  options.branch = "dev";
  const OperationKey operation{"01890a5d-ac96-774b-bcce-b302099a8057", "digest"};
  const std::shared_ptr<const OpenTable> branch = Open("t", options);
  Status refused = maintenance().Restore(context_, *branch, 4, operation).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("dev"));
  EXPECT_EQ(CodeOf(maintenance().Compact(context_, *branch, {}, {}, operation).status()),
            ErrorCode::kUnsupported);
  EXPECT_TRUE(maintenance().Restore(context_, *branch, 4).ok());
}

// Each store call of a compaction and a restore, under each fault: run again by its id, the
// operation stands in the history once.
TEST_F(MaintenanceTest, AfterAnyFaultAReplayEndsItOnce) {
  const OperationKey operation{"01890a5d-ac96-774b-bcce-b302099a8057", "digest"};
  for (const bool restore : {false, true}) {
    auto run = [&](const OpenTable& table) {
      return restore ? maintenance().Restore(context_, table, 2, operation).status()
                     : maintenance().Compact(context_, table, {}, {}, operation).status();
    };
    UnderEachFault(run, [&](const Status& first, const std::string& where) {
      const Status second = run(*Open());
      EXPECT_TRUE(second.ok()) << where << " " << first << " " << second;
      size_t times = 0;
      for (const table::VersionInfo& version : Open()->dataset->Versions(context_).ValueOrDie()) {
        times += version.operation == (restore ? "restore" : "rewrite") ? 1 : 0;
      }
      EXPECT_EQ(times, 1u) << where;
      if (restore) {
        EXPECT_THAT(Values(), ElementsAre(1, 2, 3)) << where;
      } else {
        EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4, 5)) << where;
      }
    });
  }
}

}  // namespace
}  // namespace lake::commit
