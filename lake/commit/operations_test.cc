#include "lake/commit/operations.h"

#include <chrono>
#include <memory>
#include <string>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/commit/lease_keeper.h"
#include "lake/commit/recovery.h"
#include "lake/commit/testing/status_matchers.h"
#include "lake/commit/testing/test_lakehouse.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"
#include "lake/table/update_rows.h"

namespace lake::commit {
namespace {

using storage::StoreOperation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

catalog::QualifiedName InMain(const std::string& name) { return {catalog::kMainNamespace, name}; }

class OperationsTest : public ::testing::Test {
 protected:
  OperationsTest() {
    context_.clock = &clock_;
    healthy_ = storage::MakeMemoryStore();
    store_ = std::make_shared<storage::FaultyStore>(healthy_);
    lakehouse_ = std::make_unique<TestLakehouse>(store_, context_);
  }

  Lakehouse* lakehouse() { return lakehouse_->get(); }
  OperationKey NewOperation() { return {Uuid::NewV7(context_).ToString(), "digest"}; }
  OperationKey OtherInput(OperationKey operation) {
    operation.payload_digest = "other";
    return operation;
  }
  void EndLeases() { clock_.Advance(std::chrono::nanoseconds(LeaseKeeper::kLeaseNanos + 1)); }
  catalog::Entry EntryOf(const std::string& name) {
    return lakehouse()
        ->metastore()
        .ViewFor({})
        ->Find(context_, InMain(name), catalog::NameMatch::kExact)
        .ValueOrDie();
  }
  // The manifest's key of a version.
  std::string ManifestKey(const std::string& table, uint64_t version) {
    return EntryOf(table).location + "/_versions/" +
           table::ManifestName(version, table::ManifestNaming::kV2);
  }
  // Makes the outcome of the next commit unknown though it happens: its manifest cannot be synced.
  void LoseTheNextAcknowledgement() {
    store_->FailMatching(
        [](const storage::StoreCall& call) {
          return call.operation == StoreOperation::kSync && call.key.ends_with(".manifest") &&
                 call.key.find(' ') == std::string::npos;
        },
        storage::Fault::kEffectThenError);
  }

  FakeClock clock_;
  Context context_;
  std::shared_ptr<storage::ObjectStore> healthy_;
  std::shared_ptr<storage::FaultyStore> store_;
  std::unique_ptr<TestLakehouse> lakehouse_;
};

TEST_F(OperationsTest, AnAppendRunsOnce) {
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1}));
  OperationKey operation = NewOperation();
  EXPECT_CODE(ErrorCode::kNotFound, lakehouse()->Replay(context_, {}, operation));
  CommitOutcome first = AppendNumbers(context_, lakehouse(), "t", {2, 3}, operation).ValueOrDie();
  EXPECT_FALSE(first.replayed);
  ASSERT_OK(AppendNumbers(context_, lakehouse(), "t", {4}));

  CommitOutcome again = AppendNumbers(context_, lakehouse(), "t", {2, 3}, operation).ValueOrDie();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.version, first.version);
  EXPECT_EQ(again.num_rows, 2u);
  CommitOutcome replayed = lakehouse()->Replay(context_, {}, operation).ValueOrDie();
  EXPECT_TRUE(replayed.replayed);
  EXPECT_EQ(replayed.version, first.version);
  EXPECT_EQ(replayed.num_rows, 2u);
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(1, 2, 3, 4));
}

TEST_F(OperationsTest, AChangeRunsOnce) {
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1, 2, 3}));
  OperationKey operation = NewOperation();
  CommitOutcome first = UpdateNumbers(context_, lakehouse(), "t", 2, 10, operation).ValueOrDie();
  EXPECT_EQ(first.num_updated, 2u);
  ASSERT_OK(AppendNumbers(context_, lakehouse(), "t", {4}));
  for (int i = 0; i < 2; ++i) {
    CommitOutcome again = UpdateNumbers(context_, lakehouse(), "t", 2, 10, operation).ValueOrDie();
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.version, first.version);
    EXPECT_EQ(again.num_rows, 2u);
  }
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(1, 4, 12, 13));
  // One that changes nothing is remembered, too.
  OperationKey nothing = NewOperation();
  EXPECT_EQ(UpdateNumbers(context_, lakehouse(), "t", 100, 1, nothing)->version, first.version + 1);
  ASSERT_OK(AppendNumbers(context_, lakehouse(), "t", {100}));
  EXPECT_TRUE(UpdateNumbers(context_, lakehouse(), "t", 100, 1, nothing)->replayed);
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(1, 4, 12, 13, 100));
}

