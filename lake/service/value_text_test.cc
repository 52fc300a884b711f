#include "lake/service/value_text.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

namespace lake::service {
namespace {

struct Case {
  std::shared_ptr<arrow::DataType> type;
  std::string json;
  std::string text;
  std::string as_json;
};

std::vector<Case> Cases() {
  auto file = arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())});
  return {
      {arrow::boolean(), "[true]", "true", "true"},
      {arrow::int8(), "[-5]", "-5", "-5"},
      {arrow::uint64(), "[18446744073709551615]", "18446744073709551615", "18446744073709551615"},
      {arrow::float32(), "[0.1]", "0.1", "0.1"},
      {arrow::float64(), "[3.0]", "3.0", "3.0"},
      {arrow::decimal128(38, 2), "[\"12345678901234567890.10\"]", "12345678901234567890.10",
       "12345678901234567890.10"},
      {arrow::utf8(), "[\"say \\\"hi\\\"\\u0001\"]", "say \"hi\"\x01", "\"say \\\"hi\\\"\\u0001\""},
      {arrow::binary(), "[\"ab\"]", "\\x6162", "\"YWI=\""},
      {arrow::fixed_size_binary(2), "[\"ab\"]", "\\x6162", "\"YWI=\""},
      {arrow::date32(), "[19844]", "2024-05-01", "\"2024-05-01\""},
      {arrow::time64(arrow::TimeUnit::NANO), "[1]", "00:00:00.000000001", "\"00:00:00.000000001\""},
      {arrow::timestamp(arrow::TimeUnit::MICRO), "[1714564800500000]", "2024-05-01 12:00:00.500000",
       "\"2024-05-01 12:00:00.500000\""},
      {arrow::timestamp(arrow::TimeUnit::SECOND, "Europe/Berlin"), "[0]", "1970-01-01 00:00:00Z",
       "\"1970-01-01 00:00:00Z\""},
      {arrow::duration(arrow::TimeUnit::NANO), "[7]", "7 ns", "\"7 ns\""},
      {arrow::fixed_size_list(arrow::float32(), 2), "[[1, 2.5]]", "[1.0, 2.5]", "[1.0,2.5]"},
      {arrow::list(arrow::int32()), "[[1, null]]", "[1, NULL]", "[1,null]"},
      {file, "[{\"a\": 1, \"b\": \"x\"}]", "{a: 1, b: x}", "{\"a\":1,\"b\":\"x\"}"},
  };
}

TEST(ValueTextTest, EveryTypeHasOneTextAndOneJsonForm) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(c.type->ToString());
    auto array = arrow::json::ArrayFromJSONString(c.type, c.json);
    ASSERT_TRUE(array.ok()) << array.status();
    std::string text;
    AppendValueText(**array, 0, &text);
    EXPECT_EQ(text, c.text);
    std::string json;
    AppendValueJson(**array, 0, &json);
    EXPECT_EQ(json, c.as_json);
  }
}

TEST(ValueTextTest, SlicedNestedArraysShowTheirOwnRows) {
  auto type = arrow::struct_({arrow::field("v", arrow::fixed_size_list(arrow::int32(), 2))});
  auto array = *arrow::json::ArrayFromJSONString(type, R"([{"v":[1,2]},{"v":[3,4]}])");
  std::string text;
  AppendValueText(*array->Slice(1), 0, &text);
  EXPECT_EQ(text, "{v: [3, 4]}");
}

TEST(ValueTextTest, NotANumberIsTextInJson) {
  arrow::DoubleBuilder builder;
  ASSERT_TRUE(builder.Append(std::nan("")).ok());
  auto array = *builder.Finish();
  std::string json;
  AppendValueJson(*array, 0, &json);
  EXPECT_EQ(json, "\"NaN\"");
}

}  // namespace
}  // namespace lake::service
