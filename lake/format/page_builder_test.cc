#include "lake/format/page_builder.h"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include <arrow/array.h>
#include <arrow/buffer_builder.h>
#include <arrow/builder.h>
#include <arrow/json/from_string.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/row_check.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<arrow::Array> Parse(const std::shared_ptr<arrow::DataType>& type,
                                    const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

// A column without nesting of `type`.
LeafPath PathOf(const arrow::DataType& type) {
  LeafPath path;
  path.shape = ValueShapeOf(type);
  return path;
}

class Builder {
 public:
  explicit Builder(const std::shared_ptr<arrow::DataType>& type)
      : path_(PathOf(*type)), builder_(path_.shape) {}

  void Append(const std::shared_ptr<arrow::Array>& array, int64_t start, int64_t count) {
    const LeafRows rows(path_, array);
    builder_.Append(rows.leaf(), rows.Build(start, count), count);
  }
  int64_t RowsThatFit(const std::shared_ptr<arrow::Array>& array, int64_t start, int64_t end,
                      size_t limit) const {
    return builder_.RowsThatFit(LeafRows(path_, array), start, end, limit);
  }
  PageBuilder* operator->() { return &builder_; }

 private:
  const LeafPath path_;
  PageBuilder builder_;
};

PageData Build(const std::shared_ptr<arrow::Array>& array) {
  Builder builder(array->type());
  builder.Append(array, 0, array->length());
  return builder->Take();
}

TEST(PageBuilderTest, NullsRepeatTheValueBeforeThem) {
  const PageData page = Build(Parse(arrow::int32(), "[null, null, 4, null, 5]"));
  EXPECT_THAT(page.values.as<int32_t>(), ElementsAre(4, 4, 4, 4, 5));
  EXPECT_THAT(page.states.as<uint8_t>(), ElementsAre(1, 1, 0, 1, 0));
  EXPECT_EQ(page.num_null, 3);
  EXPECT_EQ(page.num_valid(), 2);
}

TEST(PageBuilderTest, NullsOfEveryWidthRepeatTheValueBeforeThem) {
  for (const auto& type : {arrow::int8(), arrow::int16(), arrow::int32(), arrow::int64()}) {
    const PageData page = Build(Parse(type, "[1, 2, null, null, 3, null]"));
    const size_t width = page.values.size() / 6;
    std::vector<int> values;
    for (size_t i = 0; i < 6; ++i) values.push_back(page.values.data()[i * width]);
    EXPECT_THAT(values, ElementsAre(1, 2, 2, 2, 3, 3)) << type->ToString();
  }
}

