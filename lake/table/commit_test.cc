#include "lake/table/commit.h"

#include <algorithm>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"
#include "lake/storage/testing/recording_store.h"
#include "lake/table/append_writer.h"
#include "lake/table/testing/fake_table_internal.h"
#include "lake/table/transaction_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class CommitTest : public ::testing::Test {
 protected:
  const Context& context() const { return surroundings_.context(); }
  storage::ObjectStore* store() { return store_.get(); }

  Fragment NewFragment(uint64_t rows = 10) {
    return PutFakeFragment(context(), store(), SmallSchema(), rows).ValueOrDie();
  }

  Result<CommitResult> Run(const Transaction& transaction, const CommitOptions& options = {}) {
    return Commit(context(), store_, transaction, options);
  }

  void CreateTable(std::vector<Fragment> fragments = {}) {
    ASSERT_TRUE(Run(MakeCreate(context(), SmallSchema(), std::move(fragments))).ok());
  }

  /// Appends a new fragment to the newest version.
  Result<CommitResult> AppendOne(uint64_t read_version) {
    return Run(MakeAppend(context(), read_version, {NewFragment()}));
  }

  uint64_t Foreign(const ForeignEdit& edit) {
    return PutForeignVersion(context(), store(), edit).ValueOrDie();
  }

  std::shared_ptr<const Manifest> Newest() {
    VersionList list = ListVersions(context(), store()).ValueOrDie();
    return ReadManifest(context(), store(), list.newest(), list.naming).ValueOrDie();
  }

  bool Exists(const std::string& key) { return store_->Head(context(), key).ok(); }

  FakeSurroundings surroundings_;
  std::shared_ptr<storage::ObjectStore> store_ = storage::MakeMemoryStore();
};

TEST_F(CommitTest, CreateMakesVersionOne) {
  Transaction create = MakeCreate(context(), SmallSchema(), {NewFragment(7)});
  std::get<OverwriteOperation>(create.operation).config["k"] = "v";
  std::get<OverwriteOperation>(create.operation).table_metadata["lake.incarnation"] = "i";
  CommitResult result = Run(create).ValueOrDie();
  EXPECT_EQ(result.version, 1u);
  EXPECT_FALSE(result.replayed);
  EXPECT_EQ(result.lost_attempts, 0);
  EXPECT_EQ(result.manifest->version(), 1u);
  EXPECT_EQ(result.manifest->writer_flags(), kFlagTableConfig);
  EXPECT_TRUE(Exists("_versions/18446744073709551614.manifest"));
  EXPECT_TRUE(Exists("_transactions/0-" + create.uuid.ToString() + ".txn"));
  EXPECT_EQ(Newest()->table_metadata().at("lake.incarnation"), "i");
  EXPECT_EQ(FirstTransactionUuid(context(), store()).ValueOrDie(), create.uuid);
}

TEST_F(CommitTest, CreateFindsATable) {
  CreateTable();
  Transaction create = MakeCreate(context(), SmallSchema(), {NewFragment()});
  Status refused = Run(create).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kAlreadyExists);
  EXPECT_FALSE(Exists("data/" + FragmentsOf(create)[0].files[0].path)) << "its files are left over";
}

TEST_F(CommitTest, AppendContinuesTheNumbersOfFragments) {
  CreateTable({NewFragment(), NewFragment()});
  CommitResult result = AppendOne(1).ValueOrDie();
  EXPECT_EQ(result.version, 2u);
  ASSERT_EQ(result.manifest->fragments().size(), 3u);
  EXPECT_EQ(result.manifest->fragments()[2].id, 2u);

  // Ids of fragments that are gone are not used again.
  Foreign([](pb::Manifest* m, pb::Transaction* t) {
    m->mutable_fragments()->Clear();
    t->mutable_delete_();
  });
  result = AppendOne(3).ValueOrDie();
  ASSERT_EQ(result.manifest->fragments().size(), 1u);
  EXPECT_EQ(result.manifest->fragments()[0].id, 3u);
}

