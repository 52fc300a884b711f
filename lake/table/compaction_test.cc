#include "lake/table/compaction.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "lake/storage/testing/faulty_store.h"
#include "lake/table/deletion_file.h"
#include "lake/table/row_id_sequence.h"
#include "lake/table/testing/table_fixture_internal.h"
#include "lake/table/verify.h"

namespace lake::table {
namespace {

class CompactionTest : public TableFixture {
 protected:
  CompactionPlan Plan(const CompactionOptions& options = {}) {
    return PlanCompaction(context(), *Open(), options).ValueOrDie();
  }

  static std::vector<std::vector<uint64_t>> Ids(const CompactionPlan& plan) {
    std::vector<std::vector<uint64_t>> ids;
    for (const CompactionGroup& group : plan.groups) {
      std::vector<uint64_t>& members = ids.emplace_back();
      for (const Fragment& fragment : group.fragments) members.push_back(fragment.id);
    }
    return ids;
  }

  /// Reserve and rewrite, as lake/commit does it.
  Status Compact(const CompactionOptions& options = {},
                 std::shared_ptr<storage::ObjectStore> store = nullptr) {
    if (store == nullptr) store = store_;
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<Dataset> dataset, Dataset::Open(context(), store));
    ARROW_ASSIGN_OR_RAISE(CompactionPlan plan, PlanCompaction(context(), *dataset, options));
    ARROW_ASSIGN_OR_RAISE(std::vector<CompactedGroup> groups,
                          RunCompaction(context(), *dataset, plan, options));
    copied_ = 0;
    uint32_t count = 0;
    std::vector<std::string> objects;
    for (const CompactedGroup& group : groups) {
      count += static_cast<uint32_t>(group.group.new_fragments.size());
      copied_ += group.files_copied;
      objects.insert(objects.end(), group.new_objects.begin(), group.new_objects.end());
    }
    uint64_t read = plan.read_version;
    if (count > 0) {
      ARROW_ASSIGN_OR_RAISE(
          CommitResult reserved,
          Commit(context(), store,
                 NewTransaction(context(), read, ReserveFragmentsOperation{count}), {}));
      AssignFragmentIds(*reserved.manifest->max_fragment_id() + 1 - count, &groups);
      read = reserved.version;
    }
    RewriteOperation rewrite;
    for (CompactedGroup& group : groups) rewrite.groups.push_back(std::move(group.group));
    return Commit(context(), store, NewTransaction(context(), read, std::move(rewrite), objects),
                  {})
        .status();
  }

  void ExpectSound() {
    VerifyOptions options;
    options.read_data = true;
    VerifyReport report = Verify(context(), store_, options).ValueOrDie();
    for (const Finding& finding : report.findings) {
      EXPECT_EQ(finding.severity, Severity::kInfo) << finding.object << ": " << finding.what;
    }
  }

