#include "lake/service/column_mapping.h"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/objects/data_location.h"

namespace lake::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::shared_ptr<arrow::Array> Array(const std::shared_ptr<arrow::DataType>& type,
                                    const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

std::shared_ptr<arrow::Schema> Table() {
  return arrow::schema({arrow::field("id", arrow::int32(), false),
                        arrow::field("name", arrow::utf8()),
                        arrow::field("score", arrow::float32())});
}

TEST(ColumnMappingTest, ColumnsAreMatchedByName) {
  auto source =
      arrow::schema({arrow::field("score", arrow::float64()), arrow::field("id", arrow::int64())});
  ColumnMapping mapping = ColumnMapping::Make(*source, Table(), "s").ValueOrDie();
  auto batch = arrow::RecordBatch::Make(
      source, 2, {Array(arrow::float64(), "[0.5, null]"), Array(arrow::int64(), "[7, 8]")});
  auto converted = mapping.Convert(Context(), *batch, 1).ValueOrDie();
  ASSERT_TRUE(converted->ValidateFull().ok());
  EXPECT_TRUE(converted->schema()->Equals(*Table()));
  EXPECT_TRUE(converted->column(0)->Equals(Array(arrow::int32(), "[7, 8]")));
  EXPECT_TRUE(converted->column(1)->Equals(Array(arrow::utf8(), "[null, null]")));
  EXPECT_TRUE(converted->column(2)->Equals(Array(arrow::float32(), "[0.5, null]")));
}

TEST(ColumnMappingTest, WrongColumnsAreNamed) {
  struct Case {
    arrow::FieldVector fields;
    ErrorCode code;
    std::vector<const char*> texts;
  };
  auto id = arrow::field("id", arrow::int32());
  const Case cases[] = {
      {{id, id}, ErrorCode::kInvalidArgument, {"twice", "'id'"}},
      {{id, arrow::field("Name", arrow::utf8())},
       ErrorCode::kInvalidArgument,
       {"does not have", "'Name'"}},
      {{arrow::field("name", arrow::utf8())}, ErrorCode::kInvalidArgument, {"lacks", "'id'"}},
      {{id, arrow::field("name", arrow::int64())},
       ErrorCode::kInvalidArgument,
       {"another type", "'name' is int64", "string"}},
      {{id, arrow::field("name", objects::DataLocationType())},
       ErrorCode::kUnsupported,
       {"FILE", "'name'"}},
      {{id, arrow::field("name", arrow::list(objects::DataLocationType()))},
       ErrorCode::kUnsupported,
       {"FILE", "'name'"}},
  };
  for (const Case& c : cases) {
    Status status = ColumnMapping::Make(*arrow::schema(c.fields), Table(), "the/source").status();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(CodeOf(status), c.code) << status.ToString();
    EXPECT_THAT(status.ToString(), HasSubstr("the/source"));
    for (const char* text : c.texts) EXPECT_THAT(status.ToString(), HasSubstr(text));
  }
}

// A FILE column of the table takes nothing from a source, of whatever type; left out it becomes
// NULL.
TEST(ColumnMappingTest, FileColumnsOfTheTableAreNotFilled) {
  auto table = arrow::schema(
      {arrow::field("id", arrow::int32()), arrow::field("video", objects::DataLocationType())});
  auto with =
      arrow::schema({arrow::field("id", arrow::int32()), arrow::field("video", arrow::utf8())});
  EXPECT_EQ(CodeOf(ColumnMapping::Make(*with, table, "s").status()), ErrorCode::kUnsupported);
  auto without = arrow::schema({arrow::field("id", arrow::int32())});
  ColumnMapping mapping = ColumnMapping::Make(*without, table, "s").ValueOrDie();
  auto batch = arrow::RecordBatch::Make(without, 1, {Array(arrow::int32(), "[1]")});
  auto converted = mapping.Convert(Context(), *batch, 1).ValueOrDie();
  EXPECT_TRUE(converted->column(1)->IsNull(0));
  EXPECT_TRUE(converted->ValidateFull().ok());
}

TEST(ColumnMappingTest, ValuesThatDoNotFitNameTheRow) {
  auto source = arrow::schema({arrow::field("id", arrow::int64())});
  ColumnMapping mapping = ColumnMapping::Make(*source, Table(), "the/source").ValueOrDie();
  auto big = arrow::RecordBatch::Make(source, 3, {Array(arrow::int64(), "[1, 2, 3000000000]")});
  EXPECT_THAT(mapping.Convert(Context(), *big, 101).status().ToString(),
              AllOf(HasSubstr("the/source"), HasSubstr("column 'id'"), HasSubstr("row 103")));
  auto null = arrow::RecordBatch::Make(source, 3, {Array(arrow::int64(), "[1, null, 3]")});
  EXPECT_THAT(mapping.Convert(Context(), *null, 101).status().ToString(),
              AllOf(HasSubstr("NULL"), HasSubstr("column 'id'"), HasSubstr("row 102")));
}

TEST(ColumnMappingTest, TablesAreMadeOfPlainTypes) {
  auto metadata = arrow::key_value_metadata({"PARQUET:field_id"}, {"1"});
  auto source = arrow::schema(
      {arrow::field("d", arrow::dictionary(arrow::int8(), arrow::utf8()), false, metadata),
       arrow::field("v", arrow::utf8_view()),
       arrow::field("t", arrow::timestamp(arrow::TimeUnit::NANO, "Europe/Berlin"))},
      arrow::key_value_metadata({"pandas"}, {"{}"}));
  auto schema = SchemaForSource(*source, "s").ValueOrDie();
  EXPECT_TRUE(schema->Equals(
      *arrow::schema({arrow::field("d", arrow::utf8(), false), arrow::field("v", arrow::utf8()),
                      arrow::field("t", arrow::timestamp(arrow::TimeUnit::NANO, "Europe/Berlin"))}),
      /*check_metadata=*/true));
}

TEST(ColumnMappingTest, TypesThatAreNotWrittenAreNamed) {
  for (const auto& type :
       {arrow::month_day_nano_interval(), arrow::list(arrow::month_day_nano_interval()),
        objects::DataLocationType()}) {
    Status status =
        SchemaForSource(*arrow::schema({arrow::field("odd", type)}), "the/source").status();
    ASSERT_FALSE(status.ok()) << type->ToString();
    EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported) << status.ToString();
    EXPECT_THAT(status.ToString(), AllOf(HasSubstr("the/source"), HasSubstr("odd")));
  }
}

}  // namespace
}  // namespace lake::service
