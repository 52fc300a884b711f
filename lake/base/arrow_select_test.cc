#include "lake/base/arrow_select.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

namespace lake {
namespace {

/// `rows` lists of 3 lists of 2 numbers: 0, 1, 2, …
std::shared_ptr<arrow::Array> ListsOfLists(int rows) {
  arrow::Int8Builder numbers;
  for (int i = 0; i < rows * 6; ++i) EXPECT_TRUE(numbers.Append(static_cast<int8_t>(i)).ok());
  const auto items = numbers.Finish().ValueOrDie();
  const auto inner = arrow::FixedSizeListArray::FromArrays(items, 2).ValueOrDie();
  return arrow::FixedSizeListArray::FromArrays(inner, 3).ValueOrDie();
}

/// A column of each shape in which lists of lists stand.
std::shared_ptr<arrow::RecordBatch> Batch() {
  const auto lists = ListsOfLists(20);
  const auto in_struct = arrow::StructArray::Make({lists}, std::vector<std::string>{"x"});
  arrow::Int32Builder offsets;
  for (int i = 0; i <= 18; ++i) EXPECT_TRUE(offsets.Append(i).ok());
  const auto in_list =
      arrow::ListArray::FromArrays(*offsets.Finish().ValueOrDie(), *lists->Slice(2));
  const arrow::ArrayVector columns = {lists->Slice(0, 18), (*in_struct)->Slice(0, 18), *in_list};
  const auto schema = arrow::schema({arrow::field("lists", columns[0]->type()),
                                     arrow::field("struct", columns[1]->type()),
                                     arrow::field("list", columns[2]->type())});
  return arrow::RecordBatch::Make(schema, 18, columns);
}

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> ArrayOf(const std::vector<Value>& values) {
  Builder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  return builder.Finish().ValueOrDie();
}

/// The rows one by one, as Arrow compares them right.
void ExpectRows(const arrow::Array& actual, const arrow::Array& from,
                const std::vector<int64_t>& rows) {
  ASSERT_EQ(actual.length(), static_cast<int64_t>(rows.size()));
  ASSERT_TRUE(actual.ValidateFull().ok());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto expected = from.GetScalar(rows[i]).ValueOrDie();
    EXPECT_TRUE(actual.GetScalar(static_cast<int64_t>(i)).ValueOrDie()->Equals(*expected))
        << from.type()->ToString() << ", row " << rows[i];
  }
}

TEST(ArrowSelectTest, ValuesOfSlicesAreTakenFromTheirPlaces) {
  const std::vector<int64_t> places = {4, 0, 10, 10, 3, 7};
  const auto array = ArrayOf<arrow::Int64Builder>(places);
  for (const int64_t offset : {0, 1, 5}) {
    const auto batch = Batch()->Slice(offset);
    for (const auto& column : batch->columns()) {
      const auto taken = TakeValues(column, array, arrow::default_memory_pool());
      ASSERT_TRUE(taken.ok()) << taken.status();
      ExpectRows(**taken, *column, places);
    }
  }
}

TEST(ArrowSelectTest, NullPlacesAreNullValues) {
  arrow::Int64Builder builder;
  ASSERT_TRUE(builder.AppendValues({2, 0}).ok() && builder.AppendNull().ok());
  const auto places = builder.Finish().ValueOrDie();
  const auto batch = Batch()->Slice(1);
  for (const auto& column : batch->columns()) {
    const auto taken = TakeValues(column, places, arrow::default_memory_pool()).ValueOrDie();
    EXPECT_TRUE(taken->IsNull(2));
    ExpectRows(*taken->Slice(0, 2), *column, {2, 0});
  }
}

TEST(ArrowSelectTest, RowsOfSlicesAreKeptByTheMask) {
  for (const int64_t offset : {0, 1, 5}) {
    const auto batch = Batch()->Slice(offset, 12);
    const auto mask = std::static_pointer_cast<arrow::BooleanArray>(
        ArrayOf<arrow::BooleanBuilder>(std::vector<bool>{true, false, false, true, true, false,
                                                         false, true, false, true, false, true}));
    const auto kept = FilterRows(batch, mask, arrow::default_memory_pool());
    ASSERT_TRUE(kept.ok()) << kept.status();
    for (int i = 0; i < batch->num_columns(); ++i) {
      ExpectRows(*(*kept)->column(i), *batch->column(i), {0, 3, 4, 7, 9, 11});
    }
  }
}

}  // namespace
}  // namespace lake