TEST(PageBuilderTest, APageWellOnItsWayHasMemoryForAll) {
  constexpr size_t kUsualBytes = 1 << 20;
  for (const auto& type : {arrow::int64(), arrow::utf8()}) {
    arrow::StringBuilder strings;
    arrow::Int64Builder numbers;
    for (int64_t i = 0; i < 16'000; ++i) {
      ASSERT_TRUE(strings.Append(std::to_string(10'000 + i)).ok());
      ASSERT_TRUE(numbers.Append(i).ok());
    }
    const auto array = type->id() == arrow::Type::STRING ? strings.Finish().ValueOrDie()
                                                         : numbers.Finish().ValueOrDie();
    const LeafPath path = PathOf(*type);
    PageBuilder builder(path.shape, SIZE_MAX, kUsualBytes);
    const LeafRows rows(path, array);
    builder.Append(rows.leaf(), rows.Build(0, 16'000), 16'000);
    builder.Append(rows.leaf(), rows.Build(0, 1), 1);
    const uint8_t* const values = builder.page().values.data();
    const uint8_t* const offsets = builder.page().offsets.data();
    int64_t fit;
    while ((fit = builder.RowsThatFit(rows, 0, 16'000, kUsualBytes)) != 0) {
      builder.Append(rows.leaf(), rows.Build(0, fit), fit);
    }
    EXPECT_EQ(builder.page().values.data(), values) << type->ToString();
    EXPECT_EQ(builder.page().offsets.data(), offsets) << type->ToString();
  }
}

TEST(PageBuilderTest, NullsGoOnAcrossAppends) {
  const auto first = Parse(arrow::int64(), "[7, 8]");
  const auto second = Parse(arrow::int64(), "[null, 9]");
  Builder builder(arrow::int64());
  builder.Append(first, 0, 2);
  EXPECT_TRUE(builder->page().states.empty());
  builder.Append(second, 0, 2);
  builder.Append(first, 1, 1);
  const PageData page = builder->Take();
  EXPECT_THAT(page.values.as<int64_t>(), ElementsAre(7, 8, 8, 9, 8));
  EXPECT_THAT(page.states.as<uint8_t>(), ElementsAre(0, 0, 1, 0, 0));
  // The next page counts on.
  builder.Append(first, 0, 1);
  EXPECT_EQ(builder->page().first_row, 5);
  EXPECT_EQ(builder->page().num_rows, 1);
}

TEST(PageBuilderTest, SlicesOfBitsAndBytes) {
  const auto bools = Parse(arrow::boolean(), "[true, false, true, true, null, false, true]");
  EXPECT_THAT(Build(bools->Slice(2, 4)).values.as<uint8_t>(), ElementsAre(1, 1, 1, 0));
  const auto binary = Parse(arrow::fixed_size_binary(3), R"(["abc", "def", "ghi"])");
  EXPECT_EQ(Build(binary->Slice(1)).values.view(), "defghi");
}

TEST(PageBuilderTest, BytesUnderNullStringsAreDropped) {
  // "bb" lies under the null.
  const auto plain = Parse(arrow::utf8(), R"(["a", "bb", "ccc"])");
  auto data = plain->data()->Copy();
  const uint8_t validity = 0b101;
  data->buffers[0] = std::make_shared<arrow::Buffer>(&validity, 1);
  data->null_count = 1;
  const PageData page = Build(arrow::MakeArray(data));
  EXPECT_EQ(page.values.view(), "accc");
  EXPECT_THAT(page.offsets.as<uint32_t>(), ElementsAre(0, 1, 1, 4));
  EXPECT_EQ(page.longest_value, 3);
}

TEST(PageBuilderTest, SlicesOfStringsStartAtZero) {
  const auto strings = Parse(arrow::large_utf8(), R"(["aa", "b", null, "cc"])");
  const PageData page = Build(strings->Slice(1));
  EXPECT_EQ(page.values.view(), "bcc");
  EXPECT_THAT(page.offsets.as<uint32_t>(), ElementsAre(0, 1, 1, 3));
}

TEST(PageBuilderTest, ListsKeepItemNullsOfValidRowsOnly) {
  const auto type = arrow::fixed_size_list(arrow::int16(), 2);
  const auto lists = Parse(type, "[[1, 2], null, [3, null], [5, 6]]");
  const PageData page = Build(lists->Slice(1));
  EXPECT_EQ(page.values.as<int16_t>()[0], 0);
  EXPECT_EQ(page.values.as<int16_t>()[2], 3);
  EXPECT_EQ(page.values.as<int16_t>()[5], 6);
  EXPECT_EQ(page.item_validity[0].as<uint8_t>()[0] & 0x3f, 0b110111);

  // Null rows alone need no validity of items.
  EXPECT_TRUE(Build(lists->Slice(0, 2)).item_validity[0].empty());
}

TEST(PageBuilderTest, ItemNullsMayComeLate) {
  const auto type = arrow::fixed_size_list(arrow::int16(), 3);
  const auto valid = Parse(type, "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]");
  const auto nulls = Parse(type, "[[null, 2, null]]");
  Builder builder(type);
  builder.Append(valid, 0, 3);
  builder.Append(nulls, 0, 1);
  builder.Append(valid, 0, 1);
  const PageData page = builder->Take();
  ASSERT_EQ(page.item_validity[0].size(), 2);
  EXPECT_EQ(page.item_validity[0].data()[0], 0xff);
  EXPECT_EQ(page.item_validity[0].data()[1] & 0x7f, 0b1110101);
}

// Nulls of lists and of items anywhere, given in parts, at offsets that are no multiple of 8.
TEST(PageBuilderTest, ValidityOfItemsIsThatOfValidLists) {
  std::mt19937 random(7);
  for (const int size : {1, 3, 8, 65}) {
    const auto type = arrow::fixed_size_list(arrow::int8(), size);
    for (int round = 0; round < 20; ++round) {
      arrow::Int8Builder items;
      std::vector<bool> expected;
      arrow::TypedBufferBuilder<bool> validity;
      const unsigned item_nulls = round % 4 == 0 ? 0 : random() % 3;
      for (int list = 0; list < 100; ++list) {
        const bool valid = round % 3 == 0 || random() % 4 != 0;
        ASSERT_TRUE(validity.Append(valid).ok());
        const bool has_nulls = random() % 8 < item_nulls;
        for (int i = 0; i < size; ++i) {
          const bool null = valid ? has_nulls && random() % 2 == 0 : random() % 2 == 0;
          ASSERT_TRUE((null ? items.AppendNull() : items.Append(5)).ok());
          expected.push_back(!valid || !null);
        }
      }
      const auto array = arrow::FixedSizeListArray::FromArrays(items.Finish().ValueOrDie(), type,
                                                               validity.Finish().ValueOrDie())
                             .ValueOrDie();
      Builder builder(type);
      const int64_t skipped = random() % 10;
      for (int64_t at = skipped; at < array->length();) {
        const int64_t count = std::min<int64_t>(1 + random() % 20, array->length() - at);
        builder.Append(array, at, count);
        at += count;
      }
      const PageData page = builder->Take();
      const ByteBuffer& bits = page.item_validity[0];
      expected.erase(expected.begin(), expected.begin() + skipped * size);
      if (std::find(expected.begin(), expected.end(), false) == expected.end()) {
        EXPECT_TRUE(bits.empty());
        continue;
      }
      ASSERT_EQ(bits.size(), (expected.size() + 7) / 8);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(bits.data()[i / 8] >> i % 8 & 1, expected[i] ? 1 : 0)
            << size << " " << round << " " << i;
      }
    }
  }
}

TEST(PageBuilderTest, ListsOfListsHaveValidityForEachDimension) {
  const auto type = arrow::fixed_size_list(arrow::fixed_size_list(arrow::int16(), 2), 2);
  const PageData page = Build(Parse(type, "[[[1, 2], [3, null]], [[5, 6], null]]"));
  ASSERT_EQ(page.item_validity.size(), 2);
  EXPECT_EQ(page.item_validity[0].as<uint8_t>()[0] & 0xf, 0b0111);
  EXPECT_EQ(page.item_validity[1].as<uint8_t>()[0] & 0x3f, 0b110111);
  EXPECT_EQ(page.values.as<int16_t>()[4], 5);
}

TEST(PageBuilderTest, ListsOfBooleansAreOneByteEach) {
  const auto type = arrow::fixed_size_list(arrow::boolean(), 3);
  const auto lists = Parse(type, "[[true, false, true], [false, false, true]]");
  EXPECT_THAT(Build(lists->Slice(1)).values.as<uint8_t>(), ElementsAre(0, 0, 1));
}

TEST(PageBuilderTest, DictionariesOfBatchesBecomeOne) {
  const auto type = arrow::dictionary(arrow::int8(), arrow::utf8());
  const auto make = [&](const std::string& indices, const std::string& values) {
    return arrow::DictionaryArray::FromArrays(type, Parse(arrow::int8(), indices),
                                              Parse(arrow::utf8(), values))
        .ValueOrDie();
  };
  Builder builder(type);
  builder.Append(make("[2, null, 0]", R"(["a", "unused", "c"])"), 0, 3);
  builder.Append(make("[1, 0]", R"(["b", "c"])"), 0, 2);
  const PageData page = builder->Take();
  EXPECT_THAT(page.values.as<int8_t>(), ElementsAre(0, 0, 1, 0, 2));
  EXPECT_EQ(page.dictionary.entries.view(), "cab");
  EXPECT_THAT(page.dictionary.offsets.as<uint32_t>(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(page.dictionary.count, 3);
}

TEST(PageBuilderTest, APageEndsBeforeItsDictionaryIsFull) {
  const auto type = arrow::dictionary(arrow::int8(), arrow::int32());
  const auto make = [&](int first) {
    arrow::Int8Builder indices;
    arrow::Int32Builder values;
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(indices.Append(static_cast<int8_t>(i)).ok());
      EXPECT_TRUE(values.Append(first + i).ok());
    }
    return arrow::DictionaryArray::FromArrays(type, indices.Finish().ValueOrDie(),
                                              values.Finish().ValueOrDie())
        .ValueOrDie();
  };
  Builder builder(type);
  builder.Append(make(0), 0, 100);
  EXPECT_EQ(builder.RowsThatFit(make(0), 0, 100, 1 << 20), 100);
  EXPECT_EQ(builder.RowsThatFit(make(20), 0, 100, 1 << 20), 100);
  EXPECT_EQ(builder.RowsThatFit(make(50), 0, 100, 1 << 20), 0);
}

TEST(PageBuilderTest, RowsThatFitCountsTheEntriesOfADictionary) {
  const auto type = arrow::dictionary(arrow::int16(), arrow::large_utf8());
  arrow::Int16Builder indices;
  arrow::LargeStringBuilder values;
  for (int16_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(indices.Append(i).ok());
    ASSERT_TRUE(values
                    .Append(std::string(98, static_cast<char>('a' + i % 26)) +
                            static_cast<char>('0' + i / 100) + static_cast<char>('0' + i % 10))
                    .ok());
  }
  const auto array = arrow::DictionaryArray::FromArrays(type, indices.Finish().ValueOrDie(),
                                                        values.Finish().ValueOrDie())
                         .ValueOrDie();
  Builder builder(type);
  // 2 bytes of index and 100 of its entry a row, but no more than all entries have.
  EXPECT_EQ(builder.RowsThatFit(array, 0, 1000, 1020), 10);
  EXPECT_EQ(builder.RowsThatFit(array, 0, 1000, 102'000), 1000);
  builder.Append(array, 0, 10);
  EXPECT_EQ(builder.RowsThatFit(array, 10, 1000, 2040), 10);
}

TEST(PageBuilderTest, ADictionaryEndsBeforeItsOffsetsDo) {
  // Nothing looks at the bytes.
  const auto type = arrow::dictionary(arrow::int8(), arrow::large_binary());
  const auto make = [&](int64_t bytes) {
    const int64_t ends[] = {0, bytes};
    auto data = Parse(arrow::int8(), "[0]")->data()->Copy();
    data->type = type;
    data->dictionary = arrow::ArrayData::Make(
        arrow::large_binary(), 1,
        {nullptr, arrow::Buffer::FromString(std::string(reinterpret_cast<const char*>(ends), 16)),
         arrow::Buffer::FromString("")});
    return arrow::MakeArray(data);
  };
  const auto check = [&](int64_t bytes) {
    LeafPath path = PathOf(*type);
    Field field;
    path.field = &field;
    return CheckLeaf(path, LeafRows(path, make(bytes)), 0);
  };
  EXPECT_TRUE(check((int64_t{1} << 31) - 1).ok());
  EXPECT_EQ(CodeOf(check(int64_t{1} << 31)), ErrorCode::kUnsupported);

  const ValueShape shape = ValueShapeOf(*type);
  const DictionaryMerger merger(shape);
  Dictionary dictionary;
  dictionary.entries.AppendFill(10, 'x');
  EXPECT_TRUE(merger.HasRoom(*make((int64_t{1} << 31) - 11), dictionary));
  EXPECT_FALSE(merger.HasRoom(*make((int64_t{1} << 31) - 10), dictionary));
}

TEST(PageBuilderTest, RowsThatFitCountsWhatTheSliceHolds) {
  const auto strings = Parse(arrow::utf8(), R"(["aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "d"])");
  Builder builder(arrow::utf8());
  // 14 bytes a row, with its offset.
  EXPECT_EQ(builder.RowsThatFit(strings, 0, 4, 28), 2);
  EXPECT_EQ(builder.RowsThatFit(strings, 0, 4, 41), 2);
  EXPECT_EQ(builder.RowsThatFit(strings, 1, 4, 1000), 3);
  // One row always fits an empty page, however large.
  EXPECT_EQ(builder.RowsThatFit(strings, 0, 4, 5), 1);
  builder.Append(strings, 0, 1);
  EXPECT_EQ(builder.RowsThatFit(strings, 1, 4, 5), 0);

  const auto numbers = Parse(arrow::int64(), "[1, 2, 3]");
  Builder fixed(arrow::int64());
  EXPECT_EQ(fixed.RowsThatFit(numbers, 0, 3, 17), 2);
}

TEST(PageBuilderTest, ATakenPageLeavesNoMemoryBehind) {
  const auto numbers = Parse(arrow::int64(), "[1, null, 3]");
  Builder builder(arrow::int64());
  builder.Append(numbers, 0, 3);
  EXPECT_GT(builder->MemoryUse(), 0);
  builder->Take();
  EXPECT_EQ(builder->MemoryUse(), 0);
  EXPECT_TRUE(builder->empty());
}

}  // namespace
}  // namespace lake::format
