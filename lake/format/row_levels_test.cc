#include "lake/format/row_levels.h"

#include <memory>
#include <string>

#include <arrow/array.h>
#include <arrow/json/from_string.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::format {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The rows of a column with the schema that its type gives it.
class Rows {
 public:
  Rows(const std::shared_ptr<arrow::DataType>& type, const std::string& json, size_t leaf = 0,
       int64_t offset = 0)
      : schema_(SchemaFromArrow(*arrow::schema({arrow::field("c", type)})).ValueOrDie()),
        paths_(LeafPathsOf(schema_, kFileVersion22).ValueOrDie()),
        rows_(paths_[leaf],
              arrow::json::ArrayFromJSONString(type, json).ValueOrDie()->Slice(offset)) {}

  const LeafRows* operator->() const { return &rows_; }
  RowLevels All() const { return rows_.Build(0, rows_.num_rows()); }

 private:
  const Schema schema_;
  const std::vector<LeafPath> paths_;
  const LeafRows rows_;
};

std::vector<std::pair<int64_t, int64_t>> Ranges(const RowLevels& levels) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const RowLevels::Range& range : levels.ranges) ranges.emplace_back(range.start, range.count);
  return ranges;
}
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

TEST(RowLevelsTest, AFlatColumnHasStatesOnly) {
  const auto levels = Rows(arrow::int32(), "[1, null, 3, 4, 5, 6, 7, 8, null, 10, 11]").All();
  EXPECT_THAT(levels.states, ElementsAre(0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0));
  EXPECT_THAT(levels.codes, IsEmpty());
  EXPECT_EQ(Ranges(levels), (Pairs{{0, 11}}));
  EXPECT_THAT(Rows(arrow::int32(), "[1, 2]").All().states, IsEmpty());
}

TEST(RowLevelsTest, OuterNullsStandAboveInnerOnes) {
  const auto inner = arrow::struct_({arrow::field("x", arrow::int32())});
  const auto outer = arrow::struct_({arrow::field("s", inner)});
  const auto levels =
      Rows(outer, R"([null, {"s": null}, {"s": {"x": null}}, {"s": {"x": 1}}])").All();
  EXPECT_THAT(levels.states, ElementsAre(3, 2, 1, 0));
  EXPECT_EQ(levels.num_values, 4);
}

TEST(RowLevelsTest, ListsHaveEntriesForNullAndEmpty) {
  const auto levels = Rows(arrow::list(arrow::int32()), "[[1, null, 3], null, [], [4]]").All();
  EXPECT_THAT(levels.repetitions, ElementsAre(1, 0, 0, 1, 1, 1));
  EXPECT_THAT(levels.codes, ElementsAre(0, 1, 0, 2, 3, 0));
  EXPECT_THAT(levels.states, ElementsAre(0, 1, 0, 0));
  EXPECT_EQ(levels.num_values, 4);
  EXPECT_TRUE(levels.has_specials());
  EXPECT_EQ(Ranges(levels), (Pairs{{0, 4}}));
}

TEST(RowLevelsTest, InnerListsRepeatLess) {
  const auto type = arrow::list(arrow::list(arrow::int32()));
  const auto levels = Rows(type, "[[[1, 2], [3]], [[], null, [4]], null, []]").All();
  EXPECT_THAT(levels.repetitions, ElementsAre(2, 0, 1, 2, 1, 1, 2, 2));
  // Leaf null 1, inner null 2 and empty 3, outer null 4 and empty 5.
  EXPECT_THAT(levels.codes, ElementsAre(0, 0, 0, 3, 2, 0, 4, 5));
  EXPECT_THAT(levels.states, IsEmpty());
}

TEST(RowLevelsTest, ANullStructAroundAListHasNoValue) {
  const auto type = arrow::struct_({arrow::field("l", arrow::list(arrow::int32()))});
  const auto levels = Rows(type, R"([{"l": [1]}, null, {"l": null}, {"l": [2, 3]}])").All();
  EXPECT_THAT(levels.codes, ElementsAre(0, 4, 2, 0, 0));
  EXPECT_EQ(levels.num_values, 3);
}

TEST(RowLevelsTest, ANullStructInsideAListHasAFiller) {
  const auto type = arrow::list(arrow::struct_({arrow::field("x", arrow::int32())}));
  const auto levels = Rows(type, R"([[{"x": 1}, null, {"x": null}], []])").All();
  EXPECT_THAT(levels.codes, ElementsAre(0, 2, 1, 4));
  EXPECT_THAT(levels.states, ElementsAre(0, 2, 1));
}

