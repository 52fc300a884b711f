#include "lake/table/append_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/block_cache.h"
#include "lake/table/testing/table_fixture_internal.h"

namespace lake::table {
namespace {

class AppendWriterTest : public TableFixture {};

TEST_F(AppendWriterTest, NamesFilesAsUpstreamDoes) {
  Create(10, 10);
  const std::string path = Open()->manifest().fragments()[0].files[0].path;
  EXPECT_THAT(path, ::testing::MatchesRegex("[01]+[0-9a-f]+\\.lance"));
  EXPECT_EQ(path.size(), 24 + 26 + 6u);
}

TEST_F(AppendWriterTest, CutsFilesByRowsAndBytes) {
  auto writer =
      AppendWriter::Open(context(), store_, SmallSchema(), {.max_rows_per_file = 100}).ValueOrDie();
  ASSERT_TRUE(writer->Write(*Rows(0, 250)).ok());
  EXPECT_EQ(writer->num_rows(), 250u);
  auto fragments = writer->Finish().ValueOrDie();
  ASSERT_EQ(fragments.size(), 3u);
  EXPECT_EQ(fragments[2].physical_rows, 50u);
  EXPECT_GT(fragments[0].files[0].size_bytes, 0u);
  EXPECT_EQ(fragments[0].files[0].field_ids, (std::vector<int32_t>{0, 1}));
  EXPECT_FALSE(writer->Finish().ok());

  writer =
      AppendWriter::Open(context(), store_, SmallSchema(), {.max_bytes_per_file = 1}).ValueOrDie();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer->Write(*Rows(i, 1)).ok());
  EXPECT_EQ(writer->Finish().ValueOrDie().size(), 3u);
}

TEST_F(AppendWriterTest, MemoryOfAFilesPagesGoesToTheNextFile) {
  constexpr int64_t kRowsPerFile = 100'000;
  auto writer = AppendWriter::Open(context(), store_, SmallSchema(),
                                   {.max_rows_per_file = static_cast<uint64_t>(kRowsPerFile)})
                    .ValueOrDie();
  ASSERT_TRUE(writer->Write(*Rows(0, kRowsPerFile)).ok());
  EXPECT_GT(format::BlockCache::kept_bytes(), 0u);
  ASSERT_TRUE(writer->Write(*Rows(kRowsPerFile, 10)).ok());
  EXPECT_EQ(writer->Finish().ValueOrDie().size(), 2u);
  EXPECT_EQ(format::BlockCache::kept_bytes(), 0u);
}

TEST_F(AppendWriterTest, NoRowsAreNoFragments) {
  auto writer = AppendWriter::Open(context(), store_, SmallSchema()).ValueOrDie();
  ASSERT_TRUE(writer->Write(*Rows(0, 0)).ok());
  EXPECT_TRUE(writer->Finish().ValueOrDie().empty());
  EXPECT_TRUE(storage::ListAll(store_.get(), context(), "").ValueOrDie().empty());
}

TEST_F(AppendWriterTest, UnfinishedLeavesNothing) {
  {
    auto writer = AppendWriter::Open(context(), store_, SmallSchema(), {.max_rows_per_file = 10})
                      .ValueOrDie();
    ASSERT_TRUE(writer->Write(*Rows(0, 35)).ok());
    EXPECT_EQ(storage::ListAll(store_.get(), context(), "data/").ValueOrDie().size(), 3u);
  }
  EXPECT_TRUE(storage::ListAll(store_.get(), context(), "").ValueOrDie().empty());
}

TEST_F(AppendWriterTest, UncommittedFilesCanBeRemoved) {
  auto writer =
      AppendWriter::Open(context(), store_, SmallSchema(), {.max_rows_per_file = 10}).ValueOrDie();
  ASSERT_TRUE(writer->Write(*Rows(0, 35)).ok());
  auto fragments = writer->Finish().ValueOrDie();
  EXPECT_TRUE(RemoveUncommitted(context(), store_.get(), writer->new_objects()).ok());
  EXPECT_TRUE(storage::ListAll(store_.get(), context(), "").ValueOrDie().empty());
}

}  // namespace
}  // namespace lake::table
