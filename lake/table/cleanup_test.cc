#include "lake/table/cleanup.h"

#include <algorithm>

#include <arrow/buffer.h>
#include <gtest/gtest.h>

#include "lake/storage/testing/faulty_store.h"
#include "lake/storage/testing/loses_unsynced_store.h"
#include "lake/table/clone.h"
#include "lake/table/testing/table_fixture_internal.h"
#include "lake/table/verify.h"
#include "lake/table/version_list.h"

namespace lake::table {
namespace {

constexpr int64_t kHourNanos = kDayNanos / 24;

/// Nothing is kept for its age.
CleanupOptions Everything() {
  CleanupOptions options;
  options.older_than_nanos = 0;
  options.superseded_for_nanos = 0;
  options.replay_retention_nanos = 0;
  return options;
}

class CleanupTest : public TableFixture {
 protected:
  void SetUp() override { Create(10, 10); }

  /// A table with `versions` versions, each of which replaced all rows, an hour apart.
  void Overwrites(int versions) {
    for (int i = 1; i < versions; ++i) {
      surroundings_.clock().Advance(std::chrono::nanoseconds(kHourNanos));
      Overwrite();
    }
    surroundings_.clock().Advance(std::chrono::nanoseconds(kHourNanos));
  }
  void Overwrite() {
    auto writer = AppendWriter::Open(context(), store_, SmallSchema()).ValueOrDie();
    ASSERT_TRUE(writer->Write(*Rows(0, 10)).ok());
    OverwriteOperation overwrite;
    overwrite.fragments = writer->Finish().ValueOrDie();
    overwrite.schema = SmallSchema();
    const uint64_t read = ListVersions(context(), store_.get()).ValueOrDie().newest();
    ASSERT_TRUE(Commit(context(), store_,
                       NewTransaction(context(), read, std::move(overwrite), writer->new_objects()),
                       {})
                    .ok());
  }

