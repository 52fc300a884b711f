// Sweeps: every store call of a create and of an append, under every fault. The outcome that the
// commit reports must be what a fresh reader of the store finds.

#include <algorithm>
#include <iostream>

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"
#include "lake/storage/testing/loses_unsynced_store.h"
#include "lake/table/alter_columns.h"
#include "lake/table/append_writer.h"
#include "lake/table/commit.h"
#include "lake/table/delete_rows.h"
#include "lake/table/deletion_file.h"
#include "lake/table/merge_insert.h"
#include "lake/table/testing/fake_table_internal.h"
#include "lake/table/transaction_internal.h"
#include "lake/table/update_rows.h"
#include "lake/table/version_list.h"

namespace lake::table {
namespace {

namespace cp = arrow::compute;
using storage::Fault;
using storage::FaultyStore;
using storage::ObjectStore;
using storage::StoreCall;
using storage::StoreOperation;

constexpr char kOperationId[] = "swept operation";

std::shared_ptr<arrow::RecordBatch> Rows() {
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
  ARROW_RETURN_NOT_OK(writer->Write(*Rows()));
  return writer->Finish();
}

/// What is swept: prepared once per run without faults, then run through the faulty store.
struct Operation {
  const char* name;
  std::function<void(const Context&, std::shared_ptr<ObjectStore>)> prepare;
  std::function<Result<CommitResult>(const Context&, std::shared_ptr<ObjectStore>,
                                     std::optional<uint64_t> replay_base)>
      run;
  uint64_t base_version;
};

Result<CommitResult> RunCreate(const Context& context, std::shared_ptr<ObjectStore> store,
                               std::optional<uint64_t> replay_base) {
  ARROW_ASSIGN_OR_RAISE(std::vector<Fragment> fragments, WriteRows(context, store));
  Transaction create = MakeCreate(context, SmallSchema(), std::move(fragments));
  create.properties[kOperationIdProperty] = kOperationId;
  CommitOptions options;
  options.replay_base = replay_base;
  return Commit(context, store, create, options);
}

Result<CommitResult> RunAppend(const Context& context, std::shared_ptr<ObjectStore> store,
                               std::optional<uint64_t> replay_base) {
  ARROW_ASSIGN_OR_RAISE(std::vector<Fragment> fragments, WriteRows(context, store));
  Transaction append = MakeAppend(context, 1, std::move(fragments));
  append.properties[kOperationIdProperty] = kOperationId;
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
    change.transaction.properties[kOperationIdProperty] = kOperationId;
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
  ARROW_ASSIGN_OR_RAISE(auto source, arrow::RecordBatchReader::Make({Rows()->Slice(3, 2)}));
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

const Operation kOperations[] = {
    {"create", [](const Context&, std::shared_ptr<ObjectStore>) {}, RunCreate, 0},
    {"append", PrepareTable, RunAppend, 1},
    {"append behind a foreign version", PrepareForeignTable, RunAppend, 1},
    {"delete", PrepareTable, RunChange(Delete), 1},
    {"delete behind a delete", PrepareDeleted, RunChange(Delete), 1},
    {"truncate", PrepareTable, RunChange(Truncate), 1},
    {"update", PrepareTable, RunChange(Update), 1},
    {"update behind a delete", PrepareDeleted, RunChange(Update), 1},
    {"merge", PrepareTable, RunChange(Merge), 1},
    {"add column", PrepareTable, RunChange(AddColumn), 1},
    {"drop column", PrepareTable, RunChange(Drop), 1},
    {"cast column", PrepareTable, RunChange(Cast), 1},
    {"replace column", PrepareTable, RunChange(ReplaceName), 1},
    {"config", PrepareTable, RunChange(Configure), 1},
    {"restore", PrepareDeleted, RunChange(Restore), 1},
    {"overwrite", PrepareTable, RunChange(Overwrite), 1},
};

/// How many versions of the table hold the swept operation, after checking that the newest
/// version's files all exist.
int CountOperation(const Context& context, ObjectStore* store) {
  VersionList list = ListVersions(context, store).ValueOrDie();
  int count = 0;
  for (uint64_t version : list.versions) {
    auto manifest = ReadManifest(context, store, version, list.naming).ValueOrDie();
    auto transaction = ReadTransaction(context, store, FileOf(*manifest)).ValueOrDie();
    count += Property(transaction, kOperationIdProperty) == kOperationId ? 1 : 0;
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
  auto publish = std::find_if(calls.begin(), calls.end(), [](const StoreCall& call) {
    return call.operation == StoreOperation::kPublish;
  });
  const size_t published = publish - calls.begin();
  const bool crash = fault == Fault::kCrash || fault == Fault::kEffectThenCrash;
  // The put is sent: with the store gone, nobody can tell.
  if (number == published) return crash;
  // The version is visible: its durability hangs on this sync.
  if (number == published + 1) return calls[number].operation == StoreOperation::kSync;
  return false;
}

class CommitFaultTest : public ::testing::TestWithParam<Operation> {};

TEST_P(CommitFaultTest, EveryCallUnderEveryFault) {
  const Operation& operation = GetParam();
  std::vector<StoreCall> calls;
  {
    FakeSurroundings surroundings;
    auto inner = storage::MakeMemoryStore();
    operation.prepare(surroundings.context(), inner);
    auto faulty = std::make_shared<FaultyStore>(inner);
    ASSERT_TRUE(operation.run(surroundings.context(), faulty, std::nullopt).ok());
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
      Result<CommitResult> result = operation.run(context, faulty, std::nullopt);
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
  std::vector<StoreCall> calls;
  size_t swept = 0;
  for (size_t number = 0; number == 0 || number < calls.size(); ++number) {
    for (Fault fault : storage::kAllFaults) {
      FakeSurroundings surroundings;
      const Context& context = surroundings.context();
      auto inner = storage::MakeMemoryStore();
      PrepareTable(context, inner);
      if (calls.empty()) {
        auto faulty = std::make_shared<FaultyStore>(std::make_shared<OvertakenStore>(inner));
        CommitResult result = RunAppend(context, faulty, std::nullopt).ValueOrDie();
        EXPECT_EQ(result.lost_attempts, 1);
        calls = faulty->calls();
        break;
      }
      SCOPED_TRACE(fmt::format("{} on call {}: {}", storage::FaultName(fault), number,
                               calls[number].ToString()));
      auto faulty = std::make_shared<FaultyStore>(std::make_shared<OvertakenStore>(inner));
      faulty->FailCall(number, fault);
      Result<CommitResult> result = RunAppend(context, faulty, std::nullopt);
      ++swept;
      const int found = CountOperation(context, inner.get());
      if (result.ok()) {
        EXPECT_EQ(found, 1);
      } else if (!IsCommitStateUnknown(result.status())) {
        EXPECT_EQ(found, 0) << result.status();
      }
      Result<CommitResult> replay = RunAppend(context, inner, 1);
      ASSERT_TRUE(replay.ok()) << replay.status();
      EXPECT_EQ(CountOperation(context, inner.get()), 1);
    }
  }
  std::cout << "calls swept: append that loses once: " << calls.size() << " calls, " << swept
            << " runs\n";
}

TEST_P(CommitFaultTest, AcknowledgedIsDurableAfterAPowerLossAtEveryCall) {
  const Operation& operation = GetParam();
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

INSTANTIATE_TEST_SUITE_P(Operations, CommitFaultTest, ::testing::ValuesIn(kOperations),
                         [](const ::testing::TestParamInfo<Operation>& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace lake::table
