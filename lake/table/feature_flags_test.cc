// Tables with flags that lake does not know: unknown reader flags refuse to open, unknown writer
// flags leave a table that is read and not written.

#include <bit>
#include <map>

#include <arrow/buffer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/table/cleanup.h"
#include "lake/table/clone.h"
#include "lake/table/compaction.h"
#include "lake/table/refs.h"
#include "lake/table/testing/table_fixture_internal.h"
#include "lake/table/testing/table_operations_internal.h"
#include "lake/table/verify.h"

namespace lake::table {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kKnown = kFlagDeletionFiles | kFlagStableRowIds | kFlagUseV2Format |
                            kFlagTableConfig | kFlagBasePaths | kFlagMixedFileVersions;
constexpr uint64_t kUnknown = 64;

class FeatureFlagsTest : public TableFixture {
 protected:
  /// The table of an operation, whose newest version a foreign program gave these flags.
  void MakeTable(const TableOperation& operation, uint64_t reader, uint64_t writer) {
    store_ = storage::MakeMemoryStore();
    operation.prepare(context(), store_);
    SetFlags(reader, writer);
  }
  void SetFlags(uint64_t reader, uint64_t writer) {
    Foreign([&](pb::Manifest* manifest, pb::Transaction* transaction) {
      // Goes together with every operation.
      transaction->mutable_update_config();
      manifest->set_reader_feature_flags(manifest->reader_feature_flags() | reader);
      manifest->set_writer_feature_flags(manifest->writer_feature_flags() | writer);
    });
  }
  std::map<std::string, std::string> Content() {
    std::map<std::string, std::string> content;
    for (const storage::ObjectInfo& info :
         storage::ListAll(store_.get(), context(), "").ValueOrDie()) {
      content[info.key] = store_->GetAll(context(), info.key, 1 << 24).ValueOrDie()->ToString();
    }
    return content;
  }
  void ExpectRefused(const Status& status) {
    EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported) << status;
    EXPECT_THAT(status.message(), HasSubstr("flag 64 (data overlay files)"));
  }
};

TEST_F(FeatureFlagsTest, AnyUnknownReaderFlagRefusesToOpen) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t flag = uint64_t{1} << bit;
    store_ = storage::MakeMemoryStore();
    Create(10, 10);
    SetFlags(flag, flag);
    const Status opened = Dataset::Open(context(), store_).status();
    if ((flag & kKnown) != 0) {
      EXPECT_TRUE(opened.ok()) << flag << ": " << opened;
      continue;
    }
    EXPECT_EQ(CodeOf(opened), ErrorCode::kUnsupported) << flag;
    EXPECT_THAT(opened.message(), HasSubstr(fmt::format("flag {} (", flag)));
    // What was committed before is read as ever.
    OpenOptions first;
    first.version = 1;
    EXPECT_EQ(Open(first)->CountRows(context()).ValueOrDie(), 10u);
  }
}

TEST_F(FeatureFlagsTest, AnyUnknownWriterFlagLeavesTheTableReadable) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t flag = uint64_t{1} << bit;
    store_ = storage::MakeMemoryStore();
    Create(10, 10);
    SetFlags(0, flag);
    EXPECT_EQ(ScanIds({}), Range(0, 10)) << flag;
    const Status writable = CheckWritable(Open()->manifest(), "t");
    EXPECT_EQ(writable.ok(), (flag & kKnown) != 0) << flag << ": " << writable;
    if (!writable.ok()) {
      EXPECT_THAT(writable.message(), HasSubstr(fmt::format("flag {} (", flag)));
    }
  }
}

TEST_F(FeatureFlagsTest, NoOperationChangesATableWithAnUnknownWriterFlag) {
  for (const TableOperation& operation : TableOperations()) {
    if (operation.base_version == 0) continue;
    SCOPED_TRACE(operation.name);
    // Noticed by the commit alone (the operation looks at version 1, which has no such flag).
    MakeTable(operation, 0, kUnknown);
    auto before = Content();
    ExpectRefused(operation.run(context(), store_, std::nullopt).status());
    EXPECT_EQ(Content(), before);
    // Noticed by whoever opens the version.
    MakeTable(operation, kUnknown, kUnknown);
    before = Content();
    ExpectRefused(operation.run(context(), store_, std::nullopt).status());
    EXPECT_EQ(Content(), before);
  }
}

TEST_F(FeatureFlagsTest, NoReferenceBesideTheVersionsIsChanged) {
  Create(10, 5);
  ASSERT_TRUE(CreateTag(context(), store_, "t", {{}, 1}).ok());
  ASSERT_TRUE(CreateBranch(context(), *Open(), "b", "/t").ok());
  SetFlags(0, kUnknown);
  const auto before = Content();
  ExpectRefused(CreateTag(context(), store_, "u", {{}, 1}).status());
  ExpectRefused(UpdateTag(context(), store_, "t", {{}, 2}).status());
  ExpectRefused(DeleteTag(context(), store_, "t"));
  ExpectRefused(CreateBranch(context(), *Open(), "c", "/t").status());
  OpenOptions first;
  first.version = 1;
  ExpectRefused(CreateBranch(context(), *Open(first), "c", "/t").status());
  ExpectRefused(DeleteBranch(context(), store_, "b"));
  ExpectRefused(CleanUp(context(), store_, {}).status());
  ExpectRefused(PlanCompaction(context(), *Open(), {}).status());
  ExpectRefused(MakeShallowClone(context(), *Open(), "/t", {}).status());
  ExpectRefused(MakeDeepCopy(context(), *Open(), storage::MakeMemoryStore(), "/t", {}).status());
  EXPECT_EQ(Content(), before);

  // Reading all that goes on.
  EXPECT_EQ(ListTags(context(), store_.get()).ValueOrDie().size(), 1u);
  OpenOptions branch;
  branch.branch = "b";
  EXPECT_EQ(Open(branch)->CountRows(context()).ValueOrDie(), 10u);
  VerifyOptions verify;
  // The branch names its table by a path that is none of this store.
  verify.branches = false;
  EXPECT_EQ(Verify(context(), store_, verify).ValueOrDie().Count(Severity::kError), 0u);
}

TEST_F(FeatureFlagsTest, ABranchGoesByItsOwnFlags) {
  Create(10, 5);
  ASSERT_TRUE(CreateBranch(context(), *Open(), "b", "/t").ok());
  const auto line = LineStore(store_, std::string("b"));
  ASSERT_TRUE(
      PutForeignVersion(context(), line.get(), [](pb::Manifest* manifest, pb::Transaction*) {
        manifest->set_writer_feature_flags(kUnknown);
      }).ok());
  ExpectRefused(CreateTag(context(), store_, "t", {"b", 1}).status());
  ExpectRefused(DeleteBranch(context(), store_, "b"));
  EXPECT_TRUE(CreateTag(context(), store_, "t", {{}, 1}).ok());
}

}  // namespace
}  // namespace lake::table