TEST_F(CommitTest, WritesTheTransactionInlineAndAsAFile) {
  CreateTable();
  Transaction append = MakeAppend(context(), 1, {NewFragment()});
  append.properties["lake.operation_id"] = "op";
  ASSERT_TRUE(Run(append).ok());
  auto manifest = Newest();
  const ManifestFile& file = FileOf(*manifest);
  ASSERT_TRUE(file.inline_transaction());
  EXPECT_TRUE(file.message().has_transaction_section());
  EXPECT_FALSE(file.message().has_old_transaction_section());
  pb::Transaction transaction;
  ASSERT_TRUE(transaction.ParseFromString(*file.inline_transaction()));
  EXPECT_EQ(transaction.read_version(), 1u);
  EXPECT_EQ(transaction.uuid(), append.uuid.ToString());
  EXPECT_EQ(transaction.append().fragments_size(), 1);
  EXPECT_EQ(transaction.transaction_properties().at("lake.operation_id"), "op");
  EXPECT_TRUE(Exists("_transactions/" + manifest->transaction_file()));
  EXPECT_EQ(manifest->transaction_file(), "1-" + append.uuid.ToString() + ".txn");
}

TEST_F(CommitTest, SyncsInTwoRoundsAndPublishesBetween) {
  CreateTable();
  Transaction append = MakeAppend(context(), 1, {NewFragment()});
  auto recording = std::make_shared<storage::RecordingStore>(store_);
  CommitOptions options;
  options.sync_keys = {"data/" + FragmentsOf(append)[0].files[0].path};
  ASSERT_TRUE(Commit(context(), recording, append, options).ok());
  std::vector<std::string> order;
  for (const storage::StoreCall& call : recording->calls()) {
    if (call.operation == storage::StoreOperation::kSync ||
        call.operation == storage::StoreOperation::kPublish) {
      order.push_back(call.ToString());
    }
  }
  ASSERT_EQ(order.size(), 3u);
  const std::string manifest = "_versions/18446744073709551613.manifest";
  EXPECT_THAT(order[0], HasSubstr("sync"));
  EXPECT_THAT(order[0], HasSubstr(FragmentsOf(append)[0].files[0].path));
  EXPECT_THAT(order[0], HasSubstr(".txn"));
  EXPECT_THAT(order[0], HasSubstr(manifest));
  EXPECT_THAT(order[1], HasSubstr("publish " + manifest));
  EXPECT_THAT(order[2], HasSubstr("sync " + manifest));
}

TEST_F(CommitTest, SyncsWhatAForeignVersionNamesNewlyAndOnlyOnce) {
  CreateTable({NewFragment()});
  Fragment foreign = NewFragment();
  Foreign([&](pb::Manifest* m, pb::Transaction*) {
    FragmentToMessage(foreign, m->add_fragments());
    m->mutable_fragments(1)->set_id(1);
    pb::DeletionFile* deletion = m->mutable_fragments(0)->mutable_deletion_file();
    deletion->set_read_version(1);
    deletion->set_id(99);
    deletion->set_num_deleted_rows(1);
  });
  ASSERT_TRUE(
      store_->Put(context(), "_deletions/0-1-99.arrow", "x", storage::PutCondition::kNone).ok());
  const std::string old_file = DataFileKey(Newest()->fragments()[0].files[0]);

  auto recording = std::make_shared<storage::RecordingStore>(store_);
  ASSERT_TRUE(Commit(context(), recording, MakeAppend(context(), 2, {NewFragment()}), {}).ok());
  std::vector<std::string> keys;
  for (const storage::StoreCall& call : recording->calls()) {
    if (call.operation == storage::StoreOperation::kSync) keys.push_back(call.key);
  }
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_THAT(keys[0], HasSubstr(DataFileKey(foreign.files[0])));
  EXPECT_THAT(keys[0], HasSubstr("_deletions/0-1-99.arrow"));
  EXPECT_THAT(keys[0], Not(HasSubstr(old_file)));

  recording->Clear();
  ASSERT_TRUE(Commit(context(), recording, MakeAppend(context(), 3, {NewFragment()}), {}).ok());
  for (const storage::StoreCall& call : recording->calls()) {
    if (call.operation != storage::StoreOperation::kSync) continue;
    EXPECT_THAT(call.key, Not(HasSubstr(DataFileKey(foreign.files[0]))));
  }
}

TEST_F(CommitTest, KeepsTheNamingOfTheTable) {
  // A V1 table: its only manifest has the old name.
  CreateTable();
  auto bytes = store_->GetAll(context(), "_versions/18446744073709551614.manifest", 1 << 20);
  ASSERT_TRUE(store_->Delete(context(), "_versions/18446744073709551614.manifest").ok());
  ASSERT_TRUE(store_
                  ->Put(context(), "_versions/1.manifest", std::string_view(**bytes),
                        storage::PutCondition::kNone)
                  .ok());
  ASSERT_TRUE(AppendOne(1).ok());
  EXPECT_TRUE(Exists("_versions/2.manifest"));
  EXPECT_EQ(ListVersions(context(), store()).ValueOrDie().naming, ManifestNaming::kV1);
}

