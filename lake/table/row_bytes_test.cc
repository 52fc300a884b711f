#include "lake/table/row_bytes.h"

#include <arrow/type.h>
#include <gtest/gtest.h>

namespace lake::table {
namespace {

constexpr uint64_t kMost = uint64_t{1} << 50;

uint64_t BytesOf(const std::shared_ptr<arrow::DataType>& type, uint64_t file_bytes = 0,
                 uint64_t rows = 0) {
  return RowBytes({arrow::field("x", type)}, file_bytes, rows);
}

TEST(RowBytesTest, TypesOfAWidthTellIt) {
  EXPECT_EQ(BytesOf(arrow::int64(), 1 << 30, 1), 1u + 8);
  EXPECT_EQ(BytesOf(arrow::boolean()), 1u + 1);
  EXPECT_EQ(BytesOf(arrow::fixed_size_binary(16)), 1u + 16);
  EXPECT_EQ(BytesOf(arrow::fixed_size_list(arrow::float32(), 1536)), 1u + 6144);
  EXPECT_EQ(BytesOf(arrow::struct_({arrow::field("a", arrow::int32())})), 1u + 1 + 4);
  EXPECT_FALSE(HasVariableWidth({arrow::field("x", arrow::fixed_size_list(arrow::int8(), 3))}));
}

TEST(RowBytesTest, FilesTellTheRest) {
  for (const auto& type : {arrow::utf8(), arrow::binary(), arrow::list(arrow::int8()),
                           arrow::fixed_size_list(arrow::utf8(), 1)}) {
    EXPECT_TRUE(HasVariableWidth({arrow::field("x", type)})) << type->ToString();
    EXPECT_EQ(BytesOf(type, 100 << 20, 100), 1u + 16 + (2 << 20)) << type->ToString();
    EXPECT_EQ(BytesOf(type), 1u + 16) << "nothing is known";
  }
}

TEST(RowBytesTest, NoWidthThatAManifestClaimsOverflows) {
  // 2^64 - 1 bytes, and one for the row.
  const auto wraps = arrow::fixed_size_list(
      arrow::fixed_size_list(arrow::fixed_size_list(arrow::uint8(), 42009217), 6700417), 65535);
  EXPECT_EQ(BytesOf(wraps), kMost);
  std::shared_ptr<arrow::DataType> deep = arrow::uint8();
  for (int i = 0; i < 64; ++i) deep = arrow::fixed_size_list(deep, 1 << 30);
  EXPECT_EQ(BytesOf(deep), kMost);
  EXPECT_EQ(RowBytes({arrow::field("a", deep), arrow::field("b", deep)}, 0, 0), kMost);
  EXPECT_EQ(BytesOf(arrow::struct_({arrow::field("a", deep), arrow::field("b", deep)})), kMost);
  // More bits than an int holds.
  EXPECT_EQ(BytesOf(arrow::fixed_size_binary(1 << 29)), 1u + (1 << 29));
  EXPECT_EQ(BytesOf(arrow::utf8(), UINT64_MAX, 1), kMost);
  EXPECT_EQ(RowsPerRead(1, kMost, 100), 1u);
}

TEST(RowBytesTest, RowsAreWhatTheBytesHold) {
  EXPECT_EQ(RowsPerRead(1 << 20, 1 << 10, 1 << 17), 1u << 10);
  EXPECT_EQ(RowsPerRead(1 << 20, 1, 100), 100u);
  EXPECT_EQ(RowsPerRead(1 << 20, 1 << 30, 100), 1u);
  EXPECT_EQ(RowsPerRead(1 << 20, 0, 100), 100u);
}

TEST(RowBytesTest, ABudgetIsSharedAmongThreads) {
  Context context;
  EXPECT_EQ(BytesPerRead(context, 32 << 20), 32u << 20) << "no limit";
  context.memory = MemoryBudget::Make(64 << 20);
  EXPECT_EQ(BytesPerRead(context, 32 << 20), 4u << 20);
  EXPECT_EQ(BytesPerRead(context, 32 << 20, 4), 1u << 20);
  EXPECT_EQ(BytesPerRead(context, 1 << 20), 1u << 20);
  context.memory = MemoryBudget::Make(0);
  EXPECT_EQ(BytesPerRead(context, 32 << 20), 1u);
}

}  // namespace
}  // namespace lake::table