  size_t copied_ = 0;
};

TEST_F(CompactionTest, SmallNeighboursAreJoined) {
  Create(100, 10);
  EXPECT_EQ(Ids(Plan()), (std::vector<std::vector<uint64_t>>{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}));
  CompactionOptions options;
  options.target_rows = 25;
  // Each group has rows for one file at least.
  EXPECT_EQ(Ids(Plan(options)),
            (std::vector<std::vector<uint64_t>>{{0, 1, 2}, {3, 4, 5}, {6, 7, 8, 9}}));
  EXPECT_EQ(NumOutputs(0, 45), 0u);
  EXPECT_EQ(NumOutputs(10, 45), 1u);
  EXPECT_EQ(NumOutputs(67, 45), 1u);
  EXPECT_EQ(NumOutputs(68, 45), 2u);
  // Fragments that are large enough stay as they are.
  options.target_rows = 10;
  EXPECT_TRUE(Plan(options).groups.empty());
  options.target_rows = 0;
  EXPECT_FALSE(PlanCompaction(context(), *Open(), options).ok());
}

TEST_F(CompactionTest, DeletedRowsAreTakenOutAboveTheThreshold) {
  Create(40, 20);
  Delete(0, {0, 1});
  CompactionOptions options;
  options.target_rows = 10;
  // 10 % is not more than 10 %.
  EXPECT_TRUE(Plan(options).groups.empty());
  options.deletion_threshold = 0.09;
  EXPECT_EQ(Ids(Plan(options)), (std::vector<std::vector<uint64_t>>{{0}}));
  options.materialize_deletions = false;
  EXPECT_TRUE(Plan(options).groups.empty());
}

TEST_F(CompactionTest, FragmentsOfDifferentIndicesAreNotJoined) {
  Create(50, 10);
  pb::IndexMetadata index;
  index.mutable_uuid()->set_uuid(std::string(16, 'u'));
  index.set_name("by id");
  index.add_fields(0);
  const uint32_t covered[] = {1, 2};
  index.set_fragment_bitmap(DeletionVector::FromSortedRows(covered).ToBitmap());
  CreateIndexOperation create;
  create.added.push_back(index.SerializeAsString());
  ASSERT_TRUE(Commit(context(), store_, NewTransaction(context(), 1, std::move(create)), {}).ok());
  EXPECT_EQ(Ids(Plan()), (std::vector<std::vector<uint64_t>>{{1, 2}, {3, 4}}));

  index.clear_fragment_bitmap();
  CreateIndexOperation unclear;
  unclear.added.push_back(index.SerializeAsString());
  ASSERT_TRUE(Commit(context(), store_, NewTransaction(context(), 2, std::move(unclear)), {}).ok());
  EXPECT_EQ(CodeOf(PlanCompaction(context(), *Open(), {}).status()), ErrorCode::kUnsupported);
}

TEST_F(CompactionTest, RowsStayInTheirOrder) {
  Create(1000, 70);
  Delete(3, {0, 5, 6, 69});
  std::vector<int64_t> before = ScanIds({});
  CompactionOptions options;
  options.target_rows = 300;
  ASSERT_TRUE(Compact(options).ok());
  EXPECT_EQ(ScanIds({}), before);
  // Of 346, 350 and 300 rows.
  EXPECT_EQ(Open()->manifest().fragments().size(), 3u);
  EXPECT_EQ(Open()->manifest().version(), 4u);
  ExpectSound();
  EXPECT_TRUE(Plan(options).groups.empty());
}

TEST_F(CompactionTest, AFragmentWithoutLivingRowsGoes) {
  Create(30, 10);
  std::vector<uint32_t> all(10);
  for (uint32_t i = 0; i < 10; ++i) all[i] = i;
  Delete(1, all);
  CompactionOptions options;
  options.target_rows = 5;
  EXPECT_EQ(Ids(Plan(options)), (std::vector<std::vector<uint64_t>>{{1}}));
  ASSERT_TRUE(Compact(options).ok());
  EXPECT_EQ(Open()->manifest().fragments().size(), 2u);
  ExpectSound();
}

TEST_F(CompactionTest, PagesAreCopiedWhereTheyAreLarge) {
  Create(300'000, 150'000);
  const std::vector<int64_t> before = ScanIds({});
  ASSERT_TRUE(Compact().ok());
  EXPECT_EQ(copied_, 1u);
  EXPECT_EQ(Open()->manifest().fragments().size(), 1u);
  EXPECT_EQ(ScanIds({}), before);
  ExpectSound();
}

TEST_F(CompactionTest, SmallPagesAreWrittenAnew) {
  Create(100, 10);
  ASSERT_TRUE(Compact().ok());
  EXPECT_EQ(copied_, 0u);
}

TEST_F(CompactionTest, RowIdsAndVersionsAreCarried) {
  auto writer =
      AppendWriter::Open(context(), store_, SmallSchema(), {.max_rows_per_file = 10}).ValueOrDie();
  ASSERT_TRUE(writer->Write(*Rows(0, 30)).ok());
  OverwriteOperation create;
  create.fragments = writer->Finish().ValueOrDie();
  create.schema = SmallSchema();
  create.stable_row_ids = true;
  ASSERT_TRUE(Commit(context(), store_, NewTransaction(context(), 0, std::move(create)), {}).ok());
  Fragment deleted = Open()->manifest().fragments()[1];
  std::string key;
  const uint32_t rows[] = {0, 9};
  deleted.deletion_file =
      WriteDeletionFile(context(), store_.get(), 1, 1, DeletionVector::FromSortedRows(rows), &key)
          .ValueOrDie();
  ASSERT_TRUE(Commit(context(), store_,
                     NewTransaction(context(), 1, DeleteOperation{{deleted}, {}, ""}, {key}), {})
                  .ok());
  ASSERT_TRUE(Compact().ok());
  std::shared_ptr<Dataset> dataset = Open();
  ASSERT_EQ(dataset->manifest().fragments().size(), 1u);
  const Fragment& fragment = dataset->manifest().fragments()[0];
  EXPECT_EQ(fragment.physical_rows, 28u);
  RowIdSequence ids = RowIdSequence::Decode(*fragment.row_ids, 28, "ids").ValueOrDie();
  EXPECT_EQ(ids.runs(), (std::vector<RowIdSequence::Run>{{0, 10}, {11, 8}, {20, 10}}));
  RowVersionSequence created =
      RowVersionSequence::Decode(*fragment.created_at_versions, 28, "v").ValueOrDie();
  EXPECT_EQ(created.runs(), (std::vector<RowVersionSequence::Run>{{28, 1}}));
  EXPECT_EQ(dataset->manifest().next_row_id(), 30u);
  ExpectSound();
}

TEST_F(CompactionTest, AGroupThatOthersChangedIsNotCurrent) {
  Create(30, 10);
  RewriteGroup group;
  group.old_fragments = Open()->manifest().fragments();
  EXPECT_TRUE(IsCurrent(group, Open()->manifest()));
  Delete(1, {3});
  EXPECT_FALSE(IsCurrent(group, Open()->manifest()));
  group.old_fragments = Open()->manifest().fragments();
  EXPECT_TRUE(IsCurrent(group, Open()->manifest()));
  group.old_fragments[1].deletion_file->base_id = 4;
  EXPECT_FALSE(IsCurrent(group, Open()->manifest())) << "the same name in another folder";
  group.old_fragments = Open()->manifest().fragments();
  group.old_fragments[0].id = 77;
  EXPECT_FALSE(IsCurrent(group, Open()->manifest()));
}

TEST_F(CompactionTest, AFragmentIsReplacedOnceAndByNewIds) {
  Create(30, 10);
  const std::vector<Fragment> old = Open()->manifest().fragments();
  ASSERT_TRUE(
      Commit(context(), store_, NewTransaction(context(), 1, ReserveFragmentsOperation{2}), {})
          .ok());
  auto commit = [&](size_t first, size_t second, uint64_t first_id, uint64_t second_id) {
    RewriteOperation rewrite;
    for (const auto& [place, id] : {std::pair{first, first_id}, std::pair{second, second_id}}) {
      Fragment fragment = old[place];
      fragment.id = id;
      rewrite.groups.push_back({{old[place]}, {std::move(fragment)}});
    }
    return Commit(context(), store_, NewTransaction(context(), 2, std::move(rewrite)), {}).status();
  };
  EXPECT_EQ(CodeOf(commit(0, 0, 3, 4)), ErrorCode::kInvalidArgument) << "rows would be there twice";
  EXPECT_EQ(CodeOf(commit(0, 1, 3, 3)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(commit(0, 1, 3, 2)), ErrorCode::kInvalidArgument) << "taken";
  EXPECT_EQ(CodeOf(commit(0, 1, 3, 0)), ErrorCode::kInvalidArgument) << "was taken";
  EXPECT_EQ(CodeOf(commit(0, 1, 3, 5)), ErrorCode::kInvalidArgument) << "not reserved";
  EXPECT_TRUE(commit(0, 1, 3, 4).ok());
  EXPECT_EQ(ScanIds({}).size(), 30u);
}

TEST_F(CompactionTest, NoFaultLosesOrDoublesARow) {
  bool reached = true;
  for (size_t call = 0; reached; ++call) {
    reached = false;
    for (const storage::Fault fault : storage::kAllFaults) {
      store_ = storage::MakeMemoryStore();
      Create(30, 10);
      auto faulty = std::make_shared<storage::FaultyStore>(store_);
      faulty->FailCall(call, fault);
      Status compacted = Compact({}, faulty);
      reached |= faulty->num_injected() > 0;
      EXPECT_EQ(ScanIds({}), Range(0, 30)) << call << ", " << storage::FaultName(fault);
      if (compacted.ok()) {
        EXPECT_EQ(Open()->manifest().fragments().size(), 1u);
      }
      ExpectSound();
    }
  }
}

}  // namespace
}  // namespace lake::table