TEST_F(OperationsTest, AnUnknownChangeIsResolvedByItsReplay) {
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1, 2, 3}));
  OperationKey operation = NewOperation();
  LoseTheNextAcknowledgement();
  Result<CommitOutcome> lost = UpdateNumbers(context_, lakehouse(), "t", 2, 10, operation);
  EXPECT_TRUE(IsCommitStateUnknown(lost.status()));
  CommitOutcome replayed = lakehouse()->Replay(context_, {}, operation).ValueOrDie();
  EXPECT_TRUE(replayed.replayed);
  EXPECT_EQ(replayed.num_rows, 2u);
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(1, 12, 13));
}

TEST_F(OperationsTest, AReplacementKeepsTheTable) {
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1, 2, 3}));
  const catalog::Entry before = EntryOf("t");
  ASSERT_OK(ReplaceNumbers(context_, lakehouse(), "t", {7}));
  ASSERT_OK(ReplaceNumbers(context_, lakehouse(), "t", {}));
  EXPECT_EQ(EntryOf("t").incarnation, before.incarnation);
  ASSERT_OK(AppendNumbers(context_, lakehouse(), "t", {8}));
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(8));
}

TEST_F(OperationsTest, AReplacementByWhatWasReadGoesBehindNoOtherCommit) {
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1}));
  for (const bool reads : {false, true}) {
    auto table =
        lakehouse()->OpenByName(context_, {}, InMain("t"), catalog::NameMatch::kExact).ValueOrDie();
    WriteOptions options;
    options.replaces_what_was_read = reads;
    auto write = lakehouse()->Replace(context_, {}, table, *NumbersSchema(), options).ValueOrDie();
    ASSERT_OK(write->Write(*Numbers({7})));
    ASSERT_OK(AppendNumbers(context_, lakehouse(), "t", {2}));
    const Status status = write->Commit(context_).status();
    if (reads) {
      EXPECT_EQ(CodeOf(status), ErrorCode::kConflict);
      EXPECT_TRUE(IsRetryable(status));
    } else {
      EXPECT_TRUE(status.ok()) << status;
    }
  }
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(2, 7));
  EXPECT_TRUE(lakehouse()->FindLeftovers(context_).ValueOrDie().empty());
}

TEST_F(OperationsTest, AChangeIsWorkedOutAgainBehindAnother) {
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1, 2, 3}));
  auto table =
      lakehouse()->OpenByName(context_, {}, InMain("t"), catalog::NameMatch::kExact).ValueOrDie();
  int runs = 0;
  auto update = [&](const Context& context,
                    const ChangeInput& input) -> Result<table::PreparedChange> {
    namespace cp = arrow::compute;
    table::UpdateRowsOptions options;
    options.assignments.emplace("x",
                                cp::call("add", {cp::field_ref("x"), cp::literal(int64_t{1})}));
    ARROW_ASSIGN_OR_RAISE(table::PreparedChange change,
                          table::UpdateRows(context, input.dataset, options));
    // Another one comes first, once.
    if (++runs == 1) {
      EXPECT_TRUE(UpdateNumbers(context_, lakehouse(), "t", 3, 100).ok());
    }
    return change;
  };
  ASSERT_OK(lakehouse()->Change(context_, {}, table, update, {}));
  EXPECT_EQ(runs, 2);
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(2, 3, 104));
}

TEST_F(OperationsTest, ACreateRunsOnce) {
  OperationKey operation = NewOperation();
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1}, operation));
  CommitOutcome again = CreateNumbers(context_, lakehouse(), "t", {1}, operation).ValueOrDie();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.version, 1u);
  EXPECT_EQ(again.num_rows, 1u);
  ASSERT_OK(lakehouse()->Drop(context_, {}, EntryOf("t")));
  // It happened, whatever became of the table.
  EXPECT_TRUE(lakehouse()->Replay(context_, {}, operation)->replayed);
  EXPECT_CODE(ErrorCode::kNotFound, NumbersOf(context_, lakehouse(), "t"));
}

TEST_F(OperationsTest, AnotherInputUnderTheSameIdIsRefused) {
  OperationKey create = NewOperation();
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1}, create));
  EXPECT_CODE(ErrorCode::kInvalidArgument,
              CreateNumbers(context_, lakehouse(), "u", {1}, OtherInput(create)));
  EXPECT_CODE(ErrorCode::kInvalidArgument, lakehouse()->Replay(context_, {}, OtherInput(create)));
  OperationKey append = NewOperation();
  ASSERT_OK(AppendNumbers(context_, lakehouse(), "t", {2}, append));
  EXPECT_CODE(ErrorCode::kInvalidArgument,
              AppendNumbers(context_, lakehouse(), "t", {2}, OtherInput(append)));
  // Another table, another kind of change.
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "v", {}));
  EXPECT_CODE(ErrorCode::kInvalidArgument, AppendNumbers(context_, lakehouse(), "v", {2}, append));
  EXPECT_CODE(ErrorCode::kInvalidArgument, AppendNumbers(context_, lakehouse(), "t", {1}, create));
  EXPECT_CODE(ErrorCode::kInvalidArgument, CreateNumbers(context_, lakehouse(), "w", {2}, append));
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(1, 2));
  EXPECT_EQ(lakehouse()->metastore().ViewFor({})->ListEntries(context_, "main")->size(), 2u);
}