  CleanupReport Clean(const CleanupOptions& options) {
    Result<CleanupReport> report = CleanUp(context(), store_, options);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : CleanupReport();
  }
  std::vector<uint64_t> Versions() {
    return ListVersions(context(), store_.get()).ValueOrDie().versions;
  }
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    for (const storage::ObjectInfo& info :
         storage::ListAll(store_.get(), context(), "").ValueOrDie()) {
      keys.push_back(info.key);
    }
    return keys;
  }
  uint64_t Bytes() {
    uint64_t bytes = 0;
    for (const storage::ObjectInfo& info :
         storage::ListAll(store_.get(), context(), "").ValueOrDie()) {
      bytes += info.size;
    }
    return bytes;
  }
  static std::string Reason(const CleanupReport& report, uint64_t version) {
    for (const VersionFate& fate : report.versions) {
      if (fate.version == VersionRef{{}, version}) return fate.reason;
    }
    return "no such version";
  }
  /// Calls `attempt(faulty, call)` over a table of three versions that is made anew, for each store
  /// call that it reaches and each fault there.
  template <typename Attempt>
  void UnderEachFault(Attempt attempt) {
    bool reached = true;
    for (size_t call = 0; reached; ++call) {
      reached = false;
      for (const storage::Fault fault : storage::kAllFaults) {
        SCOPED_TRACE(fmt::format("call {}, {}", call, storage::FaultName(fault)));
        store_ = storage::MakeMemoryStore();
        Create(10, 10);
        Overwrites(3);
        auto faulty = std::make_shared<storage::FaultyStore>(store_);
        faulty->FailCall(call, fault);
        attempt(faulty, call);
        reached |= faulty->num_injected() > 0;
      }
    }
  }
  void Put(const std::string& key) {
    ASSERT_TRUE(store_->Put(context(), key, "some bytes", storage::PutCondition::kNone).ok());
  }
};

TEST_F(CleanupTest, OldVersionsGoWithWhatOnlyTheyName) {
  Overwrites(5);
  const uint64_t before = Bytes();
  CleanupReport report = Clean(Everything());
  EXPECT_EQ(report.num_versions_removed(), 4u);
  EXPECT_EQ(Versions(), std::vector<uint64_t>({5}));
  EXPECT_EQ(report.bytes_before, before);
  EXPECT_EQ(report.bytes_after, Bytes());
  EXPECT_EQ(report.removed.at(FileKind::kData).files, 4u);
  // Data file, manifest, transaction and hint of the one version: bytes on disk are bytes
  // reachable.
  EXPECT_EQ(Keys().size(), 4u);
  EXPECT_EQ(ScanIds({}), Range(0, 10));
  EXPECT_EQ(Clean(Everything()).total_removed().files, 0u);
}

TEST_F(CleanupTest, EachClauseKeepsAVersionByItself) {
  Overwrites(4);
  ASSERT_TRUE(CreateTag(context(), store_, "t", {{}, 2}).ok());
  CleanupOptions options = Everything();
  options.dry_run = true;
  EXPECT_EQ(Reason(Clean(options), 1), "");
  EXPECT_EQ(Reason(Clean(options), 2), "it is tagged t");
  EXPECT_EQ(Reason(Clean(options), 4), "it is the newest");

  CleanupOptions by_age = options;
  by_age.older_than_nanos = 10 * kDayNanos;
  EXPECT_EQ(Reason(Clean(by_age), 1), "it is younger than the cutoff");
  CleanupOptions by_count = options;
  by_count.keep_versions = 2;
  EXPECT_EQ(Reason(Clean(by_count), 3), "it is among the newest 2");
  EXPECT_EQ(Reason(Clean(by_count), 1), "");
  CleanupOptions by_replay = options;
  by_replay.replay_retention_nanos = 10 * kDayNanos;
  EXPECT_EQ(Reason(Clean(by_replay), 1), "operations of its time may be replayed");
  CleanupOptions by_operation = options;
  by_operation.replay_base = 2;
  EXPECT_EQ(Reason(Clean(by_operation), 3), "an operation that is not resolved may be replayed");
  EXPECT_EQ(Reason(Clean(by_operation), 1), "");
  CleanupOptions by_superseded = options;
  by_superseded.superseded_for_nanos = 10 * kDayNanos;
  EXPECT_EQ(Reason(Clean(by_superseded), 1), "it was superseded too lately");
  EXPECT_EQ(Versions().size(), 4u);
  options.keep_versions = 0;
  EXPECT_FALSE(CleanUp(context(), store_, options).ok());
}

TEST_F(CleanupTest, ADryRunTellsWhatARunDoes) {
  Overwrites(4);
  CleanupOptions options = Everything();
  options.dry_run = true;
  const std::vector<std::string> keys = Keys();
  CleanupReport dry = Clean(options);
  EXPECT_EQ(Keys(), keys);
  options.dry_run = false;
  CleanupReport wet = Clean(options);
  EXPECT_EQ(dry.total_removed().files, wet.total_removed().files);
  EXPECT_EQ(dry.total_removed().bytes, wet.total_removed().bytes);
  EXPECT_EQ(dry.bytes_after, wet.bytes_after);
}

TEST_F(CleanupTest, LeftoversStayUntilTheyAreOldOrSaidToBeNobodys) {
  const std::string leftovers[] = {"data/left.lance",
                                   "data/left/1.blob",
                                   "_deletions/0-1-2.arrow",
                                   "_transactions/1-dead.txn",
                                   "_indices/dead/i.idx",
                                   "_versions/.tmpabc",
                                   "_lake/object_refs/left.refs"};
  for (const std::string& key : leftovers) Put(key);
  Put("notes.txt");
  Put("_mem_wal/x");
  CleanupReport kept = Clean(Everything());
  EXPECT_EQ(kept.kept_unverified.files, 7u);
  EXPECT_EQ(kept.kept_other.files, 2u);
  EXPECT_EQ(kept.total_removed().files, 0u);
  CleanupOptions unverified = Everything();
  unverified.delete_unverified = true;
  EXPECT_EQ(Clean(unverified).total_removed().files, 7u);
  EXPECT_TRUE(store_->Head(context(), "notes.txt").ok());
  EXPECT_TRUE(store_->Head(context(), "_mem_wal/x").ok());

  Put("data/left.lance");
  surroundings_.clock().Advance(std::chrono::hours(24 * 365 * 20));
  EXPECT_EQ(Clean(Everything()).total_removed().files, 1u);
  EXPECT_EQ(ScanIds({}), Range(0, 10));
}

TEST_F(CleanupTest, FilesOfKeptFilesStay) {
  const std::string path = Open()->manifest().fragments()[0].files[0].path;
  const std::string stem = path.substr(0, path.size() - 6);
  Put("data/" + stem + "/1000.blob");
  Put("_lake/object_refs/" + stem + ".refs");
  CleanupOptions options = Everything();
  options.delete_unverified = true;
  EXPECT_EQ(Clean(options).total_removed().files, 0u);
  Overwrites(2);
  EXPECT_EQ(Clean(options).removed.at(FileKind::kSidecar).files, 1u);
}

TEST_F(CleanupTest, BranchesKeepWhatTheyRead) {
  Overwrites(2);
  OpenOptions first;
  first.version = 1;
  ASSERT_TRUE(CreateBranch(context(), *Open(first), "dev", store_->description()).ok());
  CleanupOptions options = Everything();
  options.delete_unverified = true;
  CleanupReport report = Clean(options);
  EXPECT_EQ(Reason(report, 1), "branch dev begins there");
  OpenOptions on_dev;
  on_dev.branch = "dev";
  EXPECT_EQ(Open(on_dev)->CountRows(context()).ValueOrDie(), 10u);
  ASSERT_TRUE(DeleteBranch(context(), store_, "dev").ok());
  EXPECT_EQ(Clean(options).num_versions_removed(), 1u);
  EXPECT_EQ(Keys().size(), 4u);
}

TEST_F(CleanupTest, AFolderWithoutItsBranchGoesWhenItIsOld) {
  ASSERT_TRUE(CreateBranch(context(), *Open(), "dev", store_->description()).ok());
  ASSERT_TRUE(store_->Delete(context(), "_refs/branches/dev.json").ok());
  CleanupReport report = Clean(Everything());
  EXPECT_EQ(report.num_versions_removed(), 0u);
  CleanupOptions options = Everything();
  options.delete_unverified = true;
  EXPECT_EQ(Clean(options).num_versions_removed(), 1u);
  EXPECT_EQ(Keys().size(), 4u);
}

TEST_F(CleanupTest, WhatCannotBeReadStopsAll) {
  Overwrites(3);
  const std::vector<std::string> keys = Keys();
  CleanupOptions options = Everything();
  options.delete_unverified = true;
  Put("_refs/tags/bad.json");
  EXPECT_EQ(CodeOf(CleanUp(context(), store_, options).status()), ErrorCode::kCorrupt);
  ASSERT_TRUE(store_->Delete(context(), "_refs/tags/bad.json").ok());
  const std::string second = ManifestKey(2, ManifestNaming::kV2);
  auto bytes = store_->GetAll(context(), second, 1 << 20).ValueOrDie();
  Put(second);
  EXPECT_EQ(CodeOf(CleanUp(context(), store_, options).status()), ErrorCode::kCorrupt);
  ASSERT_TRUE(
      store_->Put(context(), second, std::string_view(*bytes), storage::PutCondition::kNone).ok());
  EXPECT_EQ(Keys(), keys);
  Foreign([](pb::Manifest* manifest, pb::Transaction*) {
    manifest->set_writer_feature_flags(1ull << 40);
  });
  EXPECT_EQ(CodeOf(CleanUp(context(), store_, options).status()), ErrorCode::kUnsupported);
}

/// Runs something once, before the first call that matches.
class MeddlingStore : public storage::InterceptedStore {
 public:
  MeddlingStore(std::shared_ptr<storage::ObjectStore> inner, std::string before_delete_of,
                std::function<void()> meddle)
      : InterceptedStore(std::move(inner)),
        key_(std::move(before_delete_of)),
        meddle_(std::move(meddle)) {}

