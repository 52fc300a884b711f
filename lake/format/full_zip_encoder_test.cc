#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "lake/format/full_zip_encoder_internal.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;

PageData Strings(const std::vector<std::string>& values, const std::vector<uint8_t>& states) {
  PageData page;
  page.num_rows = values.size();
  page.offsets.AppendValue<uint32_t>(0);
  for (const std::string& value : values) {
    page.values.Append(value.data(), value.size());
    page.offsets.AppendValue(static_cast<uint32_t>(page.values.size()));
    page.longest_value = std::max(page.longest_value, value.size());
  }
  page.states.Append(states.data(), states.size());
  for (const uint8_t state : states) page.num_null += state == PageData::kNull;
  return page;
}

const ValueShape kBinary{.kind = ValueShape::Kind::kVariable};

TEST(FullZipEncoderTest, FixedValuesWithoutNullsAreThePage) {
  const ValueShape type{.width = 300};
  PageData page;
  page.num_rows = 2;
  page.values.AppendFill(600, 9);
  const uint8_t* const before = page.values.data();
  const PageLevels levels = PageLevels::Make(&page, false);
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
  const ValueShape type{.kind = ValueShape::Kind::kFixedSizeList, .width = 1, .items = 10};
  PageData page;
  page.num_rows = 2;
  page.num_null = 1;
  page.values.AppendFill(10, 'a');
  page.values.AppendFill(10, 'b');
  // Item 3 of the first list and item 2 of the second are null.
  page.item_validity.AppendValue<uint8_t>(0b11110111);
  page.item_validity.AppendValue<uint8_t>(0b11101111);
  page.item_validity.AppendValue<uint8_t>(0b1111);
  for (const uint8_t state : {PageData::kValid, PageData::kNull}) page.states.AppendValue(state);
  const PageLevels levels = PageLevels::Make(&page, false);
  const FullZipPage encoded = EncodeFullZipFixed(type, &page, levels);
  EXPECT_EQ(encoded.layout.bits_def(), 1);
  EXPECT_EQ(encoded.layout.bits_per_value(), (2 + 10) * 8);
  EXPECT_TRUE(encoded.layout.value_compression().fixed_size_list().has_validity());
  EXPECT_EQ(encoded.buffers[0].view(), std::string_view("\0\xf7\3aaaaaaaaaa"
                                                        "\1\xfb\3bbbbbbbbbb",
                                                        26));
}

TEST(FullZipEncoderTest, StringsHaveLengthsAndAnIndex) {
  PageData page = Strings({std::string(260, 'x'), "", "yz"}, {});
  const PageLevels levels = PageLevels::Make(&page, false);
  const FullZipPage encoded = EncodeFullZipVariable(kBinary, page, levels).ValueOrDie();
  ASSERT_EQ(encoded.buffers.size(), 2);
  EXPECT_EQ(encoded.buffers[0].view(), std::string("\4\1\0\0", 4) + std::string(260, 'x') +
                                           std::string("\0\0\0\0\2\0\0\0yz", 10));
  EXPECT_THAT(encoded.buffers[1].as<uint16_t>(), ElementsAre(0, 264, 268, 274));
  EXPECT_EQ(encoded.layout.bits_per_offset(), 32);
  EXPECT_TRUE(encoded.layout.value_compression().has_variable());
}

TEST(FullZipEncoderTest, NullStringsAreTheirLevelOnly) {
  PageData page = Strings({"a", "", "b"}, {0, 1, 0});
  const PageLevels levels = PageLevels::Make(&page, false);
  const FullZipPage encoded = EncodeFullZipVariable(kBinary, page, levels).ValueOrDie();
  EXPECT_EQ(encoded.buffers[0].view(), std::string_view("\0\1\0\0\0a\1\0\1\0\0\0b", 13));
  EXPECT_THAT(encoded.buffers[1].as<uint8_t>(), ElementsAre(0, 6, 7, 13));
}

TEST(FullZipEncoderTest, TextGetsASymbolTableAndBinaryDoesNot) {
  const std::vector<std::string> values(
      200, std::string(30, 'r') + "obot arm camera " + std::string(230, 'l'));
  PageData page = Strings(values, {});
  const PageLevels levels = PageLevels::Make(&page, false);
  ValueShape text = kBinary;
  text.is_text = true;
  const FullZipPage encoded = EncodeFullZipVariable(text, page, levels).ValueOrDie();
  EXPECT_TRUE(encoded.layout.value_compression().has_fsst());
  EXPECT_LT(encoded.buffers[0].size() * 3, page.values.size());
  const FullZipPage plain = EncodeFullZipVariable(kBinary, page, levels).ValueOrDie();
  EXPECT_TRUE(plain.layout.value_compression().has_variable());
}

TEST(FullZipEncoderTest, LongValuesAreCompressedOneByOne) {
  PageData page = Strings({std::string(100'000, 'z'), "short"}, {});
  const PageLevels levels = PageLevels::Make(&page, false);
  const FullZipPage encoded = EncodeFullZipVariable(kBinary, page, levels).ValueOrDie();
  const pb::General& general = encoded.layout.value_compression().general();
  EXPECT_EQ(general.compression().scheme(), pb::BufferCompression::ZSTD);
  EXPECT_TRUE(general.values().has_variable());
  const uint8_t* const bytes = encoded.buffers[0].data();
  uint32_t length;
  uint64_t size;
  std::memcpy(&length, bytes, 4);
  std::memcpy(&size, bytes + 4, 8);
  ASSERT_EQ(size, 100'000);
  std::string plain(size, 0);
  ASSERT_EQ(ZSTD_decompress(plain.data(), size, bytes + 12, length - 8), size);
  EXPECT_EQ(plain, std::string(100'000, 'z'));
}

TEST(FullZipEncoderTest, LongValuesThatDoNotShrinkStayPlain) {
  uint32_t state = 1;
  std::string noise(50'000, 0);
  for (char& byte : noise) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  PageData page = Strings({noise}, {});
  const PageLevels levels = PageLevels::Make(&page, false);
  const FullZipPage encoded = EncodeFullZipVariable(kBinary, page, levels).ValueOrDie();
  EXPECT_TRUE(encoded.layout.value_compression().has_variable());
}

}  // namespace
}  // namespace lake::format
