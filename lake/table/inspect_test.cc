#include "lake/table/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/storage/memory_store.h"
#include "lake/table/commit.h"
#include "lake/table/testing/fake_table_internal.h"

namespace lake::table {
namespace {

using ::testing::HasSubstr;

TEST(InspectTest, ExplainsADatasetAndItsNewestManifest) {
  FakeSurroundings surroundings;
  const Context& context = surroundings.context();
  auto store = storage::MakeMemoryStore();
  Fragment fragment = PutFakeFragment(context, store.get(), SmallSchema(), 10).ValueOrDie();
  Transaction create = MakeCreate(context, SmallSchema(), {fragment});
  std::get<OverwriteOperation>(create.operation).config["k"] = "v";
  create.properties["lake.operation_id"] = "op";
  ASSERT_TRUE(Commit(context, store, create, {}).ok());
  // What lake would refuse to read is explained all the same.
  ASSERT_TRUE(PutForeignVersion(context, store.get(), [](pb::Manifest* m, pb::Transaction* t) {
                t->mutable_delete_();
                auto* deletion = m->mutable_fragments(0)->mutable_deletion_file();
                deletion->set_num_deleted_rows(3);
                m->set_reader_feature_flags(1 | 64 | 512);
                m->mutable_fields(1)->set_logical_type("halffloat");
              }).ok());
  DatasetReport report = DescribeDataset(context, store.get()).ValueOrDie();
  EXPECT_EQ(report.naming, "V2");
  ASSERT_EQ(report.versions.size(), 2u);
  EXPECT_EQ(report.manifest.version, 2u);
  EXPECT_EQ(report.manifest.num_rows, 7u);
  EXPECT_EQ(report.manifest.num_deleted_rows, 3u);
  EXPECT_EQ(report.manifest.data_bytes, fragment.files[0].size_bytes);
  EXPECT_EQ(report.manifest.writer, "lance 14.0.2");
  EXPECT_EQ(
      report.manifest.reader_flag_names,
      (std::vector<std::string>{"deletion files", "data overlay files", "unknown to lake (512)"}));
  ASSERT_TRUE(report.manifest.transaction);
  EXPECT_EQ(report.manifest.transaction->operation, "delete");
  EXPECT_EQ(report.manifest.transaction->read_version, 1u);

  const std::string text = ToText(report);
  for (const char* part : {"2 versions, V2 names", "version 1: 2023-11-14T22:13:20.000000000Z",
                           "overwrite, 10 rows", "7 rows, 3 deleted", "written by lance 14.0.2",
                           "unknown to lake (512)", "config k = v", "field 0: id int64 not null",
                           "field 1: name halffloat", "deletion file _deletions/0-0-0.arrow"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  report = DescribeDataset(context, store.get(), 1).ValueOrDie();
  EXPECT_EQ(report.manifest.transaction->properties.at("lake.operation_id"), "op");
  EXPECT_THAT(ToText(report), HasSubstr("property lake.operation_id = op"));
  EXPECT_EQ(CodeOf(DescribeDataset(context, store.get(), 3).status()), ErrorCode::kNotFound);
}

TEST(InspectTest, DamagedManifestsAreErrorsThatNameTheFile) {
  Status refused = DescribeManifest("noise", "x.manifest").status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kCorrupt);
  EXPECT_THAT(refused.message(), HasSubstr("x.manifest"));
}

TEST(InspectTest, TimesBeforeTheEpoch) {
  EXPECT_EQ(TimestampText(-1), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(TimestampText(0), "1970-01-01T00:00:00.000000000Z");
}

}  // namespace
}  // namespace lake::table
