// Every call that create, append and drop make on storage and metastore, under every fault: an
// outcome is never wrong, and a replay with the same operation id leaves exactly one copy.

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/commit/lease_keeper.h"
#include "lake/commit/leftovers.h"
#include "lake/commit/testing/test_lakehouse.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"
#include "lake/storage/testing/loses_unsynced_store.h"

namespace lake::commit {
namespace {

using catalog::MetastoreFault;
using storage::Fault;
using storage::StoreOperation;
using ::testing::ElementsAre;

constexpr char kTable[] = "t";

enum class Outcome { kDone, kNotDone, kUnknown };

// One change, run on a lakehouse whose calls may fail.
class Change {
 public:
  virtual ~Change() = default;
  virtual const char* name() const = 0;
  virtual void Prepare(const Context& context, Lakehouse* lakehouse) const {}
  virtual Status Run(const Context& context, Lakehouse* lakehouse,
                     const OperationKey& operation) const = 0;
  // True if the change is to be seen; fails the test if the state is neither the old nor the new
  // one.
  virtual bool Happened(const Context& context, Lakehouse* lakehouse) const = 0;
};

class Create : public Change {
 public:
  const char* name() const override { return "create"; }
  Status Run(const Context& context, Lakehouse* lakehouse,
             const OperationKey& operation) const override {
    return CreateNumbers(context, lakehouse, kTable, {1, 2}, operation).status();
  }
  bool Happened(const Context& context, Lakehouse* lakehouse) const override {
    Result<std::vector<int64_t>> numbers = NumbersOf(context, lakehouse, kTable);
    if (!numbers.ok()) {
      EXPECT_EQ(CodeOf(numbers.status()), ErrorCode::kNotFound) << numbers.status().ToString();
      return false;
    }
    EXPECT_THAT(*numbers, ElementsAre(1, 2));
    return true;
  }
};

class Append : public Change {
 public:
  const char* name() const override { return "append"; }
  void Prepare(const Context& context, Lakehouse* lakehouse) const override {
    ASSERT_TRUE(CreateNumbers(context, lakehouse, kTable, {1, 2}).ok());
  }
  Status Run(const Context& context, Lakehouse* lakehouse,
             const OperationKey& operation) const override {
    return AppendNumbers(context, lakehouse, kTable, {3}, operation).status();
  }
  bool Happened(const Context& context, Lakehouse* lakehouse) const override {
    Result<std::vector<int64_t>> numbers = NumbersOf(context, lakehouse, kTable);
    EXPECT_TRUE(numbers.ok()) << numbers.status().ToString();
    if (!numbers.ok() || *numbers == std::vector<int64_t>{1, 2}) return false;
    EXPECT_THAT(*numbers, ElementsAre(1, 2, 3));
    return true;
  }
};

class Update : public Change {
 public:
  const char* name() const override { return "update"; }
  void Prepare(const Context& context, Lakehouse* lakehouse) const override {
    ASSERT_TRUE(CreateNumbers(context, lakehouse, kTable, {1, 2}).ok());
  }
  Status Run(const Context& context, Lakehouse* lakehouse,
             const OperationKey& operation) const override {
    return UpdateNumbers(context, lakehouse, kTable, 2, 10, operation).status();
  }
  bool Happened(const Context& context, Lakehouse* lakehouse) const override {
    Result<std::vector<int64_t>> numbers = NumbersOf(context, lakehouse, kTable);
    EXPECT_TRUE(numbers.ok()) << numbers.status().ToString();
    if (!numbers.ok() || *numbers == std::vector<int64_t>{1, 2}) return false;
    EXPECT_THAT(*numbers, ElementsAre(1, 12));
    return true;
  }
};

class Replace : public Change {
 public:
  const char* name() const override { return "replace"; }
  void Prepare(const Context& context, Lakehouse* lakehouse) const override {
    ASSERT_TRUE(CreateNumbers(context, lakehouse, kTable, {1, 2}).ok());
  }
  Status Run(const Context& context, Lakehouse* lakehouse,
             const OperationKey& operation) const override {
    return ReplaceNumbers(context, lakehouse, kTable, {7}, operation).status();
  }
  bool Happened(const Context& context, Lakehouse* lakehouse) const override {
    Result<std::vector<int64_t>> numbers = NumbersOf(context, lakehouse, kTable);
    EXPECT_TRUE(numbers.ok()) << numbers.status().ToString();
    if (!numbers.ok() || *numbers == std::vector<int64_t>{1, 2}) return false;
    EXPECT_THAT(*numbers, ElementsAre(7));
    return true;
  }
};

class Drop : public Change {
 public:
  const char* name() const override { return "drop"; }
  void Prepare(const Context& context, Lakehouse* lakehouse) const override {
    ASSERT_TRUE(CreateNumbers(context, lakehouse, kTable, {1, 2}).ok());
  }
  Status Run(const Context& context, Lakehouse* lakehouse,
             const OperationKey& operation) const override {
    Result<catalog::Entry> entry = lakehouse->metastore().ViewFor({})->Find(
        context, {catalog::kMainNamespace, kTable}, catalog::NameMatch::kExact);
    // Running a drop again finds nothing to drop.
    if (!entry.ok()) return Status::OK();
    return lakehouse->Drop(context, {}, *entry);
  }
  bool Happened(const Context& context, Lakehouse* lakehouse) const override {
    Result<std::vector<int64_t>> numbers = NumbersOf(context, lakehouse, kTable);
    if (!numbers.ok()) {
      EXPECT_EQ(CodeOf(numbers.status()), ErrorCode::kNotFound) << numbers.status().ToString();
      // Dropped means that it can be brought back as it was.
      auto tombstones = lakehouse->metastore().ViewFor({})->ListTombstones(context);
      EXPECT_EQ(tombstones.ValueOrDie().size(), 1u);
      return true;
    }
    EXPECT_THAT(*numbers, ElementsAre(1, 2));
    return false;
  }
};

class Undrop : public Change {
 public:
  const char* name() const override { return "undrop"; }
  void Prepare(const Context& context, Lakehouse* lakehouse) const override {
    ASSERT_TRUE(CreateNumbers(context, lakehouse, kTable, {1, 2}).ok());
    ASSERT_TRUE(Drop().Run(context, lakehouse, {}).ok());
  }
  Status Run(const Context& context, Lakehouse* lakehouse,
             const OperationKey& operation) const override {
    // Running it again finds the name in use.
    if (NumbersOf(context, lakehouse, kTable).ok()) return Status::OK();
    return lakehouse->Undrop(context, {}, {catalog::kMainNamespace, kTable}, {}, {}).status();
  }
  bool Happened(const Context& context, Lakehouse* lakehouse) const override {
    Result<std::vector<int64_t>> numbers = NumbersOf(context, lakehouse, kTable);
    if (!numbers.ok()) return false;
    EXPECT_THAT(*numbers, ElementsAre(1, 2));
    return true;
  }
};

class Rename : public Change {
 public:
  const char* name() const override { return "rename"; }
  void Prepare(const Context& context, Lakehouse* lakehouse) const override {
    ASSERT_TRUE(CreateNumbers(context, lakehouse, kTable, {1, 2}).ok());
  }
  Status Run(const Context& context, Lakehouse* lakehouse,
             const OperationKey& operation) const override {
    Result<catalog::Entry> entry = lakehouse->metastore().ViewFor({})->Find(
        context, {catalog::kMainNamespace, kTable}, catalog::NameMatch::kExact);
    if (!entry.ok()) return Status::OK();
    return lakehouse->Rename(context, {}, *entry, {catalog::kMainNamespace, kNewName}).status();
  }
  bool Happened(const Context& context, Lakehouse* lakehouse) const override {
    const bool renamed = NumbersOf(context, lakehouse, kNewName).ok();
    EXPECT_NE(renamed, NumbersOf(context, lakehouse, kTable).ok());
    return renamed;
  }

