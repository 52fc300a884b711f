#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/constant_encoder_internal.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;

PageData WithStates(std::vector<uint8_t> states) {
  PageData page;
  page.num_rows = page.num_values = states.size();
  for (const uint8_t state : states) page.num_null += state != PageData::kValid;
  if (page.num_null != 0) page.states.Append(states.data(), states.size());
  return page;
}

PageData Integers(std::vector<uint8_t> states, std::vector<uint32_t> values) {
  PageData page = WithStates(std::move(states));
  page.values.Append(values.data(), values.size() * 4);
  return page;
}

PageData Strings(std::vector<uint8_t> states, std::vector<std::string> values) {
  PageData page = WithStates(std::move(states));
  page.offsets.AppendValue<uint32_t>(0);
  for (const std::string& value : values) {
    page.values.Append(value.data(), value.size());
    page.offsets.AppendValue(static_cast<uint32_t>(page.values.size()));
  }
  return page;
}

std::optional<ConstantPage> Encode(const ValueShape& shape, PageData page, bool in_struct = false,
                                   FileVersion version = kFileVersion22) {
  std::vector<LevelShape::Layer> outer;
  if (in_struct) outer.push_back(LevelShape::Layer::kItem);
  const PageLevels levels = PageLevels::Make(&page, LevelShape(outer), shape.has_values());
  return EncodeConstant(shape, page, levels, version);
}

const ValueShape kInteger{.width = 4};
const ValueShape kString{.kind = ValueShape::Kind::kVariable};
const ValueShape kLargeString{.kind = ValueShape::Kind::kVariable, .offset_bits = 64};
const ValueShape kWide{.width = 40};

TEST(ConstantEncoderTest, ShortValuesStandInTheLayout) {
  const auto page = Encode(kInteger, Integers({0, 0, 0}, {42, 42, 42}));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->layout.inline_value(), std::string("\x2a\0\0\0", 4));
  EXPECT_TRUE(page->buffers.empty());
  EXPECT_THAT(page->layout.layers(), ElementsAre(pb::ALL_VALID_ITEM));
}

TEST(ConstantEncoderTest, StringsAndWideValuesAreAScalarBuffer) {
  const auto page = Encode(kString, Strings({0, 0}, {"hello", "hello"}));
  ASSERT_TRUE(page);
  EXPECT_FALSE(page->layout.has_inline_value());
  ASSERT_EQ(page->buffers.size(), 1);
  EXPECT_EQ(page->buffers[0].view(),
            std::string_view("\2\0\0\0\x8\0\0\0\5\0\0\0\0\0\0\0\5\0\0\0hello", 25));

  const auto large = Encode(kLargeString, Strings({0}, {"hi"}));
  EXPECT_EQ(large->buffers[0].view(),
            std::string_view("\2\0\0\0\x10\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0hi", 30));

  PageData wide = WithStates({0});
  wide.values.AppendFill(40, 'w');
  EXPECT_EQ(Encode(kWide, std::move(wide))->buffers[0].view(),
            std::string("\1\0\0\0\x28\0\0\0", 8) + std::string(40, 'w'));
}

TEST(ConstantEncoderTest, LevelsBesideAValueAreRaw) {
  const auto page = Encode(kInteger, Integers({0, 1, 2}, {7, 7, 7}), true);
  ASSERT_TRUE(page);
  EXPECT_THAT(page->layout.layers(), ElementsAre(pb::NULLABLE_ITEM, pb::NULLABLE_ITEM));
  ASSERT_EQ(page->buffers.size(), 2);
  EXPECT_TRUE(page->buffers[0].empty());
  EXPECT_THAT(page->buffers[1].as<uint16_t>(), ElementsAre(0, 1, 2));
  EXPECT_FALSE(page->layout.has_def_compression());
  // The scalar comes before the levels.
  EXPECT_EQ(Encode(kString, Strings({0, 1}, {"x", ""}))->buffers.size(), 3);
}

TEST(ConstantEncoderTest, NoValueAtAll) {
  const auto nulls = Encode(kInteger, Integers({1, 1}, {0, 0}));
  ASSERT_TRUE(nulls);
  EXPECT_TRUE(nulls->buffers.empty());
  EXPECT_FALSE(nulls->layout.has_inline_value());
  EXPECT_THAT(nulls->layout.layers(), ElementsAre(pb::NULLABLE_ITEM));

  const auto in_struct = Encode(kInteger, Integers({2, 1}, {0, 0}), true);
  ASSERT_TRUE(in_struct);
  ASSERT_EQ(in_struct->buffers.size(), 2);
  EXPECT_EQ(in_struct->layout.num_def_values(), 2);
  EXPECT_TRUE(in_struct->layout.has_def_compression());
}

