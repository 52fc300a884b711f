#include "lake/format/page_builder.h"

#include <memory>

#include <arrow/array.h>
#include <arrow/json/from_string.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::format {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<arrow::Array> Parse(const std::shared_ptr<arrow::DataType>& type,
                                    const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

PageData Build(const arrow::Array& array, const arrow::StructArray* parent = nullptr) {
  PageBuilder builder(ValueShapeOf(*array.type()));
  builder.Append(array, parent, 0, array.length());
  return builder.Take();
}

TEST(PageBuilderTest, NullsRepeatTheValueBeforeThem) {
  const PageData page = Build(*Parse(arrow::int32(), "[null, null, 4, null, 5]"));
  EXPECT_THAT(page.values.as<int32_t>(), ElementsAre(4, 4, 4, 4, 5));
  EXPECT_THAT(page.states.as<uint8_t>(), ElementsAre(1, 1, 0, 1, 0));
  EXPECT_EQ(page.num_null, 3);
  EXPECT_EQ(page.num_valid(), 2);
}

TEST(PageBuilderTest, NullsGoOnAcrossAppends) {
  const auto first = Parse(arrow::int64(), "[7, 8]");
  const auto second = Parse(arrow::int64(), "[null, 9]");
  PageBuilder builder(ValueShapeOf(*arrow::int64()));
  builder.Append(*first, nullptr, 0, 2);
  EXPECT_TRUE(builder.page().states.empty());
  builder.Append(*second, nullptr, 0, 2);
  builder.Append(*first, nullptr, 1, 1);
  const PageData page = builder.Take();
  EXPECT_THAT(page.values.as<int64_t>(), ElementsAre(7, 8, 8, 9, 8));
  EXPECT_THAT(page.states.as<uint8_t>(), ElementsAre(0, 0, 1, 0, 0));
  // The next page counts on.
  builder.Append(*first, nullptr, 0, 1);
  EXPECT_EQ(builder.page().first_row, 5);
  EXPECT_EQ(builder.page().num_rows, 1);
}

TEST(PageBuilderTest, SlicesOfBitsAndBytes) {
  const auto bools = Parse(arrow::boolean(), "[true, false, true, true, null, false, true]");
  EXPECT_THAT(Build(*bools->Slice(2, 4)).values.as<uint8_t>(), ElementsAre(1, 1, 1, 0));
  const auto binary = Parse(arrow::fixed_size_binary(3), R"(["abc", "def", "ghi"])");
  EXPECT_EQ(Build(*binary->Slice(1)).values.view(), "defghi");
}

TEST(PageBuilderTest, BytesUnderNullStringsAreDropped) {
  // "bb" lies under the null.
  const auto plain = Parse(arrow::utf8(), R"(["a", "bb", "ccc"])");
  auto data = plain->data()->Copy();
  const uint8_t validity = 0b101;
  data->buffers[0] = std::make_shared<arrow::Buffer>(&validity, 1);
  data->null_count = 1;
  const PageData page = Build(*arrow::MakeArray(data));
  EXPECT_EQ(page.values.view(), "accc");
  EXPECT_THAT(page.offsets.as<uint32_t>(), ElementsAre(0, 1, 1, 4));
  EXPECT_EQ(page.longest_value, 3);
}

TEST(PageBuilderTest, SlicesOfStringsStartAtZero) {
  const auto strings = Parse(arrow::large_utf8(), R"(["aa", "b", null, "cc"])");
  const PageData page = Build(*strings->Slice(1));
  EXPECT_EQ(page.values.view(), "bcc");
  EXPECT_THAT(page.offsets.as<uint32_t>(), ElementsAre(0, 1, 1, 3));
}

TEST(PageBuilderTest, ListsKeepItemNullsOfValidRowsOnly) {
  const auto type = arrow::fixed_size_list(arrow::int16(), 2);
  const auto lists = Parse(type, "[[1, 2], null, [3, null], [5, 6]]");
  const PageData page = Build(*lists->Slice(1));
  EXPECT_EQ(page.values.as<int16_t>()[0], 0);
  EXPECT_EQ(page.values.as<int16_t>()[2], 3);
  EXPECT_EQ(page.values.as<int16_t>()[5], 6);
  EXPECT_EQ(page.item_validity.as<uint8_t>()[0] & 0x3f, 0b110111);

  // Null rows alone need no validity of items.
  EXPECT_TRUE(Build(*lists->Slice(0, 2)).item_validity.empty());
}

TEST(PageBuilderTest, ItemNullsMayComeLate) {
  const auto type = arrow::fixed_size_list(arrow::int16(), 3);
  const auto valid = Parse(type, "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]");
  const auto nulls = Parse(type, "[[null, 2, null]]");
  PageBuilder builder(ValueShapeOf(*type));
  builder.Append(*valid, nullptr, 0, 3);
  builder.Append(*nulls, nullptr, 0, 1);
  builder.Append(*valid, nullptr, 0, 1);
  const PageData page = builder.Take();
  ASSERT_EQ(page.item_validity.size(), 2);
  EXPECT_EQ(page.item_validity.data()[0], 0xff);
  EXPECT_EQ(page.item_validity.data()[1] & 0x7f, 0b1110101);
}

TEST(PageBuilderTest, NullStructsStandAboveTheirFields) {
  const auto type = arrow::struct_({arrow::field("x", arrow::int32())});
  const auto structs = Parse(type, R"([{"x": 1}, null, {"x": null}, {"x": 4}])")->Slice(1);
  const auto& parent = static_cast<const arrow::StructArray&>(*structs);
  const PageData page = Build(*parent.field(0), &parent);
  EXPECT_THAT(page.states.as<uint8_t>(),
              ElementsAre(PageData::kStructNull, PageData::kNull, PageData::kValid));
  EXPECT_EQ(page.num_null, 1);
  EXPECT_EQ(page.num_struct_null, 1);
}

TEST(PageBuilderTest, RowsThatFitCountsWhatTheSliceHolds) {
  const auto strings = Parse(arrow::utf8(), R"(["aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "d"])");
  PageBuilder builder(ValueShapeOf(*arrow::utf8()));
  // 14 bytes a row, with its offset.
  EXPECT_EQ(builder.RowsThatFit(*strings, 0, 4, 28), 2);
  EXPECT_EQ(builder.RowsThatFit(*strings, 0, 4, 41), 2);
  EXPECT_EQ(builder.RowsThatFit(*strings, 1, 4, 1000), 3);
  // One row always fits an empty page, however large.
  EXPECT_EQ(builder.RowsThatFit(*strings, 0, 4, 5), 1);
  builder.Append(*strings, nullptr, 0, 1);
  EXPECT_EQ(builder.RowsThatFit(*strings, 1, 4, 5), 0);

  const auto numbers = Parse(arrow::int64(), "[1, 2, 3]");
  PageBuilder fixed(ValueShapeOf(*arrow::int64()));
  EXPECT_EQ(fixed.RowsThatFit(*numbers, 0, 3, 17), 2);
}

TEST(PageBuilderTest, ATakenPageLeavesNoMemoryBehind) {
  const auto numbers = Parse(arrow::int64(), "[1, null, 3]");
  PageBuilder builder(ValueShapeOf(*arrow::int64()));
  builder.Append(*numbers, nullptr, 0, 3);
  EXPECT_GT(builder.MemoryUse(), 0);
  builder.Take();
  EXPECT_EQ(builder.MemoryUse(), 0);
  EXPECT_TRUE(builder.empty());
}

}  // namespace
}  // namespace lake::format