 private:
  static constexpr char kNewName[] = "renamed";
};

Outcome OutcomeOf(const Status& status) {
  if (status.ok()) return Outcome::kDone;
  return IsCommitStateUnknown(status) ? Outcome::kUnknown : Outcome::kNotDone;
}

// A world for one run: a healthy store below, a faulty one above it, and a lakehouse on that.
struct World {
  explicit World(const Change& change, bool power_loss) {
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
    change.Prepare(context, lakehouse->get());
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

// What stands after the fault, as a fresh process sees it; then a replay.
void CheckAfter(World* world, const Change& change, const Status& status) {
  const Outcome outcome = OutcomeOf(status);
  world->faulty->Reset();
  world->lakehouse->metastore().Reset();
  if (world->losing != nullptr) world->losing->Crash();
  // The lease of a creator that died is over.
  world->clock.Advance(std::chrono::nanoseconds(LeaseKeeper::kLeaseNanos + 1));
  std::shared_ptr<LakehouseImpl> fresh = world->lakehouse->OpenSecond(world->healthy);

  const bool happened = change.Happened(world->context, fresh.get());
  if (outcome == Outcome::kDone) {
    EXPECT_TRUE(happened) << "lost after it was acknowledged";
  }
  if (outcome == Outcome::kNotDone) {
    EXPECT_FALSE(happened) << "reported as not done: " << status.ToString();
  }
  Status replayed = change.Run(world->context, fresh.get(), world->operation);
  EXPECT_TRUE(replayed.ok()) << replayed.ToString();
  EXPECT_TRUE(change.Happened(world->context, fresh.get()));
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

void SweepStore(const Change& change, bool power_loss) {
  std::vector<storage::StoreCall> calls;
  size_t first_publish = 0;
  {
    World world(change, power_loss);
    Status status = change.Run(world.context, world.lakehouse->get(), world.operation);
    ASSERT_TRUE(status.ok()) << status.ToString();
    calls = world.faulty->calls();
    while (first_publish < calls.size() &&
           calls[first_publish].operation != StoreOperation::kPublish) {
      ++first_publish;
    }
    CheckAfter(&world, change, status);
  }
  Tally tally;
  for (size_t call = 0; call < calls.size(); ++call) {
    for (Fault fault : storage::kAllFaults) {
      SCOPED_TRACE(fmt::format("{}: call {} ({}): {}", change.name(), call, calls[call].ToString(),
                               storage::FaultName(fault)));
      World world(change, power_loss);
      world.faulty->FailCall(call, fault);
      Status status = change.Run(world.context, world.lakehouse->get(), world.operation);
      tally.Count(status);
      // Before the first put nothing can be in doubt.
      if (call < first_publish) {
        EXPECT_NE(OutcomeOf(status), Outcome::kUnknown);
      }
      const bool crashed = world.faulty->crashed();
      if (!crashed && !power_loss && OutcomeOf(status) != Outcome::kUnknown &&
          calls[call].operation != StoreOperation::kDelete) {
        LeftoverReport report = FindLeftoverFiles(world.context, world.healthy.get()).ValueOrDie();
        EXPECT_TRUE(report.leftovers.empty()) << report.leftovers[0].key;
      }
      CheckAfter(&world, change, status);
      if (::testing::Test::HasFailure()) return;
    }
  }
  Report(change.name(), power_loss ? "storage (power lost afterwards)" : "storage", calls.size(),
         tally);
}

void SweepMetastore(const Change& change) {
  std::vector<std::string> calls;
  {
    World world(change, false);
    Status status = change.Run(world.context, world.lakehouse->get(), world.operation);
    ASSERT_TRUE(status.ok()) << status.ToString();
    calls = world.lakehouse->metastore().calls();
  }
  ASSERT_FALSE(calls.empty());
  Tally tally;
  for (size_t call = 0; call < calls.size(); ++call) {
    for (MetastoreFault fault : catalog::kAllMetastoreFaults) {
      SCOPED_TRACE(fmt::format("{}: metastore call {} ({}): fault {}", change.name(), call,
                               calls[call], static_cast<int>(fault)));
      World world(change, false);
      world.lakehouse->metastore().FailCall(call, fault);
      Status status = change.Run(world.context, world.lakehouse->get(), world.operation);
      tally.Count(status);
      CheckAfter(&world, change, status);
      if (::testing::Test::HasFailure()) return;
    }
  }
  Report(change.name(), "metastore", calls.size(), tally);
}

TEST(CommitSweepTest, CreateOverStorage) { SweepStore(Create(), false); }
TEST(CommitSweepTest, AppendOverStorage) { SweepStore(Append(), false); }
TEST(CommitSweepTest, CreateOverStorageThatLosesWhatIsNotSynced) { SweepStore(Create(), true); }
TEST(CommitSweepTest, AppendOverStorageThatLosesWhatIsNotSynced) { SweepStore(Append(), true); }
TEST(CommitSweepTest, CreateOverTheMetastore) { SweepMetastore(Create()); }
TEST(CommitSweepTest, AppendOverTheMetastore) { SweepMetastore(Append()); }

TEST(CommitSweepTest, UpdateOverStorage) { SweepStore(Update(), false); }

TEST(CommitSweepTest, UpdateOverStorageThatLosesWhatIsNotSynced) { SweepStore(Update(), true); }

TEST(CommitSweepTest, UpdateOverTheMetastore) { SweepMetastore(Update()); }

TEST(CommitSweepTest, ReplaceOverStorage) { SweepStore(Replace(), false); }

TEST(CommitSweepTest, ReplaceOverTheMetastore) { SweepMetastore(Replace()); }
TEST(CommitSweepTest, DropOverTheMetastore) { SweepMetastore(Drop()); }

TEST(CommitSweepTest, UndropOverTheMetastore) { SweepMetastore(Undrop()); }
TEST(CommitSweepTest, RenameOverTheMetastore) { SweepMetastore(Rename()); }

TEST(CommitSweepTest, DropTouchesNoStorage) {
  Drop drop;
  World world(drop, false);
  ASSERT_TRUE(drop.Run(world.context, world.lakehouse->get(), world.operation).ok());
  EXPECT_TRUE(world.faulty->calls().empty());
}

}  // namespace
}  // namespace lake::commit
