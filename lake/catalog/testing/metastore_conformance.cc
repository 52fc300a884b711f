#include "lake/catalog/testing/metastore_conformance.h"

#include <chrono>
#include <thread>
#include <vector>

namespace lake::catalog::testing {
namespace {

constexpr int64_t kLease = 30'000'000'000;

ErrorCode CodeOfResult(const Status& status) {
  return status.ok() ? ErrorCode::kInternal : CodeOf(status);
}

#define EXPECT_CODE(code, expression)                                               \
  do {                                                                              \
    Status expect_code_status = ::arrow::ToStatus(expression);                      \
    EXPECT_FALSE(expect_code_status.ok());                                          \
    EXPECT_EQ(ErrorCodeName(code), ErrorCodeName(CodeOfResult(expect_code_status))) \
        << expect_code_status.ToString();                                           \
  } while (false)

#define ASSERT_OK(expression)                                          \
  do {                                                                 \
    Status assert_ok_status = ::arrow::ToStatus(expression);           \
    ASSERT_TRUE(assert_ok_status.ok()) << assert_ok_status.ToString(); \
  } while (false)

}  // namespace

// Test programs of other modules link this file without a backend.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MetastoreConformance);

std::string BackendName(const ::testing::TestParamInfo<MetastoreBackend>& info) {
  return info.param.name;
}

void MetastoreConformance::SetUp() {
  context_.clock = &clock_;
  context_.random = &random_;
  under_test_ = GetParam().make();
  Result<std::shared_ptr<Metastore>> opened = under_test_->Open(context_);
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  metastore_ = *opened;
  view_ = metastore_->ViewFor(Principal{});
}

Entry MetastoreConformance::NewEntry(const std::string& name, const std::string& name_space) {
  Entry entry;
  entry.incarnation = Uuid::NewV7(context_);
  entry.name = {name_space, name};
  entry.location = "tables/main/t/" + entry.incarnation.ToString() + ".lance";
  return entry;
}

Entry MetastoreConformance::MakeTable(const std::string& name, const std::string& name_space) {
  Result<Entry> entry = metastore_->BeginCreate(context_, NewEntry(name, name_space), kLease);
  EXPECT_TRUE(entry.ok()) << entry.status().ToString();
  if (!entry.ok()) return {};
  Status finished = metastore_->FinishCreate(context_, *entry, Uuid::NewV4(context_));
  EXPECT_TRUE(finished.ok()) << finished.ToString();
  return *entry;
}

Result<Entry> MetastoreConformance::Find(const std::string& name, NameMatch match) {
  return view_->Find(context_, {kMainNamespace, name}, match);
}

TEST_P(MetastoreConformance, MainAlwaysExists) {
  EXPECT_EQ(view_->ListNamespaces(context_).ValueOrDie(), std::vector<std::string>{"main"});
  EXPECT_CODE(ErrorCode::kAlreadyExists, metastore_->CreateNamespace(context_, "main"));
  EXPECT_CODE(ErrorCode::kAlreadyExists, metastore_->CreateNamespace(context_, "MAIN"));
  EXPECT_CODE(ErrorCode::kInvalidArgument, metastore_->DropNamespace(context_, "main"));
}

TEST_P(MetastoreConformance, NamespacesComeAndGo) {
  ASSERT_OK(metastore_->CreateNamespace(context_, "Robots"));
  EXPECT_EQ(view_->ListNamespaces(context_).ValueOrDie(),
            (std::vector<std::string>{"Robots", "main"}));
  EXPECT_EQ(view_->FindNamespace(context_, "ROBOTS", NameMatch::kSql).ValueOrDie(), "Robots");
  EXPECT_CODE(ErrorCode::kNotFound, view_->FindNamespace(context_, "ROBOTS", NameMatch::kExact));
  EXPECT_CODE(ErrorCode::kInvalidArgument, metastore_->CreateNamespace(context_, "pg_catalog"));

  MakeTable("t", "Robots");
  EXPECT_CODE(ErrorCode::kInvalidArgument, metastore_->DropNamespace(context_, "Robots"));
  Entry entry = view_->ListEntries(context_, "Robots").ValueOrDie().at(0);
  ASSERT_OK(metastore_->Drop(context_, entry, 0));
  ASSERT_OK(metastore_->DropNamespace(context_, "Robots"));
  EXPECT_CODE(ErrorCode::kNotFound, metastore_->DropNamespace(context_, "Robots"));
  EXPECT_CODE(ErrorCode::kNotFound, view_->ListEntries(context_, "Robots"));
  EXPECT_CODE(ErrorCode::kNotFound, metastore_->Undrop(context_, entry.incarnation, entry.name));
}

TEST_P(MetastoreConformance, EveryFieldOfARowIsKept) {
  Entry entry = NewEntry("t");
  entry.kind = EntryKind::kView;
  entry.format = EntryFormat::kOther;
  entry.is_protected = true;
  entry.properties = {{"a", ""}, {"b\"\n", "\u00e4\u0001"}};
  Result<Entry> created = metastore_->BeginCreate(context_, entry, kLease);
  ASSERT_OK(created);
  EXPECT_EQ(created->state, EntryState::kCreating);
  EXPECT_EQ(created->lease_expires_nanos, clock_.UnixNanos() + kLease);
  EXPECT_CODE(ErrorCode::kNotFound, Find("t"));

  Uuid first = Uuid::NewV4(context_);
  ASSERT_OK(metastore_->FinishCreate(context_, *created, first));
  Result<Entry> found = Find("t");
  ASSERT_OK(found);
  EXPECT_EQ(found->id, created->id);
  EXPECT_EQ(found->incarnation, entry.incarnation);
  EXPECT_EQ(found->name, entry.name);
  EXPECT_EQ(found->kind, EntryKind::kView);
  EXPECT_EQ(found->format, EntryFormat::kOther);
  EXPECT_EQ(found->state, EntryState::kLive);
  EXPECT_TRUE(found->is_protected);
  EXPECT_EQ(found->location, entry.location);
  EXPECT_EQ(found->version_hint, 1u);
  EXPECT_EQ(found->first_transaction, first);
  EXPECT_EQ(found->properties, entry.properties);
  EXPECT_EQ(found->created_nanos, clock_.UnixNanos());
}

TEST_P(MetastoreConformance, ATakenNameIsRefused) {
  MakeTable("Stra\u00dfe");
  for (const char* name : {"Stra\u00dfe", "STRA\u00dfE", "strasse"}) {
    EXPECT_CODE(ErrorCode::kAlreadyExists,
                metastore_->BeginCreate(context_, NewEntry(name), kLease));
  }
  EXPECT_CODE(ErrorCode::kNotFound,
              metastore_->BeginCreate(context_, NewEntry("t", "nowhere"), kLease));
  EXPECT_CODE(ErrorCode::kInvalidArgument,
              metastore_->BeginCreate(context_, NewEntry("__t"), kLease));
  EXPECT_EQ(view_->ListEntries(context_, "main").ValueOrDie().size(), 1u);
}

TEST_P(MetastoreConformance, NamesAreNormalised) {
  // "a" with a combining diaeresis, then the one code point for it.
  Result<Entry> created = metastore_->BeginCreate(context_, NewEntry("a\u0308"), kLease);
  ASSERT_OK(created);
  EXPECT_EQ(created->name.name, "\u00e4");
  ASSERT_OK(metastore_->FinishCreate(context_, *created, Uuid::NewV4(context_)));
  EXPECT_TRUE(Find("a\u0308").ok());
  EXPECT_TRUE(Find("\u00e4").ok());
}

TEST_P(MetastoreConformance, SqlLookupIgnoresCaseAndExactLookupDoesNot) {
  MakeTable("Episodes");
  EXPECT_EQ(Find("EPISODES", NameMatch::kSql).ValueOrDie().name.name, "Episodes");
  EXPECT_CODE(ErrorCode::kNotFound, Find("EPISODES"));
  EXPECT_CODE(ErrorCode::kNotFound, Find("Episode", NameMatch::kSql));
  EXPECT_TRUE(view_->Find(context_, {"MAIN", "episodes"}, NameMatch::kSql).ok());
}

TEST_P(MetastoreConformance, ACreatingRowHoldsItsNameUntilItsLeaseEnds) {
  ASSERT_OK(metastore_->BeginCreate(context_, NewEntry("t"), kLease));
  EXPECT_CODE(ErrorCode::kAlreadyExists, metastore_->BeginCreate(context_, NewEntry("T"), kLease));
  EXPECT_TRUE(metastore_->ExpiredCreates(context_).ValueOrDie().empty());
  clock_.Advance(std::chrono::nanoseconds(kLease));
  EXPECT_CODE(ErrorCode::kConflict, metastore_->BeginCreate(context_, NewEntry("t"), kLease));

  std::vector<Entry> expired = metastore_->ExpiredCreates(context_).ValueOrDie();
  ASSERT_EQ(expired.size(), 1u);
  ASSERT_OK(metastore_->AbandonCreate(context_, expired[0]));
  ASSERT_OK(metastore_->BeginCreate(context_, NewEntry("t"), kLease));
  EXPECT_EQ(view_->ListTombstones(context_).ValueOrDie().at(0).reason, kCreateAbandoned);
  EXPECT_CODE(ErrorCode::kNotFound,
              metastore_->Undrop(context_, expired[0].incarnation, {"main", "u"}));
}

TEST_P(MetastoreConformance, ARenewedLeaseFencesWhoSawTheOldOne) {
  Entry entry = metastore_->BeginCreate(context_, NewEntry("t"), kLease).ValueOrDie();
  clock_.Advance(std::chrono::nanoseconds(kLease));
  Entry seen = metastore_->ExpiredCreates(context_).ValueOrDie().at(0);
  Result<Entry> renewed = metastore_->RenewCreate(context_, entry, kLease);
  ASSERT_OK(renewed);
  EXPECT_GT(renewed->lease_epoch, entry.lease_epoch);
  EXPECT_CODE(ErrorCode::kConflict, metastore_->AbandonCreate(context_, seen));
  EXPECT_CODE(ErrorCode::kConflict, metastore_->RenewCreate(context_, entry, kLease));
  EXPECT_TRUE(metastore_->ExpiredCreates(context_).ValueOrDie().empty());
  ASSERT_OK(metastore_->AbandonCreate(context_, *renewed));
}

TEST_P(MetastoreConformance, AnotherHandMayFinishOrBuryACreation) {
  Entry finished = metastore_->BeginCreate(context_, NewEntry("a"), kLease).ValueOrDie();
  Uuid first = Uuid::NewV4(context_);
  ASSERT_OK(metastore_->FinishCreate(context_, finished, first));
  ASSERT_OK(metastore_->FinishCreate(context_, finished, Uuid::NewV4(context_)));
  EXPECT_EQ(Find("a").ValueOrDie().first_transaction, first);
  EXPECT_CODE(ErrorCode::kConflict, metastore_->RenewCreate(context_, finished, kLease));
  EXPECT_CODE(ErrorCode::kConflict, metastore_->AbandonCreate(context_, finished));

  Entry buried = metastore_->BeginCreate(context_, NewEntry("b"), kLease).ValueOrDie();
  ASSERT_OK(metastore_->AbandonCreate(context_, buried));
  EXPECT_CODE(ErrorCode::kConflict, metastore_->FinishCreate(context_, buried, first));
  EXPECT_CODE(ErrorCode::kConflict, metastore_->RenewCreate(context_, buried, kLease));
}

TEST_P(MetastoreConformance, DropAndUndrop) {
  Entry entry = MakeTable("t");
  ASSERT_OK(metastore_->Drop(context_, entry, clock_.UnixNanos() + 5));
  EXPECT_CODE(ErrorCode::kNotFound, Find("t"));
  EXPECT_CODE(ErrorCode::kConflict, metastore_->Drop(context_, entry, 0));
  std::vector<Tombstone> tombstones = view_->ListTombstones(context_).ValueOrDie();
  ASSERT_EQ(tombstones.size(), 1u);
  EXPECT_EQ(tombstones[0].entry.incarnation, entry.incarnation);
  EXPECT_EQ(tombstones[0].dropped_nanos, clock_.UnixNanos());
  EXPECT_EQ(tombstones[0].purge_after_nanos, clock_.UnixNanos() + 5);
  EXPECT_EQ(tombstones[0].reason, kDropped);

  Entry other = MakeTable("t");
  EXPECT_NE(other.id, entry.id);
  EXPECT_CODE(ErrorCode::kAlreadyExists,
              metastore_->Undrop(context_, entry.incarnation, {"main", "T"}));
  Result<Entry> undropped = metastore_->Undrop(context_, entry.incarnation, {"main", "old"});
  ASSERT_OK(undropped);
  EXPECT_EQ(undropped->location, entry.location);
  EXPECT_EQ(Find("old").ValueOrDie().incarnation, entry.incarnation);
  EXPECT_EQ(Find("old").ValueOrDie().id, entry.id);
  EXPECT_TRUE(view_->ListTombstones(context_).ValueOrDie().empty());
}

TEST_P(MetastoreConformance, AProtectedEntryIsNotDropped) {
  Entry entry = NewEntry("t");
  entry.is_protected = true;
  entry = metastore_->BeginCreate(context_, entry, kLease).ValueOrDie();
  ASSERT_OK(metastore_->FinishCreate(context_, entry, Uuid::NewV4(context_)));
  EXPECT_CODE(ErrorCode::kInvalidArgument, metastore_->Drop(context_, entry, 0));
  EXPECT_TRUE(Find("t").ok());
}

TEST_P(MetastoreConformance, Rename) {
  Entry entry = MakeTable("t");
  MakeTable("other");
  ASSERT_OK(metastore_->CreateNamespace(context_, "archive"));
  EXPECT_CODE(ErrorCode::kAlreadyExists, metastore_->Rename(context_, entry, {"main", "OTHER"}));
  EXPECT_CODE(ErrorCode::kNotFound, metastore_->Rename(context_, entry, {"nowhere", "t"}));
  // Its own name in another case is free.
  EXPECT_EQ(metastore_->Rename(context_, entry, {"main", "T"}).ValueOrDie().name.name, "T");
  Result<Entry> moved = metastore_->Rename(context_, entry, {"archive", "t2"});
  ASSERT_OK(moved);
  EXPECT_EQ(moved->location, entry.location);
  EXPECT_EQ(view_->Find(context_, {"archive", "t2"}, NameMatch::kExact).ValueOrDie().incarnation,
            entry.incarnation);
  ASSERT_OK(metastore_->Drop(context_, entry, 0));
  EXPECT_CODE(ErrorCode::kConflict, metastore_->Rename(context_, entry, {"main", "t"}));
}

TEST_P(MetastoreConformance, TheGenerationMovesWithTheNames) {
  uint64_t before = metastore_->Generation(context_).ValueOrDie();
  auto moved = [&] {
    uint64_t now = metastore_->Generation(context_).ValueOrDie();
    return std::exchange(before, now) != now;
  };
  EXPECT_FALSE(moved());
  ASSERT_OK(metastore_->CreateNamespace(context_, "n"));
  EXPECT_TRUE(moved());
  Entry entry = MakeTable("t");
  EXPECT_TRUE(moved());
  ASSERT_OK(metastore_->AdvanceHint(context_, entry.incarnation, 7));
  EXPECT_FALSE(moved());
  ASSERT_OK(metastore_->Rename(context_, entry, {"main", "u"}));
  EXPECT_TRUE(moved());
  ASSERT_OK(metastore_->Drop(context_, entry, 0));
  EXPECT_TRUE(moved());
  ASSERT_OK(metastore_->Undrop(context_, entry.incarnation, {"main", "u"}));
  EXPECT_TRUE(moved());
  ASSERT_OK(metastore_->DropNamespace(context_, "n"));
  EXPECT_TRUE(moved());
}

TEST_P(MetastoreConformance, TheHintMovesBothWays) {
  Entry entry = MakeTable("t");
  for (uint64_t version : {uint64_t{9}, uint64_t{2}}) {
    ASSERT_OK(metastore_->AdvanceHint(context_, entry.incarnation, version));
    EXPECT_EQ(Find("t").ValueOrDie().version_hint, version);
  }
  ASSERT_OK(metastore_->AdvanceHint(context_, Uuid::NewV7(context_), 3));
}

TEST_P(MetastoreConformance, AnOperationRecordIsWrittenOnce) {
  Entry entry = MakeTable("t");
  OperationRecord record{.operation_id = Uuid::NewV7(context_).ToString(),
                         .payload_digest = "d1",
                         .incarnation = entry.incarnation,
                         .base_version = 4,
                         .created_nanos = 0,
                         .committed_version = {},
                         .committed_rows = 0};
  EXPECT_CODE(ErrorCode::kNotFound, metastore_->FindOperation(context_, record.operation_id));
  BegunOperation begun = metastore_->BeginOperation(context_, record).ValueOrDie();
  EXPECT_FALSE(begun.existed);

  OperationRecord again = record;
  again.base_version = 9;
  begun = metastore_->BeginOperation(context_, again).ValueOrDie();
  EXPECT_TRUE(begun.existed);
  EXPECT_EQ(begun.record.base_version, 4u);
  EXPECT_FALSE(begun.record.committed_version.has_value());

  again.payload_digest = "d2";
  EXPECT_CODE(ErrorCode::kInvalidArgument, metastore_->BeginOperation(context_, again));
  again = record;
  again.incarnation = Uuid::NewV7(context_);
  EXPECT_CODE(ErrorCode::kInvalidArgument, metastore_->BeginOperation(context_, again));

  ASSERT_OK(metastore_->FinishOperation(context_, record.operation_id, 5, 100));
  ASSERT_OK(metastore_->FinishOperation(context_, record.operation_id, 6, 200));
  OperationRecord found = metastore_->FindOperation(context_, record.operation_id).ValueOrDie();
  EXPECT_EQ(found.committed_version, 5u);
  EXPECT_EQ(found.committed_rows, 100u);
  EXPECT_CODE(ErrorCode::kNotFound,
              metastore_->FinishOperation(context_, Uuid::NewV7(context_).ToString(), 1, 1));
}

TEST_P(MetastoreConformance, ABuriedCreationsOperationIsRestartedOnce) {
  Uuid buried = Uuid::NewV7(context_);
  OperationRecord record{.operation_id = Uuid::NewV7(context_).ToString(),
                         .payload_digest = "d1",
                         .incarnation = buried,
                         .base_version = 0,
                         .created_nanos = 0,
                         .committed_version = {},
                         .committed_rows = 0};
  ASSERT_OK(metastore_->BeginOperation(context_, record));
  record.incarnation = Uuid::NewV7(context_);
  ASSERT_OK(metastore_->RestartOperation(context_, buried, record));
  EXPECT_CODE(ErrorCode::kConflict, metastore_->RestartOperation(context_, buried, record));
  EXPECT_EQ(metastore_->FindOperation(context_, record.operation_id).ValueOrDie().incarnation,
            record.incarnation);
}

TEST_P(MetastoreConformance, AnIncarnationIsFoundInEveryState) {
  Entry entry = metastore_->BeginCreate(context_, NewEntry("t"), kLease).ValueOrDie();
  auto where = [&] { return metastore_->FindIncarnation(context_, entry.incarnation); };
  EXPECT_EQ(where().ValueOrDie().entry.state, EntryState::kCreating);
  ASSERT_OK(metastore_->FinishCreate(context_, entry, Uuid::NewV4(context_)));
  EXPECT_EQ(where().ValueOrDie().entry.state, EntryState::kLive);
  ASSERT_OK(metastore_->Drop(context_, entry, 0));
  EXPECT_EQ(where().ValueOrDie().tombstone->reason, kDropped);
  EXPECT_EQ(where().ValueOrDie().entry.location, entry.location);
  entry.incarnation = Uuid::NewV7(context_);
  EXPECT_CODE(ErrorCode::kNotFound, where());
}

TEST_P(MetastoreConformance, AClientSeesWhatAnotherCommitted) {
  std::shared_ptr<Metastore> other = under_test_->Open(context_).ValueOrDie();
  std::unique_ptr<View> other_view = other->ViewFor(Principal{});
  Entry entry = MakeTable("t");
  EXPECT_TRUE(other_view->Find(context_, entry.name, NameMatch::kExact).ok());
  ASSERT_OK(other->Drop(context_, entry, 0));
  EXPECT_CODE(ErrorCode::kNotFound, Find("t"));
  EXPECT_EQ(metastore_->Generation(context_).ValueOrDie(),
            other->Generation(context_).ValueOrDie());
}

TEST_P(MetastoreConformance, OfRacingCreatorsOneWins) {
  constexpr int kClients = 4;
  constexpr int kRounds = 25;
  // Real time, since a client may have to wait for another.
  Context context;
  std::vector<std::shared_ptr<Metastore>> clients;
  for (int i = 0; i < kClients; ++i) clients.push_back(under_test_->Open(context).ValueOrDie());
  std::vector<int> wins(kRounds * kClients, 0);
  std::vector<std::thread> threads;
  for (int client = 0; client < kClients; ++client) {
    threads.emplace_back([&, client] {
      for (int round = 0; round < kRounds; ++round) {
        Entry entry;
        entry.incarnation = Uuid::NewV7(context);
        entry.name = {kMainNamespace, "t" + std::to_string(round)};
        entry.location = "tables/" + entry.incarnation.ToString();
        Result<Entry> begun = clients[client]->BeginCreate(context, entry, kLease);
        if (!begun.ok()) {
          EXPECT_EQ(CodeOf(begun.status()), ErrorCode::kAlreadyExists) << begun.status().ToString();
          continue;
        }
        Status finished = clients[client]->FinishCreate(context, *begun, Uuid::NewV4(context));
        EXPECT_TRUE(finished.ok()) << finished.ToString();
        wins[round * kClients + client] = 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int round = 0; round < kRounds; ++round) {
    int winners = 0;
    for (int client = 0; client < kClients; ++client) winners += wins[round * kClients + client];
    EXPECT_EQ(winners, 1) << "round " << round;
  }
  EXPECT_EQ(view_->ListEntries(context_, kMainNamespace).ValueOrDie().size(),
            static_cast<size_t>(kRounds));
}

TEST_P(MetastoreConformance, ACancelledCallDoesNothing) {
  Context cancelled = context_;
  cancelled.cancel = CancelToken();
  cancelled.cancel.Cancel();
  EXPECT_CODE(ErrorCode::kCancelled, metastore_->CreateNamespace(cancelled, "n"));
  EXPECT_EQ(view_->ListNamespaces(context_).ValueOrDie().size(), 1u);
}

}  // namespace lake::catalog::testing