TEST(ConstantEncoderTest, Version21KnowsOnlyPagesWithoutValue) {
  EXPECT_FALSE(Encode(kInteger, Integers({0, 0}, {7, 7}), false, kFileVersion21));
  const auto nulls = Encode(kInteger, Integers({2, 1}, {0, 0}), true, kFileVersion21);
  ASSERT_TRUE(nulls);
  ASSERT_EQ(nulls->buffers.size(), 2);
  EXPECT_FALSE(nulls->layout.has_def_compression());
  EXPECT_THAT(nulls->buffers[1].as<uint16_t>(), ElementsAre(2, 1));
}

TEST(ConstantEncoderTest, ATypeWithoutValuesIsOneNullableLayer) {
  const ValueShape none{.width = 0};
  const auto page = Encode(none, WithStates({0, 0}));
  ASSERT_TRUE(page);
  EXPECT_THAT(page->layout.layers(), ElementsAre(pb::NULLABLE_ITEM));
  EXPECT_TRUE(page->buffers.empty());
}

TEST(ConstantEncoderTest, NullsAroundATypeWithoutValuesHaveTheLevelBehindTheLeaves) {
  const ValueShape none{.width = 0};
  const auto page = Encode(none, WithStates({0, 2, 0}), true, kFileVersion21);
  ASSERT_TRUE(page);
  EXPECT_THAT(page->layout.layers(), ElementsAre(pb::NULLABLE_ITEM, pb::NULLABLE_ITEM));
  ASSERT_EQ(page->buffers.size(), 2);
  EXPECT_THAT(page->buffers[1].as<uint16_t>(), ElementsAre(0, 2, 0));
}

TEST(ConstantEncoderTest, ListsOfNothingAreTheirLevels) {
  PageData page;
  page.num_rows = 3;
  for (const uint8_t code : {2, 3, 2}) {
    page.codes.AppendValue(code);
    page.repetitions.AppendValue<uint8_t>(1);
  }
  const PageLevels levels = PageLevels::Make(&page, LevelShape({LevelShape::Layer::kList}));
  const auto constant = EncodeConstant(kInteger, page, levels, kFileVersion22);
  ASSERT_TRUE(constant);
  EXPECT_THAT(constant->layout.layers(), ElementsAre(pb::ALL_VALID_ITEM, pb::NULL_AND_EMPTY_LIST));
  EXPECT_EQ(constant->layout.num_rep_values(), 3);
  EXPECT_EQ(constant->layout.num_def_values(), 3);
  EXPECT_EQ(constant->buffers.size(), 2);
}

TEST(ConstantEncoderTest, DifferentValuesAreNotConstant) {
  EXPECT_FALSE(Encode(kInteger, Integers({0, 0}, {1, 2})));
  EXPECT_FALSE(Encode(kString, Strings({0, 0}, {"ab", "ac"})));
  EXPECT_FALSE(Encode(kString, Strings({0, 0, 0}, {"ab", "a", "abb"})));
}

TEST(ConstantEncoderTest, ManyNullsArePackedElsewhere) {
  std::vector<uint8_t> states(600, 0);
  states[5] = 1;
  EXPECT_FALSE(Encode(kInteger, Integers(states, std::vector<uint32_t>(600, 1))));
  PageData wide = WithStates(states);
  wide.values.AppendFill(600 * 40, 'w');
  EXPECT_TRUE(Encode(kWide, std::move(wide)));
}

TEST(ConstantEncoderTest, ListsAreConstantOnlyWithoutAnyValue) {
  const ValueShape type{
      .kind = ValueShape::Kind::kFixedSizeList, .width = 4, .items = 2, .dimensions = {2}};
  PageData values = WithStates({0, 0});
  values.values.AppendFill(16, 0);
  EXPECT_FALSE(Encode(type, std::move(values)));
  PageData nulls = WithStates({1, 1});
  nulls.values.AppendFill(16, 0);
  EXPECT_TRUE(Encode(type, std::move(nulls)));
}

}  // namespace
}  // namespace lake::format