TEST(RowLevelsTest, ItemsUnderNullListsAreLeftOut) {
  const auto type = arrow::list(arrow::int32());
  const auto plain = arrow::json::ArrayFromJSONString(type, "[[1], [2, 3], [4]]").ValueOrDie();
  auto data = plain->data()->Copy();
  const uint8_t validity = 0b101;
  data->buffers[0] = std::make_shared<arrow::Buffer>(&validity, 1);
  data->null_count = 1;
  const Schema schema = SchemaFromArrow(*arrow::schema({arrow::field("c", type)})).ValueOrDie();
  const auto paths = LeafPathsOf(schema, kFileVersion22).ValueOrDie();
  const RowLevels levels = LeafRows(paths[0], arrow::MakeArray(data)).Build(0, 3);
  EXPECT_THAT(levels.codes, ElementsAre(0, 2, 0));
  EXPECT_EQ(Ranges(levels), (Pairs{{0, 1}, {3, 1}}));
}

TEST(RowLevelsTest, FixedSizeListsOfStructsHaveASlotForEachItem) {
  const auto type = arrow::fixed_size_list(arrow::struct_({arrow::field("x", arrow::int32())}), 2);
  const Rows rows(type, R"([[{"x": 1}, null], null, [{"x": null}, {"x": 4}]])");
  const auto levels = rows.All();
  EXPECT_THAT(levels.states, ElementsAre(0, 2, 3, 3, 1, 0));
  EXPECT_EQ(levels.num_values, 6);
  EXPECT_EQ(rows->LeafRange(1, 3).start, 2);
  EXPECT_EQ(rows->LeafRange(1, 3).count, 4);
}

TEST(RowLevelsTest, MapsAreListsOfStructs) {
  const auto type = arrow::map(arrow::utf8(), arrow::int32());
  const auto levels = Rows(type, R"([[["a", 1], ["b", null]], null, []])", 1).All();
  // Leaf null 1, entry null 2, map null 3 and empty 4.
  EXPECT_THAT(levels.codes, ElementsAre(0, 1, 3, 4));
}

TEST(RowLevelsTest, SlicesCountFromTheirStart) {
  const auto type = arrow::list(arrow::int32());
  const Rows rows(type, "[[1, 2], [3], null, [4, 5]]", 0, 1);
  const auto levels = rows->Build(1, 2);
  EXPECT_THAT(levels.codes, ElementsAre(2, 0, 0));
  EXPECT_EQ(Ranges(levels), (Pairs{{3, 2}}));
}

TEST(RowLevelsTest, EmptyListsInsideNeedNoOffsets) {
  const auto leaf = arrow::json::ArrayFromJSONString(arrow::int32(), "[]").ValueOrDie()->data();
  const auto inner_type = arrow::list(arrow::int32());
  const auto middle_type = arrow::list(inner_type);
  const auto type = arrow::list(middle_type);
  const auto nothing = std::make_shared<arrow::Buffer>(nullptr, 0);
  const auto inner = arrow::ArrayData::Make(inner_type, 0, {nullptr, nothing}, {leaf});
  const auto middle = arrow::ArrayData::Make(middle_type, 0, {nullptr, nothing}, {inner});
  const std::vector<int32_t> offsets(4, 0);
  const auto outer =
      arrow::ArrayData::Make(type, 3, {nullptr, arrow::Buffer::Wrap(offsets)}, {middle});
  const auto array = arrow::MakeArray(outer);
  ASSERT_TRUE(array->Validate().ok());
  const Schema schema = SchemaFromArrow(*arrow::schema({arrow::field("c", type)})).ValueOrDie();
  const auto paths = LeafPathsOf(schema, kFileVersion22).ValueOrDie();
  const LeafRows rows(paths[0], array);
  EXPECT_EQ(rows.LeafRange(0, 3).start, 0);
  EXPECT_EQ(rows.LeafRange(0, 3).count, 0);
  EXPECT_THAT(rows.Build(0, 3).codes, ElementsAre(7, 7, 7));
}

TEST(RowLevelsTest, TheNullTypeIsNullEverywhere) {
  EXPECT_THAT(Rows(arrow::null(), "[null, null]").All().states, ElementsAre(1, 1));
}

}  // namespace
}  // namespace lake::format