TEST_F(CommitTest, TheHintIsWrittenAndNeverTrusted) {
  CreateTable();
  const std::string hint = "_versions/latest_version_hint.json";
  auto read = [&] { return (*store_->GetAll(context(), hint, 100).ValueOrDie()).ToString(); };
  EXPECT_EQ(read(), "{\"version\":1}");
  for (const char* wrong : {"{\"version\":99}", "{\"version\":0}", "garbage", ""}) {
    ASSERT_TRUE(store_->Put(context(), hint, wrong, storage::PutCondition::kNone).ok());
    const uint64_t version = Newest()->version();
    ASSERT_EQ(AppendOne(version).ValueOrDie().version, version + 1);
  }
  ASSERT_TRUE(store_->Delete(context(), hint).ok());
  EXPECT_EQ(AppendOne(5).ValueOrDie().version, 6u);
}

TEST_F(CommitTest, AppendGoesOnTopOfWhatDoesNotConflict) {
  CreateTable({NewFragment()});
  const std::pair<const char*, ForeignEdit> edits[] = {
      {"append", [](pb::Manifest*, pb::Transaction* t) { t->mutable_append(); }},
      {"delete", [](pb::Manifest*, pb::Transaction* t) { t->mutable_delete_(); }},
      {"update", [](pb::Manifest*, pb::Transaction* t) { t->mutable_update(); }},
      {"rewrite", [](pb::Manifest*, pb::Transaction* t) { t->mutable_rewrite(); }},
      {"create_index", [](pb::Manifest*, pb::Transaction* t) { t->mutable_create_index(); }},
      {"data_replacement",
       [](pb::Manifest*, pb::Transaction* t) { t->mutable_data_replacement(); }},
      {"update_config", [](pb::Manifest*, pb::Transaction* t) { t->mutable_update_config(); }},
      {"reserve_fragments",
       [](pb::Manifest* m, pb::Transaction* t) {
         t->mutable_reserve_fragments();
         m->set_max_fragment_id(100);
       }},
      {"merge that adds a column",
       [](pb::Manifest* m, pb::Transaction* t) {
         t->mutable_merge();
         lake::format::pb::Field* field = m->add_fields();
         field->set_id(7);
         field->set_parent_id(-1);
         field->set_name("more");
         field->set_logical_type("int32");
         field->set_nullable(true);
       }},
      {"project that changes nothing",
       [](pb::Manifest*, pb::Transaction* t) { t->mutable_project(); }},
  };
  for (const auto& [name, edit] : edits) {
    const uint64_t read_version = Newest()->version();
    Foreign(edit);
    Result<CommitResult> result = AppendOne(read_version);
    ASSERT_TRUE(result.ok()) << name << ": " << result.status();
    EXPECT_EQ(result->version, read_version + 2) << name;
  }
  EXPECT_GT(Newest()->fragments().back().id, 100u);
  EXPECT_EQ(Newest()->schema().fields.size(), 3u);
}

TEST_F(CommitTest, AppendConflictsByTheTable) {
  const std::pair<const char*, ForeignEdit> edits[] = {
      {"overwrite", [](pb::Manifest*, pb::Transaction* t) { t->mutable_overwrite(); }},
      {"restore", [](pb::Manifest*, pb::Transaction* t) { t->mutable_restore(); }},
      {"update_mem_wal_state",
       [](pb::Manifest*, pb::Transaction* t) { t->mutable_update_mem_wal_state(); }},
      {"unknown",
       [](pb::Manifest*, pb::Transaction* t) {
         t->clear_operation();
         t->GetReflection()->MutableUnknownFields(t)->AddLengthDelimited(777, "");
       }},
      {"columns were changed",
       [](pb::Manifest* m, pb::Transaction* t) {
         t->mutable_project();
         m->mutable_fields()->RemoveLast();
       }},
      {"columns were changed",
       [](pb::Manifest* m, pb::Transaction* t) {
         t->mutable_project();
         m->mutable_fields(1)->set_name("renamed");
       }},
      {"columns were changed",
       [](pb::Manifest* m, pb::Transaction* t) {
         t->mutable_merge();
         m->mutable_fields(1)->set_logical_type("large_string");
       }},
      {"columns were changed",
       [](pb::Manifest* m, pb::Transaction* t) {
         t->mutable_merge();
         lake::format::pb::Field* field = m->add_fields();
         field->set_id(7);
         field->set_parent_id(-1);
         field->set_name("never null");
         field->set_logical_type("int32");
       }},
  };
  for (const auto& [reason, edit] : edits) {
    store_ = storage::MakeMemoryStore();
    CreateTable({NewFragment()});
    Foreign(edit);
    Transaction append = MakeAppend(context(), 1, {NewFragment()});
    Status refused = Run(append).status();
    EXPECT_EQ(CodeOf(refused), ErrorCode::kConflict) << reason << ": " << refused;
    EXPECT_THAT(refused.message(), HasSubstr(reason));
    EXPECT_EQ(Newest()->version(), 2u);
    EXPECT_FALSE(Exists(DataFileKey(FragmentsOf(append)[0].files[0])));
  }
}

