// Sweeps: every store call of every operation that makes a version, under every fault. The outcome
// that the commit reports must be what a fresh reader of the store finds.

#include <algorithm>
#include <iostream>

#include <gtest/gtest.h>

#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"
#include "lake/storage/testing/loses_unsynced_store.h"
#include "lake/table/commit.h"
#include "lake/table/deletion_file.h"
#include "lake/table/testing/fake_table_internal.h"
#include "lake/table/testing/table_operations_internal.h"
#include "lake/table/transaction_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {
namespace {

using storage::Fault;
using storage::FaultyStore;
using storage::ObjectStore;
using storage::StoreCall;
using storage::StoreOperation;

/// How many versions of the table hold the swept operation, after checking that the newest
/// version's files all exist.
int CountOperation(const Context& context, ObjectStore* store) {
  VersionList list = ListVersions(context, store).ValueOrDie();
  int count = 0;
  for (uint64_t version : list.versions) {
    auto manifest = ReadManifest(context, store, version, list.naming).ValueOrDie();
    auto transaction = ReadTransaction(context, store, FileOf(*manifest)).ValueOrDie();
    count += Property(transaction, kOperationIdProperty) == kSweptOperationId ? 1 : 0;
    for (const Fragment& fragment : manifest->fragments()) {
      for (const DataFile& file : fragment.files) {
        Result<storage::ObjectInfo> info = store->Head(context, DataFileKey(file));
        EXPECT_TRUE(info.ok()) << "version " << version << ": " << info.status();
        if (info.ok()) EXPECT_EQ(info->size, file.size_bytes);
      }
      Result<DeletionVector> deletions =
          ReadDeletionFile(context, store, fragment, fragment.physical_rows);
      EXPECT_TRUE(deletions.ok()) << "version " << version << ": " << deletions.status();
    }
  }
  return count;
}

std::vector<std::string> DataFiles(const Context& context, ObjectStore* store) {
  std::vector<std::string> keys;
  for (const char* folder : {"data/", "_transactions/", "_deletions/"}) {
    for (const storage::ObjectInfo& object :
         storage::ListAll(store, context, folder).ValueOrDie()) {
      keys.push_back(object.key);
    }
  }
  return keys;
}

/// The table of docs/commit.md: may the outcome be unknown when `fault` hits call `number` of
/// `calls`?
bool MayBeUnknown(const std::vector<StoreCall>& calls, size_t number, Fault fault) {
  auto is = [](StoreOperation operation) {
    return [operation](const StoreCall& call) { return call.operation == operation; };
  };
  const auto publish = std::find_if(calls.begin(), calls.end(), is(StoreOperation::kPublish));
  const auto sync = std::find_if(publish, calls.end(), is(StoreOperation::kSync));
  const auto call = calls.begin() + static_cast<std::ptrdiff_t>(number);
  const bool crash = fault == Fault::kCrash || fault == Fault::kEffectThenCrash;
  // The version is visible: its durability hangs on this sync.
  if (call == sync) return true;
  // The put is sent: with the store gone, nobody can tell, or make it durable.
  return call >= publish && call < sync && crash;
}

/// A store that says who it is, another one each time: then the process remembers what it put.
class NamedStore : public storage::InterceptedStore {
 public:
  explicit NamedStore(std::shared_ptr<ObjectStore> inner) : InterceptedStore(std::move(inner)) {
    static int number = 0;
    identity_ = fmt::format("swept:{}", ++number);
  }
  std::string identity() const override { return identity_; }
  Status Around(const Context& context, const StoreCall& call,
                const std::function<Status()>& effect) override {
    return effect();
  }

 private:
  std::string identity_;
};

class CommitFaultTest : public ::testing::TestWithParam<TableOperation> {};

TEST_P(CommitFaultTest, EveryCallUnderEveryFault) {
  const TableOperation& operation = GetParam();
  std::vector<StoreCall> calls;
  {
    FakeSurroundings surroundings;
    auto inner = storage::MakeMemoryStore();
    operation.prepare(surroundings.context(), inner);
    auto faulty = std::make_shared<FaultyStore>(inner);
    auto named = std::make_shared<NamedStore>(faulty);
    ASSERT_TRUE(operation.run(surroundings.context(), named, std::nullopt).ok());
    calls = faulty->calls();
  }
  int unknown = 0;
  int done = 0;
  int not_done = 0;
  for (size_t number = 0; number < calls.size(); ++number) {
    for (Fault fault : storage::kAllFaults) {
      SCOPED_TRACE(fmt::format("{}: {} on call {}: {}", operation.name, storage::FaultName(fault),
                               number, calls[number].ToString()));
      FakeSurroundings surroundings;
      const Context& context = surroundings.context();
      auto inner = storage::MakeMemoryStore();
      operation.prepare(context, inner);
      const std::vector<std::string> files_before = DataFiles(context, inner.get());
      auto faulty = std::make_shared<FaultyStore>(inner);
      faulty->FailCall(number, fault);
      auto named = std::make_shared<NamedStore>(faulty);
      Result<CommitResult> result = operation.run(context, named, std::nullopt);
      const int found = CountOperation(context, inner.get());
      if (result.ok()) {
        ++done;
        EXPECT_EQ(found, 1);
      } else if (IsCommitStateUnknown(result.status())) {
        ++unknown;
        EXPECT_LE(found, 1);
        EXPECT_TRUE(MayBeUnknown(calls, number, fault)) << result.status();
      } else {
        ++not_done;
        EXPECT_EQ(found, 0) << result.status();
        if (!faulty->crashed()) {
          // A delete that was swept over may leave its file.
          std::vector<std::string> left = DataFiles(context, inner.get());
          EXPECT_EQ(left, files_before) << result.status();
        }
      }
      // Whatever the outcome: a replay makes it exactly one.
      Result<CommitResult> replay = operation.run(context, inner, operation.base_version);
      ASSERT_TRUE(replay.ok()) << replay.status();
      EXPECT_EQ(replay->replayed, found == 1);
      EXPECT_EQ(CountOperation(context, inner.get()), 1);
    }
  }
  std::cout << "calls swept: " << operation.name << ": " << calls.size() << " calls x "
            << std::size(storage::kAllFaults) << " faults: " << done << " done, " << not_done
            << " not done, " << unknown << " unknown\n";
  EXPECT_GT(done, 0);
  EXPECT_GT(not_done, 0);
  EXPECT_GT(unknown, 0);
}

/// Lets another commit take the number just before the first put.
class OvertakenStore : public storage::InterceptedStore {
 public:
  using InterceptedStore::InterceptedStore;
  Status Around(const Context& context, const StoreCall& call,
                const std::function<Status()>& effect) override {
    if (call.operation == StoreOperation::kPublish && !overtaken_) {
      overtaken_ = true;
      ARROW_RETURN_NOT_OK(
          PutForeignVersion(context, inner(), [](pb::Manifest*, pb::Transaction*) {}).status());
    }
    return effect();
  }

