#include "lake/format/dictionary_builder.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lake::format {
namespace {

ValueShape Strings() {
  ValueShape type;
  type.kind = ValueShape::Kind::kVariable;
  return type;
}

ValueShape Words(size_t width) {
  ValueShape type;
  type.width = width;
  return type;
}

PageData StringPage(size_t rows, const std::function<std::string(size_t)>& value) {
  PageData page;
  page.num_rows = page.num_values = rows;
  page.offsets.AppendValue<uint32_t>(0);
  for (size_t row = 0; row < rows; ++row) {
    const std::string text = value(row);
    page.values.Append(text.data(), text.size());
    page.offsets.AppendValue(static_cast<uint32_t>(page.values.size()));
  }
  return page;
}

template <typename T>
PageData WordPage(size_t rows, const std::function<T(size_t)>& value) {
  PageData page;
  page.num_rows = page.num_values = rows;
  for (size_t row = 0; row < rows; ++row) page.values.AppendValue(value(row));
  return page;
}

TEST(DictionaryBuilderTest, StringsComeInOrderOfAppearance) {
  const PageData page =
      StringPage(1000, [](size_t row) { return std::string(row % 7, 'x') + "y"; });
  const auto dictionary = BuildDictionary(Strings(), page);
  ASSERT_TRUE(dictionary);
  ASSERT_EQ(dictionary->count, 7);
  const auto indices = dictionary->indices.as<uint32_t>();
  const auto offsets = dictionary->offsets.as<uint32_t>();
  ASSERT_EQ(indices.size(), 1000);
  ASSERT_EQ(offsets.size(), 8);
  for (size_t row = 0; row < 1000; ++row) {
    const uint32_t entry = indices[row];
    ASSERT_EQ(entry, row % 7);
    EXPECT_EQ(
        dictionary->entries.view().substr(offsets[entry], offsets[entry + 1] - offsets[entry]),
        page.Value(row));
  }
}

TEST(DictionaryBuilderTest, ManyDistinctValuesGrowTheTable) {
  const PageData page = StringPage(60'000, [](size_t row) { return std::to_string(row % 20'000); });
  const auto dictionary = BuildDictionary(Strings(), page);
  // The first 16,384 rows are all distinct here: given up.
  EXPECT_FALSE(dictionary);
  const PageData mixed =
      StringPage(60'000, [](size_t row) { return std::to_string(row / 2 % 20'000); });
  const auto grown = BuildDictionary(Strings(), mixed);
  ASSERT_TRUE(grown);
  EXPECT_EQ(grown->count, 20'000);
  EXPECT_EQ(grown->indices.as<uint32_t>()[40'001], 0);
}

TEST(DictionaryBuilderTest, StringsOfEveryLengthThatDifferInOneByte) {
  std::vector<std::string> values;
  for (size_t length = 0; length < 40; ++length) {
    values.emplace_back(length, 'a');
    for (size_t at = 0; at < length; ++at) {
      values.emplace_back(length, 'a');
      values.back()[at] = '\0';
    }
  }
  const PageData page =
      StringPage(values.size() * 3, [&](size_t row) { return values[row % values.size()]; });
  const auto dictionary = BuildDictionary(Strings(), page);
  ASSERT_TRUE(dictionary);
  EXPECT_EQ(dictionary->count, values.size());
  for (size_t row = 0; row < page.num_rows; ++row) {
    ASSERT_EQ(dictionary->indices.as<uint32_t>()[row], row % values.size());
  }
}

TEST(DictionaryBuilderTest, EmptyStringsNeedNoMemory) {
  const PageData page = StringPage(200, [](size_t) { return std::string(); });
  ASSERT_EQ(page.values.data(), nullptr);
  const auto dictionary = BuildDictionary(Strings(), page);
  ASSERT_TRUE(dictionary);
  EXPECT_EQ(dictionary->count, 1);
}

TEST(DictionaryBuilderTest, NullsRepeatTheIndexBefore) {
  PageData page = StringPage(200, [](size_t row) { return row % 2 == 0 ? "even" : ""; });
  for (size_t row = 0; row < 200; ++row) {
    page.states.AppendValue<uint8_t>(row % 2 == 0 ? PageData::kValid : uint8_t{1});
  }
  page.num_null = 100;
  const auto dictionary = BuildDictionary(Strings(), page);
  ASSERT_TRUE(dictionary);
  EXPECT_EQ(dictionary->count, 1);
  for (const uint32_t index : dictionary->indices.as<uint32_t>()) EXPECT_EQ(index, 0);
}

TEST(DictionaryBuilderTest, EightAndSixteenByteValues) {
  const auto narrow = WordPage<uint64_t>(500, [](size_t row) { return (row % 3) << 60; });
  const auto small = BuildDictionary(Words(8), narrow);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->count, 3);
  EXPECT_EQ(small->entries.as<uint64_t>()[2], uint64_t{2} << 60);
  // Equal in either half alone is not equal.
  const auto wide = WordPage<unsigned __int128>(500, [](size_t row) {
    return static_cast<unsigned __int128>(row % 2) << 64 | (row / 2 % 2);
  });
  const auto large = BuildDictionary(Words(16), wide);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->count, 4);
}

TEST(DictionaryBuilderTest, GivenUpWhereItCannotBeSmaller) {
  // 4,096 distinct values: 12 bits an index.
  const auto page = WordPage<uint64_t>(100'000, [](size_t row) { return row * 17 / 2 % 4096; });
  EXPECT_TRUE(BuildDictionary(Words(8), page, {2, 200'000, 100'000}));
  EXPECT_FALSE(BuildDictionary(Words(8), page, {2, 100'000, 100'000}));
  // Long runs make the indices small whatever their width.
  EXPECT_TRUE(BuildDictionary(Words(8), page, {2, 100'000, 10}));
}

TEST(DictionaryBuilderTest, NotForFewRowsOrDifferentValuesOrOtherWidths) {
  const auto constant = [](size_t) { return std::string("same"); };
  EXPECT_FALSE(BuildDictionary(Strings(), StringPage(99, constant)));
  EXPECT_TRUE(BuildDictionary(Strings(), StringPage(100, constant)));
  const auto half = [](size_t row) { return std::to_string(row % 50); };
  const auto more = [](size_t row) { return std::to_string(row % 51); };
  EXPECT_TRUE(BuildDictionary(Strings(), StringPage(100, half)));
  EXPECT_FALSE(BuildDictionary(Strings(), StringPage(100, more)));
  EXPECT_FALSE(BuildDictionary(Words(4), WordPage<uint32_t>(500, [](size_t) { return 1; })));
}

}  // namespace
}  // namespace lake::format