TEST_F(CommitTest, ADroppedColumnsIdThatCameBackIsAConflict) {
  CreateTable({NewFragment()});
  Foreign([](pb::Manifest*, pb::Transaction* t) { t->mutable_project(); });
  Foreign([](pb::Manifest*, pb::Transaction* t) { t->mutable_merge(); });
  EXPECT_EQ(CodeOf(AppendOne(1).status()), ErrorCode::kConflict);
}

TEST_F(CommitTest, AMissingVersionInBetweenIsNotDoneAndRetryable) {
  CreateTable({NewFragment()});
  for (int i = 0; i < 3; ++i) Foreign([](pb::Manifest*, pb::Transaction*) {});
  ASSERT_TRUE(store_->Delete(context(), ManifestKey(3, ManifestNaming::kV2)).ok());
  Status refused = AppendOne(1).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kConflict);
  EXPECT_TRUE(IsRetryable(refused));
  // From behind the gap it goes.
  EXPECT_TRUE(AppendOne(3).ok());
}

TEST_F(CommitTest, NumbersOfVersionsMayBeFarApart) {
  CreateTable({NewFragment()});
  constexpr uint64_t kFar = 1ull << 62;
  ASSERT_EQ(Foreign([](pb::Manifest* m, pb::Transaction*) { m->set_version(kFar); }), kFar);
  Status refused = AppendOne(1).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kConflict);
  EXPECT_TRUE(IsRetryable(refused));
  EXPECT_EQ(AppendOne(kFar).ValueOrDie().version, kFar + 1);
}

TEST_F(CommitTest, NoVersionGoesOnTopOfTheLastNumber) {
  CreateTable({NewFragment()});
  Foreign([](pb::Manifest* m, pb::Transaction*) { m->set_version(kLastVersion); });
  Transaction append = MakeAppend(context(), kLastVersion, {NewFragment()});
  Status refused = Run(append).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported) << refused;
  EXPECT_EQ(Newest()->version(), kLastVersion);
  EXPECT_FALSE(Exists(DataFileKeys(FragmentsOf(append))[0])) << "its files are left over";
}

TEST_F(CommitTest, AnUnreadableTransactionInBetweenIsNotDoneAndRetryable) {
  CreateTable({NewFragment()});
  const uint64_t version = Foreign([](pb::Manifest* m, pb::Transaction* t) {
    t->clear_uuid();  // so that it does not count as a transaction
    m->clear_transaction_file();
  });
  EXPECT_EQ(version, 2u);
  Status refused = AppendOne(1).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kConflict);
  EXPECT_TRUE(IsRetryable(refused));
  EXPECT_TRUE(AppendOne(2).ok());
}

TEST_F(CommitTest, UnwritableTablesAreRefusedAndFilesRemoved) {
  CreateTable({NewFragment()});
  Foreign([](pb::Manifest* m, pb::Transaction*) { m->set_writer_feature_flags(32); });
  Transaction append = MakeAppend(context(), 2, {NewFragment()});
  Status refused = Run(append).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("no transaction file"));
  EXPECT_FALSE(Exists(DataFileKey(FragmentsOf(append)[0].files[0])));
}

TEST_F(CommitTest, TheAuthorityIsAskedBeforeEachAttempt) {
  CreateTable({NewFragment()});
  CommitOptions options;
  std::vector<uint64_t> asked;
  options.authority = [&](const Manifest* newest) -> Status {
    asked.push_back(newest == nullptr ? 0 : newest->version());
    return Error(ErrorCode::kTableReplaced, "not the table");
  };
  EXPECT_EQ(CodeOf(Run(MakeAppend(context(), 1, {NewFragment()}), options).status()),
            ErrorCode::kTableReplaced);
  EXPECT_EQ(asked, (std::vector<uint64_t>{1}));
  EXPECT_EQ(Newest()->version(), 1u);
}