  Status Around(const Context& context, const storage::StoreCall& call,
                const std::function<Status()>& effect) override {
    if (call.operation == storage::StoreOperation::kDelete && call.key == key_ && meddle_) {
      std::exchange(meddle_, nullptr)();
    }
    return effect();
  }

 private:
  const std::string key_;
  std::function<void()> meddle_;
};

TEST_F(CleanupTest, AVersionThatIsTaggedMeanwhileComesBack) {
  Overwrites(3);
  auto meddling = std::make_shared<MeddlingStore>(store_, ManifestKey(1, ManifestNaming::kV2), [&] {
    ASSERT_TRUE(CreateTag(context(), store_, "late", {{}, 1}).ok());
  });
  CleanupReport report = CleanUp(context(), meddling, Everything()).ValueOrDie();
  ASSERT_EQ(report.restored.size(), 1u);
  EXPECT_EQ(report.restored[0].version, 1u);
  EXPECT_EQ(Versions(), std::vector<uint64_t>({1, 3}));
  OpenOptions by_tag;
  by_tag.tag = "late";
  EXPECT_EQ(
      Open(by_tag)->Scan(context(), {}).ValueOrDie()->Read(context(), 0).ValueOrDie()->num_rows(),
      10);
}

TEST_F(CleanupTest, AVersionThatIsTaggedWhileOthersAreJudgedIsNotTouched) {
  Overwrites(3);
  CleanupOptions options = Everything();
  options.authority = [&] { return CreateTag(context(), store_, "late", {{}, 1}).status(); };
  CleanupReport report = Clean(options);
  EXPECT_TRUE(report.restored.empty());
  EXPECT_EQ(Reason(report, 1), "it is tagged late");
  EXPECT_EQ(Versions(), std::vector<uint64_t>({1, 3}));
}

TEST_F(CleanupTest, ACancelledCleanUpPutsBackWhatWasTaggedMeanwhile) {
  Overwrites(3);
  Context cancelled = context();
  cancelled.cancel = CancelToken();
  auto meddling = std::make_shared<MeddlingStore>(store_, ManifestKey(1, ManifestNaming::kV2), [&] {
    ASSERT_TRUE(CreateTag(context(), store_, "late", {{}, 1}).ok());
    cancelled.cancel.Cancel();
  });
  EXPECT_EQ(CodeOf(CleanUp(cancelled, meddling, Everything()).status()), ErrorCode::kCancelled);
  EXPECT_EQ(Versions(), std::vector<uint64_t>({1, 3}));
}

TEST_F(CleanupTest, NoFaultLosesAVersionThatIsTaggedMeanwhile) {
  size_t tagged = 0;
  UnderEachFault([&](const std::shared_ptr<storage::FaultyStore>& faulty, size_t) {
    bool has_tag = false;
    auto meddling = std::make_shared<MeddlingStore>(
        faulty, ManifestKey(1, ManifestNaming::kV2),
        [&] { has_tag = CreateTag(context(), store_, "late", {{}, 1}).ok(); });
    (void)CleanUp(context(), meddling, Everything());
    // Whether it failed or died: the next one ends the work.
    CleanupOptions again = Everything();
    again.delete_unverified = true;
    ASSERT_TRUE(CleanUp(context(), store_, again).ok());
    EXPECT_EQ(Versions(), has_tag ? std::vector<uint64_t>({1, 3}) : std::vector<uint64_t>({3}));
    EXPECT_TRUE(storage::ListAll(store_.get(), context(), "_lake/").ValueOrDie().empty());
    if (!has_tag) return;
    ++tagged;
    OpenOptions by_tag;
    by_tag.tag = "late";
    EXPECT_EQ(Open(by_tag)->Scan(context(), {}).ValueOrDie()->Read(context(), 0).ok(), true);
  });
  EXPECT_GT(tagged, 20u);
}

TEST_F(CleanupTest, AVersionThatIsCommittedMeanwhileKeepsItsFiles) {
  Overwrites(2);
  auto meddling = std::make_shared<MeddlingStore>(store_, ManifestKey(1, ManifestNaming::kV2), [&] {
    ASSERT_TRUE(
        Commit(context(), store_, NewTransaction(context(), 2, RestoreOperation{1}), {}).ok());
  });
  ASSERT_TRUE(CleanUp(context(), meddling, Everything()).ok());
  EXPECT_EQ(Open()->manifest().version(), 3u);
  EXPECT_EQ(ScanIds({}), Range(0, 10));
}

TEST_F(CleanupTest, NoPowerLossBringsBackAVersionWithoutItsFiles) {
  for (size_t call = 0;; ++call) {
    auto losing = std::make_shared<storage::LosesUnsyncedStore>();
    store_ = losing;
    Create(10, 10);
    Overwrites(3);
    ASSERT_TRUE(CreateTag(context(), store_, "t", {{}, 2}).ok());
    auto faulty = std::make_shared<storage::FaultyStore>(losing);
    faulty->FailCall(call, storage::Fault::kEffectThenCrash);
    const Status cleaned = CleanUp(context(), faulty, Everything()).status();
    losing->Crash();
    VerifyOptions options;
    options.read_data = true;
    for (const Finding& finding : Verify(context(), store_, options).ValueOrDie().findings) {
      EXPECT_EQ(finding.severity, Severity::kInfo)
          << "call " << call << ": " << finding.object << ": " << finding.what;
    }
    if (cleaned.ok()) {
      EXPECT_EQ(Versions(), std::vector<uint64_t>({2, 3}));
      EXPECT_GT(call, 10u);
      break;
    }
  }
}

TEST_F(CleanupTest, RemovedVersionsStayAwayAfterAPowerLoss) {
  auto losing = std::make_shared<storage::LosesUnsyncedStore>();
  store_ = losing;
  Create(10, 10);
  Overwrites(3);
  ASSERT_TRUE(store_->Sync(context(), Keys(), {}).ok());
  EXPECT_EQ(Clean(Everything()).num_versions_removed(), 2u);
  losing->Crash();
  EXPECT_EQ(Versions(), std::vector<uint64_t>({3}));
  EXPECT_EQ(ScanIds({}), Range(0, 10));
}

TEST_F(CleanupTest, NoFaultLosesAnythingThatIsKept) {
  size_t calls = 0;
  UnderEachFault([&](const std::shared_ptr<storage::FaultyStore>& faulty, size_t call) {
    ASSERT_TRUE(CreateTag(context(), store_, "t", {{}, 2}).ok());
    Result<CleanupReport> report = CleanUp(context(), faulty, Everything());
    if (report.ok() && faulty->num_injected() == 0) calls = call;
    // Whatever happened: each version that is there can be read whole.
    VerifyOptions options;
    options.read_data = true;
    VerifyReport verified = Verify(context(), store_, options).ValueOrDie();
    EXPECT_EQ(verified.Count(Severity::kError), 0u)
        << (verified.findings.empty() ? "" : verified.findings[0].what);
    // And the next clean-up ends the work.
    CleanupOptions again = Everything();
    again.delete_unverified = true;
    ASSERT_TRUE(CleanUp(context(), store_, again).ok());
    EXPECT_EQ(Versions(), std::vector<uint64_t>({2, 3}));
    EXPECT_EQ(Keys().size(), 8u);
  });
  EXPECT_GT(calls, 10u);
}

}  // namespace
}  // namespace lake::table
