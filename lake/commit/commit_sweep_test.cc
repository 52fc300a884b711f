// Every call that every change makes on storage and metastore, under every fault: an outcome is
// never wrong, a replay (with the same operation id, where the change takes one) makes it happen
// once, and whatever happened, nothing is wrong with the table.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/commit/lease_keeper.h"
#include "lake/commit/leftovers.h"
#include "lake/commit/maintenance.h"
#include "lake/commit/testing/swept_changes.h"
#include "lake/commit/testing/test_lakehouse.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"
#include "lake/storage/testing/loses_unsynced_store.h"

namespace lake::commit {
namespace {

using catalog::MetastoreFault;
using storage::Fault;
using storage::StoreOperation;

enum class Outcome { kDone, kNotDone, kUnknown };

Outcome OutcomeOf(const Status& status) {
  if (status.ok()) return Outcome::kDone;
  return IsCommitStateUnknown(status) ? Outcome::kUnknown : Outcome::kNotDone;
}

// A world for one run: a healthy store below, a faulty one above it, and a lakehouse on that.
struct World {
  explicit World(const SweptChange& change, bool power_loss) {
    context.clock = &clock;
    if (power_loss) {
      losing = std::make_shared<storage::LosesUnsyncedStore>();
      healthy = losing;
    } else {
      healthy = storage::MakeMemoryStore();
    }
    faulty = std::make_shared<storage::FaultyStore>(healthy);
    lakehouse = std::make_unique<TestLakehouse>(faulty, context);
    operation = {Uuid::NewV7(context).ToString(), "digest"};
    change.prepare(context, lakehouse->get());
    faulty->Reset();
    lakehouse->metastore().Reset();
  }

  FakeClock clock;
  Context context;
  std::shared_ptr<storage::LosesUnsyncedStore> losing;
  std::shared_ptr<storage::ObjectStore> healthy;
  std::shared_ptr<storage::FaultyStore> faulty;
  std::unique_ptr<TestLakehouse> lakehouse;
  OperationKey operation;
};

// Nothing is wrong with any table but leftovers.
void VerifyTables(const Context& context, Lakehouse* lakehouse) {
  auto entries = lakehouse->metastore().ViewFor({})->ListEntries(context, catalog::kMainNamespace);
  ASSERT_TRUE(entries.ok()) << entries.status();
  for (const catalog::Entry& entry : *entries) {
    auto table = lakehouse->OpenEntry(context, entry);
    ASSERT_TRUE(table.ok()) << table.status();
    table::VerifyOptions options;
    options.read_data = true;
    auto report = lakehouse->maintenance().Verify(context, {}, **table, options);
    ASSERT_TRUE(report.ok()) << report.status();
    for (const table::Finding& finding : report->findings) {
      EXPECT_EQ(finding.severity, table::Severity::kInfo) << finding.object << ": " << finding.what;
    }
  }
}

// What stands after the fault, as a fresh process sees it; then a replay.
void CheckAfter(World* world, const SweptChange& change, const Status& status) {
  const Outcome outcome = OutcomeOf(status);
  world->faulty->Reset();
  world->lakehouse->metastore().Reset();
  if (world->losing != nullptr) world->losing->Crash();
  // The lease of a creator that died is over.
  world->clock.Advance(std::chrono::nanoseconds(LeaseKeeper::kLeaseNanos + 1));
  std::shared_ptr<LakehouseImpl> fresh = world->lakehouse->OpenSecond(world->healthy);

  const bool happened = change.happened(world->context, fresh.get());
  if (outcome == Outcome::kDone) {
    EXPECT_TRUE(happened) << "lost after it was acknowledged";
  }
  const bool is_piecemeal = change.kind == SweptChange::Kind::kPiecemeal;
  if (outcome == Outcome::kNotDone && !is_piecemeal) {
    EXPECT_FALSE(happened) << "reported as not done: " << status.ToString();
  }
  VerifyTables(world->context, fresh.get());
  Status replayed = change.run(world->context, fresh.get(), world->operation);
  EXPECT_TRUE(replayed.ok()) << replayed.ToString();
  EXPECT_TRUE(change.happened(world->context, fresh.get()));
  VerifyTables(world->context, fresh.get());
}

struct Tally {
  int done = 0;
  int not_done = 0;
  int unknown = 0;