TEST_F(OperationsTest, BadIdsAreRefused) {
  for (const char* id :
       {"x", "018F0000-0000-7000-8000-000000000001", "018f0000-0000-4000-8000-000000000001"}) {
    EXPECT_CODE(ErrorCode::kInvalidArgument,
                CreateNumbers(context_, lakehouse(), "t", {1}, {id, "digest"}));
  }
  EXPECT_CODE(
      ErrorCode::kInvalidArgument,
      CreateNumbers(context_, lakehouse(), "t", {1}, {"018f0000-0000-7000-8000-000000000001", ""}));
}

TEST_F(OperationsTest, AnUnknownAppendIsResolvedByAReplay) {
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1}));
  OperationKey operation = NewOperation();
  LoseTheNextAcknowledgement();
  EXPECT_CODE(ErrorCode::kCommitUnknown, AppendNumbers(context_, lakehouse(), "t", {2}, operation));
  store_->Reset();
  ASSERT_OK(AppendNumbers(context_, lakehouse(), "t", {3}));
  CommitOutcome outcome = lakehouse()->Replay(context_, {}, operation).ValueOrDie();
  EXPECT_EQ(outcome.version, 2u);
  EXPECT_EQ(outcome.num_rows, 1u);
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(1, 2, 3));
}

TEST_F(OperationsTest, AReplayAcrossACleanedUpVersionStaysUnknown) {
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1}));
  OperationKey operation = NewOperation();
  LoseTheNextAcknowledgement();
  EXPECT_CODE(ErrorCode::kCommitUnknown, AppendNumbers(context_, lakehouse(), "t", {2}, operation));
  store_->Reset();
  ASSERT_OK(AppendNumbers(context_, lakehouse(), "t", {3}));
  // A foreign clean-up takes the version that holds the operation.
  ASSERT_OK(healthy_->Delete(context_, ManifestKey("t", 2)));
  Status status = lakehouse()->Replay(context_, {}, operation).status();
  EXPECT_CODE(ErrorCode::kCommitUnknown, status);
  EXPECT_THAT(status.message(), HasSubstr(operation.operation_id));
  EXPECT_CODE(ErrorCode::kCommitUnknown, AppendNumbers(context_, lakehouse(), "t", {2}, operation));
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(1, 2, 3));
}

TEST_F(OperationsTest, AKnownOutcomeOutlivesAForeignCleanUp) {
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1}));
  OperationKey operation = NewOperation();
  ASSERT_OK(AppendNumbers(context_, lakehouse(), "t", {2}, operation));
  ASSERT_OK(AppendNumbers(context_, lakehouse(), "t", {3}));
  ASSERT_OK(healthy_->Delete(context_, ManifestKey("t", 1)));
  ASSERT_OK(healthy_->Delete(context_, ManifestKey("t", 2)));
  EXPECT_EQ(AppendNumbers(context_, lakehouse(), "t", {2}, operation)->version, 2u);
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(1, 2, 3));
}

TEST_F(OperationsTest, AReplayTellsTheRowsThatWereWritten) {
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1}));
  ASSERT_OK(AppendNumbers(context_, lakehouse(), "t", {2}));
  OperationKey operation = NewOperation();
  LoseTheNextAcknowledgement();
  EXPECT_CODE(ErrorCode::kCommitUnknown,
              AppendNumbers(context_, lakehouse(), "t", {3, 4, 5}, operation));
  store_->Reset();
  // Also where the version before it is gone.
  ASSERT_OK(healthy_->Delete(context_, ManifestKey("t", 2)));
  EXPECT_EQ(lakehouse()->Replay(context_, {}, operation)->num_rows, 3u);
  EXPECT_EQ(lakehouse()->Replay(context_, {}, operation)->num_rows, 3u);
}

TEST_F(OperationsTest, AnAppendToADroppedTableIsReplayedThere) {
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {1}));
  OperationKey operation = NewOperation();
  LoseTheNextAcknowledgement();
  EXPECT_CODE(ErrorCode::kCommitUnknown, AppendNumbers(context_, lakehouse(), "t", {2}, operation));
  store_->Reset();
  ASSERT_OK(lakehouse()->Drop(context_, {}, EntryOf("t")));
  EXPECT_EQ(lakehouse()->Replay(context_, {}, operation)->version, 2u);
}

