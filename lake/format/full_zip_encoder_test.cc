#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/full_zip_encoder_internal.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;

PageData Strings(const std::vector<std::string>& values, const std::vector<uint8_t>& states) {
  PageData page;
  page.num_rows = page.num_values = values.size();
  page.offsets.AppendValue<uint32_t>(0);
  for (const std::string& value : values) {
    page.values.Append(value.data(), value.size());
    page.offsets.AppendValue(static_cast<uint32_t>(page.values.size()));
    page.longest_value = std::max(page.longest_value, value.size());
  }
  page.states.Append(states.data(), states.size());
  for (const uint8_t state : states) page.num_null += state != PageData::kValid;
  return page;
}

FullZipPage Encode(PageData page, const LevelShape& shape = LevelShape()) {
  const PageLevels levels = PageLevels::Make(&page, shape);
  const PageData& values = page;
  return EncodeFullZipVariable(32, {values.offsets.as<uint32_t>(), values.values.as<uint8_t>()},
                               page, levels);
}

TEST(FullZipEncoderTest, FixedValuesWithoutNullsAreThePage) {
  const ValueShape type{.width = 300};
  PageData page;
  page.num_rows = page.num_values = 2;
  page.values.AppendFill(600, 9);
  const uint8_t* const before = page.values.data();
  const PageLevels levels = PageLevels::Make(&page, LevelShape());
  const FullZipPage encoded = EncodeFullZipFixed(type, &page, levels);
  ASSERT_EQ(encoded.buffers.size(), 1);
  EXPECT_EQ(encoded.buffers[0].data(), before);
  EXPECT_EQ(encoded.layout.bits_per_value(), 2400);
  EXPECT_EQ(encoded.layout.bits_def(), 0);
  EXPECT_EQ(encoded.layout.num_items(), 2);
  EXPECT_EQ(encoded.layout.num_visible_items(), 2);
  EXPECT_EQ(encoded.layout.value_compression().flat().bits_per_value(), 2400);
}

TEST(FullZipEncoderTest, ListsCarryLevelAndItemValidityInFront) {
  const ValueShape type{
      .kind = ValueShape::Kind::kFixedSizeList, .width = 1, .items = 10, .dimensions = {10}};
  PageData page;
  page.num_rows = page.num_values = 2;
  page.num_null = 1;
  page.values.AppendFill(10, 'a');
  page.values.AppendFill(10, 'b');
  page.item_validity.resize(1);
  // Item 3 of the first list and item 2 of the second are null.
  page.item_validity[0].AppendValue<uint8_t>(0b11110111);
  page.item_validity[0].AppendValue<uint8_t>(0b11101111);
  page.item_validity[0].AppendValue<uint8_t>(0b1111);
  for (const uint8_t state : {0, 1}) page.states.AppendValue(state);
  const PageLevels levels = PageLevels::Make(&page, LevelShape());
  const FullZipPage encoded = EncodeFullZipFixed(type, &page, levels);
  EXPECT_EQ(encoded.layout.bits_def(), 1);
  EXPECT_EQ(encoded.layout.bits_per_value(), (2 + 10) * 8);
  EXPECT_TRUE(encoded.layout.value_compression().fixed_size_list().has_validity());
  EXPECT_EQ(encoded.buffers[0].view(), std::string_view("\0\xf7\3aaaaaaaaaa"
                                                        "\1\xfb\3bbbbbbbbbb",
                                                        26));
}

TEST(FullZipEncoderTest, StringsHaveLengthsAndAnIndex) {
  const FullZipPage encoded = Encode(Strings({std::string(260, 'x'), "", "yz"}, {}));
  ASSERT_EQ(encoded.buffers.size(), 2);
  EXPECT_EQ(encoded.buffers[0].view(), std::string("\4\1\0\0", 4) + std::string(260, 'x') +
                                           std::string("\0\0\0\0\2\0\0\0yz", 10));
  EXPECT_THAT(encoded.buffers[1].as<uint16_t>(), ElementsAre(0, 264, 268, 274));
  EXPECT_EQ(encoded.layout.bits_per_offset(), 32);
}

TEST(FullZipEncoderTest, NullStringsAreTheirLevelOnly) {
  const FullZipPage encoded = Encode(Strings({"a", "", "b"}, {0, 1, 0}));
  EXPECT_EQ(encoded.buffers[0].view(), std::string_view("\0\1\0\0\0a\1\0\1\0\0\0b", 13));
  EXPECT_THAT(encoded.buffers[1].as<uint8_t>(), ElementsAre(0, 6, 7, 13));
}

TEST(FullZipEncoderTest, ListsHaveRepetitionInTheirControlWords) {
  // [a, bc], null, [], [d]
  PageData page = Strings({"a", "bc", "d"}, {});
  page.num_rows = 4;
  for (const uint8_t repetition : {1, 0, 1, 1, 1}) page.repetitions.AppendValue(repetition);
  for (const uint8_t code : {0, 0, 2, 3, 0}) page.codes.AppendValue(code);
  const FullZipPage encoded = Encode(std::move(page), LevelShape({LevelShape::Layer::kList}));
  EXPECT_EQ(encoded.layout.bits_rep(), 1);
  EXPECT_EQ(encoded.layout.bits_def(), 2);
  EXPECT_EQ(encoded.layout.num_items(), 5);
  EXPECT_EQ(encoded.layout.num_visible_items(), 3);
  EXPECT_EQ(encoded.buffers[0].view(),
            std::string_view("\4\1\0\0\0a\0\2\0\0\0bc\5\6\4\1\0\0\0d", 21));
  EXPECT_THAT(encoded.buffers[1].as<uint8_t>(), ElementsAre(0, 13, 14, 15, 21));
}

}  // namespace
}  // namespace lake::format