 private:
  bool overtaken_ = false;
};

TEST(CommitRaceFaultTest, EveryCallOfALostRaceUnderEveryFault) {
  const TableOperation& append = FindTableOperation("append");
  std::vector<StoreCall> calls;
  size_t swept = 0;
  for (size_t number = 0; number == 0 || number < calls.size(); ++number) {
    for (Fault fault : storage::kAllFaults) {
      FakeSurroundings surroundings;
      const Context& context = surroundings.context();
      auto inner = storage::MakeMemoryStore();
      append.prepare(context, inner);
      if (calls.empty()) {
        auto faulty = std::make_shared<FaultyStore>(std::make_shared<OvertakenStore>(inner));
        auto named = std::make_shared<NamedStore>(faulty);
        CommitResult result = append.run(context, named, std::nullopt).ValueOrDie();
        EXPECT_EQ(result.lost_attempts, 1);
        calls = faulty->calls();
        break;
      }
      SCOPED_TRACE(fmt::format("{} on call {}: {}", storage::FaultName(fault), number,
                               calls[number].ToString()));
      auto faulty = std::make_shared<FaultyStore>(std::make_shared<OvertakenStore>(inner));
      faulty->FailCall(number, fault);
      auto named = std::make_shared<NamedStore>(faulty);
      Result<CommitResult> result = append.run(context, named, std::nullopt);
      ++swept;
      const int found = CountOperation(context, inner.get());
      if (result.ok()) {
        EXPECT_EQ(found, 1);
      } else if (!IsCommitStateUnknown(result.status())) {
        EXPECT_EQ(found, 0) << result.status();
      }
      Result<CommitResult> replay = append.run(context, inner, 1);
      ASSERT_TRUE(replay.ok()) << replay.status();
      EXPECT_EQ(CountOperation(context, inner.get()), 1);
    }
  }
  std::cout << "calls swept: append that loses once: " << calls.size() << " calls, " << swept
            << " runs\n";
}

TEST_P(CommitFaultTest, AcknowledgedIsDurableAfterAPowerLossAtEveryCall) {
  const TableOperation& operation = GetParam();
  size_t num_calls = 1;
  size_t swept = 0;
  for (size_t number = 0; number <= num_calls; ++number) {
    for (Fault fault : {Fault::kCrash, Fault::kEffectThenCrash}) {
      FakeSurroundings surroundings;
      const Context& context = surroundings.context();
      auto inner = std::make_shared<storage::LosesUnsyncedStore>();
      operation.prepare(context, inner);
      auto faulty = std::make_shared<FaultyStore>(inner);
      // The last round has no fault: the power fails behind the answer.
      if (number < num_calls || number == 0) faulty->FailCall(number, fault);
      SCOPED_TRACE(
          fmt::format("{}: {} on call {}", operation.name, storage::FaultName(fault), number));
      Result<CommitResult> result = operation.run(context, faulty, std::nullopt);
      if (number == 0) {
        FakeSurroundings again;
        auto fresh = std::make_shared<storage::LosesUnsyncedStore>();
        operation.prepare(again.context(), fresh);
        auto counting = std::make_shared<FaultyStore>(fresh);
        ASSERT_TRUE(operation.run(again.context(), counting, std::nullopt).ok());
        num_calls = counting->calls().size();
      }
      inner->Crash();
      ++swept;
      // Also checks that every file of every version that is left is there, whole.
      const int found = CountOperation(context, inner.get());
      if (result.ok()) {
        EXPECT_EQ(found, 1);
      } else if (!IsCommitStateUnknown(result.status())) {
        EXPECT_EQ(found, 0) << result.status();
      }
    }
  }
  std::cout << "power losses: " << operation.name << ": " << swept << "\n";
}

INSTANTIATE_TEST_SUITE_P(Operations, CommitFaultTest, ::testing::ValuesIn(TableOperations()),
                         [](const ::testing::TestParamInfo<TableOperation>& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace lake::table