  void Count(const Status& status) {
    switch (OutcomeOf(status)) {
      case Outcome::kDone:
        ++done;
        break;
      case Outcome::kNotDone:
        ++not_done;
        break;
      case Outcome::kUnknown:
        ++unknown;
        break;
    }
  }
};

void Report(const char* change, const char* what, size_t calls, const Tally& tally) {
  std::printf("swept %s over %zu %s calls x 4 faults: %d done, %d not done, %d unknown\n", change,
              calls, what, tally.done, tally.not_done, tally.unknown);
}

// A call that others can see the effect of: a version, a tag, a branch; or something is gone.
bool HasEffect(const storage::StoreCall& call) {
  return call.operation == StoreOperation::kPublish || call.operation == StoreOperation::kDelete ||
         (call.operation == StoreOperation::kPut && call.key.find("_refs/") != std::string::npos);
}

void SweepStore(const SweptChange& change, bool power_loss) {
  std::vector<storage::StoreCall> calls;
  size_t first_effect = 0;
  {
    World world(change, power_loss);
    Status status = change.run(world.context, world.lakehouse->get(), world.operation);
    ASSERT_TRUE(status.ok()) << status.ToString();
    calls = world.faulty->calls();
    while (first_effect < calls.size() && !HasEffect(calls[first_effect])) ++first_effect;
    CheckAfter(&world, change, status);
  }
  EXPECT_EQ(calls.empty(), change.kind == SweptChange::Kind::kOnlyNames);
  Tally tally;
  for (size_t call = 0; call < calls.size(); ++call) {
    for (Fault fault : storage::kAllFaults) {
      SCOPED_TRACE(fmt::format("{}: call {} ({}): {}", change.name, call, calls[call].ToString(),
                               storage::FaultName(fault)));
      World world(change, power_loss);
      world.faulty->FailCall(call, fault);
      Status status = change.run(world.context, world.lakehouse->get(), world.operation);
      tally.Count(status);
      // Before the first call that shows, nothing can be in doubt.
      if (call < first_effect) {
        EXPECT_NE(OutcomeOf(status), Outcome::kUnknown);
      }
      const bool settled = !world.faulty->crashed() && OutcomeOf(status) != Outcome::kUnknown &&
                           change.kind != SweptChange::Kind::kPiecemeal;
      if (settled && !power_loss && calls[call].operation != StoreOperation::kDelete) {
        LeftoverReport report = FindLeftoverFiles(world.context, world.healthy.get()).ValueOrDie();
        EXPECT_TRUE(report.leftovers.empty()) << report.leftovers[0].key;
      }
      CheckAfter(&world, change, status);
      if (::testing::Test::HasFailure()) return;
    }
  }
  Report(change.name, power_loss ? "storage (power lost afterwards)" : "storage", calls.size(),
         tally);
}

void SweepMetastore(const SweptChange& change) {
  std::vector<std::string> calls;
  {
    World world(change, false);
    Status status = change.run(world.context, world.lakehouse->get(), world.operation);
    ASSERT_TRUE(status.ok()) << status.ToString();
    calls = world.lakehouse->metastore().calls();
  }
  Tally tally;
  for (size_t call = 0; call < calls.size(); ++call) {
    for (MetastoreFault fault : catalog::kAllMetastoreFaults) {
      SCOPED_TRACE(fmt::format("{}: metastore call {} ({}): fault {}", change.name, call,
                               calls[call], static_cast<int>(fault)));
      World world(change, false);
      world.lakehouse->metastore().FailCall(call, fault);
      Status status = change.run(world.context, world.lakehouse->get(), world.operation);
      tally.Count(status);
      CheckAfter(&world, change, status);
      if (::testing::Test::HasFailure()) return;
    }
  }
  Report(change.name, "metastore", calls.size(), tally);
}

class CommitSweepTest : public ::testing::TestWithParam<SweptChange> {};

TEST_P(CommitSweepTest, OverStorage) { SweepStore(GetParam(), false); }
TEST_P(CommitSweepTest, OverStorageThatLosesWhatIsNotSynced) { SweepStore(GetParam(), true); }
TEST_P(CommitSweepTest, OverTheMetastore) { SweepMetastore(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Changes, CommitSweepTest, ::testing::ValuesIn(SweptChanges()),
                         [](const ::testing::TestParamInfo<SweptChange>& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace lake::commit
