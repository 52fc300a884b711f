#include "lake/commit/row_shape.h"

#include <memory>
#include <optional>
#include <string>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/commit/testing/status_matchers.h"
#include "lake/commit/testing/test_lakehouse.h"

namespace lake::commit {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<arrow::Array> Nullable(std::optional<int64_t> value) {
  arrow::Int64Builder builder;
  EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  return builder.Finish().ValueOrDie();
}

TEST(RowShapeTest, FittingRowsPass) {
  auto rows = Numbers({1, 2});
  EXPECT_TRUE((*ConformRows(*rows, NumbersSchema()))->Equals(*rows));
}

TEST(RowShapeTest, WhatDoesNotFitIsNamed) {
  struct Case {
    std::shared_ptr<arrow::Schema> table;
    const char* reason;
  };
  const Case cases[] = {
      {arrow::schema({}), "1 columns"},
      {arrow::schema({arrow::field("y", arrow::int64())}), "'y'"},
      {arrow::schema({arrow::field("x", arrow::int32())}), "int32"},
      {arrow::schema({arrow::field("x", arrow::struct_({arrow::field("a", arrow::int64())}))}),
       "struct"},
  };
  for (const Case& c : cases) {
    Status status = ConformRows(*Numbers({1}), c.table).status();
    EXPECT_CODE(ErrorCode::kInvalidArgument, status);
    EXPECT_THAT(status.message(), HasSubstr(c.reason));
  }
}

TEST(RowShapeTest, NullsWhereNoneMayBeAreRefused) {
  auto schema = arrow::schema({arrow::field("x", arrow::int64(), /*nullable=*/false)});
  ASSERT_OK(ConformRows(*Numbers({1}), schema));
  auto rows = arrow::RecordBatch::Make(NumbersSchema(), 1, {Nullable({})});
  Status status = ConformRows(*rows, schema).status();
  EXPECT_CODE(ErrorCode::kInvalidArgument, status);
  EXPECT_THAT(status.message(), HasSubstr("'x'"));
}

TEST(RowShapeTest, NullabilityInsideAStructComesFromTheTable) {
  auto loose = arrow::struct_({arrow::field("a", arrow::int64())});
  auto strict = arrow::struct_({arrow::field("a", arrow::int64(), /*nullable=*/false)});
  auto table = arrow::schema({arrow::field("s", strict)});
  auto row = [&](std::optional<int64_t> value, bool valid) {
    auto validity = arrow::Buffer::FromString(std::string(1, valid ? '\1' : '\0'));
    auto column = std::make_shared<arrow::StructArray>(
        loose, 1, arrow::ArrayVector{Nullable(value)}, validity);
    return arrow::RecordBatch::Make(arrow::schema({arrow::field("s", loose)}), 1, {column});
  };
  auto conformed = ConformRows(*row(5, true), table).ValueOrDie();
  EXPECT_TRUE(conformed->column(0)->type()->Equals(*strict));
  ASSERT_OK(conformed->ValidateFull());
  // Below a null struct the child does not count.
  ASSERT_OK(ConformRows(*row({}, false), table));
  Status status = ConformRows(*row({}, true), table).status();
  EXPECT_CODE(ErrorCode::kInvalidArgument, status);
  EXPECT_THAT(status.message(), HasSubstr("'s.a'"));
}

TEST(RowShapeTest, ASlicedStructKeepsItsRows) {
  auto loose = arrow::struct_({arrow::field("a", arrow::int64())});
  auto strict = arrow::struct_({arrow::field("a", arrow::int64(), /*nullable=*/false)});
  auto column = std::make_shared<arrow::StructArray>(
      loose, 3, arrow::ArrayVector{Numbers({1, 2, 3})->column(0)});
  auto rows = arrow::RecordBatch::Make(arrow::schema({arrow::field("s", loose)}), 3, {column});
  auto conformed =
      ConformRows(*rows->Slice(1, 1), arrow::schema({arrow::field("s", strict)})).ValueOrDie();
  ASSERT_OK(conformed->ValidateFull());
  const auto& result = static_cast<const arrow::StructArray&>(*conformed->column(0));
  EXPECT_EQ(static_cast<const arrow::Int64Array&>(*result.field(0)).Value(0), 2);
}

}  // namespace
}  // namespace lake::commit