TEST_F(CommitTest, AReplayFindsItsOperationAndRemovesItsNewFiles) {
  CreateTable({NewFragment()});
  Transaction first = MakeAppend(context(), 1, {NewFragment()});
  first.properties = {{kOperationIdProperty, "op"}, {kPayloadDigestProperty, "digest"}};
  ASSERT_TRUE(Run(first).ok());
  ASSERT_TRUE(AppendOne(2).ok());

  Transaction second = MakeAppend(context(), 3, {NewFragment()});
  second.properties = first.properties;
  CommitOptions options;
  options.replay_base = 1;
  CommitResult result = Run(second, options).ValueOrDie();
  EXPECT_TRUE(result.replayed);
  EXPECT_EQ(result.version, 2u);
  EXPECT_FALSE(Exists(DataFileKey(FragmentsOf(second)[0].files[0])));
  EXPECT_TRUE(Exists(DataFileKey(FragmentsOf(first)[0].files[0])));
  EXPECT_EQ(Newest()->version(), 3u);
}

TEST_F(CommitTest, TheSameTransactionTwiceIsOneVersion) {
  CreateTable({NewFragment()});
  Transaction append = MakeAppend(context(), 1, {NewFragment()});
  ASSERT_TRUE(Run(append).ok());
  CommitResult again = Run(append).ValueOrDie();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.version, 2u);
  EXPECT_TRUE(Exists(DataFileKey(FragmentsOf(append)[0].files[0])));
  EXPECT_EQ(Newest()->version(), 2u);

  Transaction create = MakeCreate(context(), SmallSchema());
  store_ = storage::MakeMemoryStore();
  ASSERT_TRUE(Run(create).ok());
  EXPECT_TRUE(Run(create).ValueOrDie().replayed);
}

TEST_F(CommitTest, AReplayIsFoundBehindAConflictingVersion) {
  CreateTable({NewFragment()});
  Foreign([](pb::Manifest*, pb::Transaction* t) { t->mutable_overwrite(); });
  Transaction first = MakeAppend(context(), 2, {NewFragment()});
  first.properties = {{kOperationIdProperty, "op"}};
  ASSERT_TRUE(Run(first).ok());
  Transaction second = MakeAppend(context(), 1, {NewFragment()});
  second.properties = first.properties;
  CommitOptions options;
  options.replay_base = 1;
  CommitResult result = Run(second, options).ValueOrDie();
  EXPECT_TRUE(result.replayed);
  EXPECT_EQ(result.version, 3u);
}

