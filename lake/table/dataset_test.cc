#include "lake/table/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/table/testing/table_fixture_internal.h"
#include "lake/table/version_list.h"

namespace lake::table {
namespace {

using ::testing::HasSubstr;

class DatasetTest : public TableFixture {};

TEST_F(DatasetTest, NoTableIsNotFound) {
  EXPECT_EQ(CodeOf(Dataset::Open(context(), store_).status()), ErrorCode::kNotFound);
}

TEST_F(DatasetTest, OpensByVersionAndByTime) {
  Create(10, 10);
  std::vector<int64_t> times{Open()->manifest().timestamp_nanos()};
  for (int i = 0; i < 4; ++i) {
    surroundings_.clock().Advance(std::chrono::seconds(10));
    auto writer = AppendWriter::Open(context(), store_, SmallSchema()).ValueOrDie();
    ASSERT_TRUE(writer->Write(*Rows(100 * i, 5)).ok());
    ASSERT_TRUE(
        Commit(context(), store_, MakeAppend(context(), 1 + i, writer->Finish().ValueOrDie()), {})
            .ok());
    times.push_back(Open()->manifest().timestamp_nanos());
  }
  for (uint64_t version = 1; version <= 5; ++version) {
    auto dataset = Open({.version = version, .as_of_nanos = {}});
    EXPECT_EQ(dataset->manifest().version(), version);
    EXPECT_EQ(dataset->CountRows(context()).ValueOrDie(), 10 + 5 * (version - 1));
    // At the time and up to the next one; one nanosecond before is the version before.
    const int64_t time = times[version - 1];
    EXPECT_EQ(Open({.version = {}, .as_of_nanos = time})->manifest().version(), version);
    EXPECT_EQ(Open({.version = {}, .as_of_nanos = time + 9'999'999'999})->manifest().version(),
              version);
    if (version > 1) {
      EXPECT_EQ(Open({.version = {}, .as_of_nanos = time - 1})->manifest().version(), version - 1);
    }
  }
  Status early =
      Dataset::Open(context(), store_, {.version = {}, .as_of_nanos = times[0] - 1}).status();
  EXPECT_EQ(CodeOf(early), ErrorCode::kNotFound);
  EXPECT_THAT(early.message(), HasSubstr("the oldest is version 1"));
  EXPECT_EQ(CodeOf(Dataset::Open(context(), store_, {.version = 6, .as_of_nanos = {}}).status()),
            ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(Dataset::Open(context(), store_, {.version = 1, .as_of_nanos = 1}).status()),
            ErrorCode::kInvalidArgument);
}

TEST_F(DatasetTest, ListsRetainedVersionsAcrossGaps) {
  Create(10, 10);
  Delete(0, {1, 2});
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), [](pb::Manifest*, pb::Transaction* t) {
                t->clear_operation();
              }).ok());
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), [](pb::Manifest*, pb::Transaction* t) {
                t->mutable_create_index();
              }).ok());
  auto versions = Open()->Versions(context()).ValueOrDie();
  ASSERT_EQ(versions.size(), 4u);
  EXPECT_EQ(versions[0].operation, "overwrite");
  EXPECT_EQ(versions[0].num_rows, 10u);
  EXPECT_EQ(versions[1].operation, "delete");
  EXPECT_EQ(versions[1].num_rows, 8u);
  EXPECT_EQ(versions[2].operation, "unknown");
  EXPECT_EQ(versions[3].operation, "create_index");
  ASSERT_TRUE(store_->Delete(context(), ManifestKey(2, ManifestNaming::kV2)).ok());
  versions = Open()->Versions(context()).ValueOrDie();
  ASSERT_EQ(versions.size(), 3u);
  EXPECT_EQ(versions[1].version, 3u);
}

TEST_F(DatasetTest, OtherNamesInTheFolderArePassedOver) {
  Create(10, 10);
  for (const char* name :
       {"_versions/18446744073709551613.manifest#1",
        "_versions/18446744073709551613.manifest-0b2c7e0a-4b1d-4d56-9d2b-0123456789ab",
        "_versions/.tmp18446744073709551613.manifest", "_versions/d9223372036854775809.manifest",
        "_versions/x/18446744073709551613.manifest", "_versions/latest_version_hint.json"}) {
    ASSERT_TRUE(store_->Put(context(), name, "x", storage::PutCondition::kNone).ok());
  }
  EXPECT_EQ(Open()->manifest().version(), 1u);
}

TEST_F(DatasetTest, BothNamingsAreRefused) {
  Create(10, 10);
  ASSERT_TRUE(
      store_->Put(context(), "_versions/1.manifest", "x", storage::PutCondition::kNone).ok());
  Status refused = Dataset::Open(context(), store_).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("both ways of naming"));
}

TEST_F(DatasetTest, AManifestUnderAnothersNameIsCorrupt) {
  Create(10, 10);
  auto bytes = store_->GetAll(context(), ManifestKey(1, ManifestNaming::kV2), 1 << 20).ValueOrDie();
  ASSERT_TRUE(PutManifest(context(), store_.get(), 2, bytes->ToString()).ok());
  EXPECT_EQ(CodeOf(Dataset::Open(context(), store_).status()), ErrorCode::kCorrupt);
}

TEST_F(DatasetTest, ColumnTypesThatAreNotReadAreRefusedByName) {
  Create(10, 10);
  ASSERT_TRUE(PutForeignVersion(context(), store_.get(), [](pb::Manifest* m, pb::Transaction*) {
                auto* field = m->add_fields();
                field->set_id(2);
                field->set_parent_id(-1);
                field->set_name("month");
                field->set_logical_type("interval:month");
                field->set_nullable(true);
              }).ok());
  Status refused = Dataset::Open(context(), store_).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("month"));
}

}  // namespace
}  // namespace lake::table
