#include "lake/table/column_parts.h"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

namespace lake::table {
namespace {

using format::Field;

Field Leaf(const std::string& name, int32_t id, const std::string& type) {
  Field field;
  field.name = name;
  field.id = id;
  field.logical_type = type;
  return field;
}

// struct<a, inner: struct<b, c>>
Field Point() {
  Field inner = Leaf("inner", 2, "struct");
  inner.children = {Leaf("b", 3, "int32"), Leaf("c", 4, "string")};
  Field point = Leaf("point", 0, "struct");
  point.children = {Leaf("a", 1, "int32"), inner};
  return point;
}

std::shared_ptr<arrow::Array> Rows(const std::string& json) {
  const auto inner =
      arrow::struct_({arrow::field("b", arrow::int32()), arrow::field("c", arrow::utf8())});
  const auto type =
      arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("inner", inner)});
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

TEST(ColumnPartsTest, EachFieldComesFromTheFileThatHoldsIt) {
  const auto first = Rows(R"([{"a": 1, "inner": {"b": 2}}, null, {"a": 3, "inner": null}])");
  const auto second =
      Rows(R"([{"inner": {"c": "x"}}, {"inner": {"c": "lost"}}, {"inner": {"c": "lost"}}])");
  const auto expected =
      Rows(R"([{"a": 1, "inner": {"b": 2, "c": "x"}}, null, {"a": 3, "inner": null}])");
  // From 2.1 on only the leaves have columns, in 2.0 the structs as well.
  for (const auto& [version, a, b] :
       {std::tuple{format::kFileVersion22, std::vector{0, 1, -1}, std::vector{-1, -1, 0}},
        std::tuple{format::kFileVersion20, std::vector{0, 1, 2, 3, -1},
                   std::vector{0, -1, 1, -1, 2}}}) {
    const auto joined = JoinParts(Point(), {{first, a, version}, {second, b, version}},
                                  arrow::default_memory_pool());
    ASSERT_TRUE(joined.ok()) << joined.status();
    ASSERT_TRUE((*joined)->ValidateFull().ok());
    EXPECT_TRUE((*joined)->Equals(*expected)) << (*joined)->ToString();
  }
}

TEST(ColumnPartsTest, PartsMayBeSlices) {
  const auto first =
      Rows(R"([null, {"a": 1, "inner": {"b": 2}}, null, {"a": 3, "inner": null}])")->Slice(1);
  const auto second =
      Rows(R"([{}, {}, {"inner": {"c": "x"}}, {"inner": {"c": "y"}}, {"inner": {"c": "z"}}])")
          ->Slice(2);
  const auto joined = JoinParts(
      Point(),
      {{first, {0, 1, -1}, format::kFileVersion22}, {second, {-1, -1, 0}, format::kFileVersion22}},
      arrow::default_memory_pool());
  ASSERT_TRUE(joined.ok()) << joined.status();
  ASSERT_TRUE((*joined)->ValidateFull().ok());
  EXPECT_TRUE((*joined)->Equals(
      *Rows(R"([{"a": 1, "inner": {"b": 2, "c": "x"}}, null, {"a": 3, "inner": null}])")))
      << (*joined)->ToString();
}

TEST(ColumnPartsTest, OnePartIsTheColumn) {
  const auto rows = Rows(R"([{"a": 1}])");
  const auto joined = JoinParts(
      Point(),
      {{rows, {-1, -1, -1}, format::kFileVersion22}, {rows, {3, -1, -1}, format::kFileVersion22}},
      arrow::default_memory_pool());
  EXPECT_EQ(joined.ValueOrDie(), rows);
}

TEST(ColumnPartsTest, ItemsOfOneListInSeveralFilesAreRefusedByName) {
  Field list = Leaf("points", 9, "list.struct");
  list.children = {Point()};
  const auto rows =
      arrow::json::ArrayFromJSONString(arrow::list(Rows("[]")->type()), R"([[{"a": 1}]])")
          .ValueOrDie();
  const auto joined = JoinParts(
      list,
      {{rows, {0, -1, -1}, format::kFileVersion22}, {rows, {-1, 0, -1}, format::kFileVersion22}},
      arrow::default_memory_pool());
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(CodeOf(joined.status()), ErrorCode::kUnsupported);
  EXPECT_NE(ErrorText(joined.status()).find("points"), std::string::npos);
}

}  // namespace
}  // namespace lake::table