TEST_F(CommitTest, AnOperationIdWithOtherInputIsRefused) {
  CreateTable({NewFragment()});
  Transaction first = MakeAppend(context(), 1, {NewFragment()});
  first.properties = {{kOperationIdProperty, "op"}, {kPayloadDigestProperty, "one"}};
  ASSERT_TRUE(Run(first).ok());
  Transaction second = MakeAppend(context(), 1, {NewFragment()});
  second.properties = {{kOperationIdProperty, "op"}, {kPayloadDigestProperty, "two"}};
  EXPECT_EQ(CodeOf(Run(second).status()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Newest()->version(), 2u);
}

TEST_F(CommitTest, AReplayAcrossAGapIsUnknownAndRemovesNothing) {
  CreateTable({NewFragment()});
  for (int i = 0; i < 3; ++i) Foreign([](pb::Manifest*, pb::Transaction*) {});
  ASSERT_TRUE(store_->Delete(context(), ManifestKey(2, ManifestNaming::kV2)).ok());
  Transaction append = MakeAppend(context(), 4, {NewFragment()});
  append.properties = {{kOperationIdProperty, "op"}};
  CommitOptions options;
  options.replay_base = 1;
  EXPECT_TRUE(IsCommitStateUnknown(Run(append, options).status()));
  EXPECT_TRUE(Exists(DataFileKey(FragmentsOf(append)[0].files[0])));
  EXPECT_EQ(Newest()->version(), 4u);
}

TEST_F(CommitTest, FindOperationTellsItsThreeStates) {
  CreateTable({NewFragment()});
  Transaction append = MakeAppend(context(), 1, {NewFragment()});
  append.properties = {{kOperationIdProperty, "op"}, {kPayloadDigestProperty, "digest"}};
  ASSERT_TRUE(Run(append).ok());
  ASSERT_TRUE(AppendOne(2).ok());
  using State = OperationOutcome::State;
  auto find = [&](uint64_t base, const char* id) {
    return FindOperation(context(), store(), base, id).ValueOrDie();
  };
  EXPECT_EQ(find(1, "op").state, State::kCommitted);
  EXPECT_EQ(find(1, "op").version, 2u);
  EXPECT_EQ(find(1, "op").payload_digest, "digest");
  EXPECT_EQ(find(2, "op").state, State::kAbsent);
  EXPECT_EQ(find(0, "other").state, State::kAbsent);
  EXPECT_EQ(find(9, "op").state, State::kUnknown);
  ASSERT_TRUE(store_->Delete(context(), ManifestKey(2, ManifestNaming::kV2)).ok());
  EXPECT_EQ(find(1, "op").state, State::kUnknown);
  EXPECT_THAT(find(1, "op").reason, HasSubstr("version 2"));
  EXPECT_EQ(find(2, "op").state, State::kAbsent);
}

TEST_F(CommitTest, GivesUpAfterItsAttempts) {
  CreateTable({NewFragment()});
  // Another commit comes before each of its puts.
  struct Racing : storage::InterceptedStore {
    using InterceptedStore::InterceptedStore;
    Status Around(const Context& context, const storage::StoreCall& call,
                  const std::function<Status()>& effect) override {
      if (call.operation == storage::StoreOperation::kPublish) {
        ARROW_RETURN_NOT_OK(
            PutForeignVersion(context, inner(), [](pb::Manifest*, pb::Transaction*) {}).status());
      }
      return effect();
    }
  };
  CommitOptions options;
  options.max_attempts = 5;
  Transaction append = MakeAppend(context(), 1, {NewFragment()});
  Status refused = Commit(context(), std::make_shared<Racing>(store_), append, options).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kConflict);
  EXPECT_TRUE(IsRetryable(refused));
  EXPECT_EQ(Newest()->version(), 6u);
  EXPECT_FALSE(Exists(DataFileKey(FragmentsOf(append)[0].files[0])));
}

TEST_F(CommitTest, APutThatNeverArrivesIsUnknownAtTheDeadline) {
  CreateTable({NewFragment()});
  auto faulty = std::make_shared<storage::FaultyStore>(store_);
  faulty->FailMatching(
      [](const storage::StoreCall& call) {
        return call.operation == storage::StoreOperation::kPublish;
      },
      storage::Fault::kError, 1'000'000);
  Transaction append = MakeAppend(context(), 1, {NewFragment()});
  const int64_t before = surroundings_.clock().MonotonicNanos();
  Status unknown = Commit(context(), faulty, append, {}).status();
  EXPECT_TRUE(IsCommitStateUnknown(unknown));
  EXPECT_GE(surroundings_.clock().MonotonicNanos() - before, 30'000'000'000);
  EXPECT_GT(faulty->num_injected(), 10u) << "it was not sent again";
  EXPECT_TRUE(Exists(DataFileKey(FragmentsOf(append)[0].files[0])));
}

TEST_F(CommitTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 6;
  constexpr int kAppends = 25;
  Context context;  // the real clock and random source
  CreateTable();
  std::vector<std::set<std::string>> committed(kThreads);
  std::atomic<int> lost{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      uint64_t read_version = 1;
      for (int i = 0; i < kAppends; ++i) {
        Transaction append =
            MakeAppend(context, read_version,
                       {PutFakeFragment(context, store_.get(), SmallSchema(), 1).ValueOrDie()});
        CommitOptions options;
        options.max_attempts = 1000;
        Result<CommitResult> result = Commit(context, store_, append, options);
        ASSERT_TRUE(result.ok()) << result.status();
        lost += result->lost_attempts;
        read_version = result->version;
        committed[t].insert(FragmentsOf(append)[0].files[0].path);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::multiset<std::string> expected;
  for (const auto& paths : committed) expected.insert(paths.begin(), paths.end());
  std::multiset<std::string> found;
  std::shared_ptr<const Manifest> newest = Newest();
  for (const Fragment& fragment : newest->fragments()) found.insert(fragment.files[0].path);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(newest->version(), 1u + kThreads * kAppends);
  RecordProperty("lost attempts", lost.load());
}

}  // namespace
}  // namespace lake::table