TEST_F(OperationsTest, AnUnknownCreateIsFinishedByAReplay) {
  OperationKey operation = NewOperation();
  LoseTheNextAcknowledgement();
  EXPECT_CODE(ErrorCode::kCommitUnknown, CreateNumbers(context_, lakehouse(), "t", {1}, operation));
  store_->Reset();
  EXPECT_CODE(ErrorCode::kNotFound, NumbersOf(context_, lakehouse(), "t"));
  CommitOutcome outcome = lakehouse()->Replay(context_, {}, operation).ValueOrDie();
  EXPECT_EQ(outcome.version, 1u);
  EXPECT_EQ(outcome.num_rows, 1u);
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(1));
}

TEST_F(OperationsTest, ACreateThatDiedIsTriedAgainAfterItsLease) {
  OperationKey operation = NewOperation();
  // The process dies before it writes anything.
  store_->FailMatching([](const storage::StoreCall&) { return true; }, storage::Fault::kCrash);
  lakehouse_->metastore().FailCall(3, catalog::MetastoreFault::kCrash);
  EXPECT_FALSE(CreateNumbers(context_, lakehouse(), "t", {1}, operation).ok());
  store_->Reset();
  lakehouse_->metastore().Reset();

  Status status = CreateNumbers(context_, lakehouse(), "t", {1}, operation).status();
  EXPECT_CODE(ErrorCode::kCommitUnknown, status);
  EXPECT_THAT(status.message(), HasSubstr("lease"));
  EXPECT_CODE(ErrorCode::kAlreadyExists, CreateNumbers(context_, lakehouse(), "t", {5}));
  EndLeases();
  EXPECT_FALSE(CreateNumbers(context_, lakehouse(), "t", {1}, operation)->replayed);
  EXPECT_TRUE(CreateNumbers(context_, lakehouse(), "t", {1}, operation)->replayed);
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(1));
}

TEST_F(OperationsTest, AnExpiredCreationWithoutAVersionGivesItsNameUp) {
  auto write =
      lakehouse()->Create(context_, {}, InMain("t"), *NumbersSchema(), {}, {}).ValueOrDie();
  ASSERT_OK(write->Write(*Numbers({1})));
  EndLeases();
  ASSERT_OK(CreateNumbers(context_, lakehouse(), "t", {2}));
  // The first creator finds its row gone: nothing was done.
  EXPECT_CODE(ErrorCode::kConflict, write->Commit(context_));
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(2));
  EXPECT_EQ(lakehouse()->metastore().ViewFor({})->ListTombstones(context_)->at(0).reason,
            catalog::kCreateAbandoned);
}

TEST_F(OperationsTest, AnExpiredCreationWithAVersionBecomesLive) {
  LoseTheNextAcknowledgement();
  EXPECT_CODE(ErrorCode::kCommitUnknown, CreateNumbers(context_, lakehouse(), "t", {1}));
  store_->Reset();
  EndLeases();
  // As at the start of another process.
  auto other = lakehouse_->OpenSecond(healthy_);
  EXPECT_THAT(NumbersOf(context_, other.get(), "t").ValueOrDie(), ElementsAre(1));
  EXPECT_TRUE(EntryOf("t").first_transaction.has_value());
}

TEST_F(OperationsTest, ACreatorWhoseRowAnotherHandMadeLiveHasSucceeded) {
  auto write =
      lakehouse()->Create(context_, {}, InMain("t"), *NumbersSchema(), {}, {}).ValueOrDie();
  ASSERT_OK(write->Write(*Numbers({1})));
  // While the manifest is synced, a recoverer of another process sees it and finishes the creation.
  std::shared_ptr<LakehouseImpl> other;
  store_->FailMatching(
      [&](const storage::StoreCall& call) {
        if (call.operation == StoreOperation::kSync && call.key.ends_with(".manifest") &&
            call.key.find(' ') == std::string::npos && other == nullptr) {
          EndLeases();
          other = lakehouse_->OpenSecond(healthy_);
        }
        return false;
      },
      storage::Fault::kError);
  ASSERT_OK(write->Commit(context_));
  ASSERT_NE(other, nullptr);
  EXPECT_THAT(NumbersOf(context_, lakehouse(), "t").ValueOrDie(), ElementsAre(1));
}

TEST_F(OperationsTest, ALeaseThatRanLowIsRenewedBeforeTheCommit) {
  auto write =
      lakehouse()->Create(context_, {}, InMain("t"), *NumbersSchema(), {}, {}).ValueOrDie();
  ASSERT_OK(write->Write(*Numbers({1})));
  clock_.Advance(std::chrono::nanoseconds(LeaseKeeper::kLeaseNanos - 1));
  ASSERT_OK(write->Commit(context_));
  EXPECT_EQ(EntryOf("t").lease_epoch, 2);
}

}  // namespace
}  // namespace lake::commit
