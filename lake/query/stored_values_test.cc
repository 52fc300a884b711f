#include "lake/query/stored_values.h"

#include <cmath>
#include <limits>

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/arrow_compute.h"

namespace lake::query {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<arrow::Array> Floats(const std::vector<float>& values, bool with_null = true) {
  arrow::FloatBuilder builder;
  builder.AppendValues(values).ok();
  if (with_null) builder.AppendNull().ok();
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> Strings(const std::vector<std::string>& values) {
  arrow::StringBuilder builder;
  builder.AppendValues(values).ok();
  builder.AppendNull().ok();
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Field> Bfloat16Field() {
  return arrow::field("x", arrow::fixed_size_binary(2), true,
                      arrow::key_value_metadata({"ARROW:extension:name"}, {"lance.bfloat16"}));
}

class StoredValuesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(InitializeArrowCompute().ok()); }

  /// Stores `written` in a column `stored`, and shows it again.
  static void ExpectRoundTrip(const arrow::Field& stored,
                              const std::shared_ptr<arrow::Array>& written) {
    const auto shown = ShownField("x", stored);
    ASSERT_TRUE(shown.ok()) << shown.status();
    const auto array = StoreArray("x", stored, written);
    ASSERT_TRUE(array.ok()) << stored.ToString() << ": " << array.status();
    EXPECT_TRUE((*array)->type()->Equals(stored.type())) << (*array)->type()->ToString();
    ASSERT_TRUE((*array)->ValidateFull().ok());
    const auto back = ShowArray("x", stored, **shown, *array);
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_TRUE((*back)->ValidateFull().ok());
    EXPECT_TRUE((*back)->type()->Equals((*shown)->type()));
    EXPECT_TRUE((*back)->Equals(written, arrow::EqualOptions::Defaults().nans_equal(true)))
        << (*back)->ToString();
    // A slice, as a batch in the middle of another has.
    const auto slice = ShowArray("x", stored, **shown, (*array)->Slice(1));
    ASSERT_TRUE(slice.ok()) << slice.status();
    EXPECT_TRUE(
        (*slice)->Equals(written->Slice(1), arrow::EqualOptions::Defaults().nans_equal(true)));
  }
};

TEST_F(StoredValuesTest, HalfFloatsAreFloats) {
  const auto values = Floats({0.5f, -2.0f, std::numeric_limits<float>::infinity(), std::nanf("")});
  ExpectRoundTrip(arrow::Field("x", arrow::float16()), values);
  ExpectRoundTrip(*Bfloat16Field(), values);
}

TEST_F(StoredValuesTest, AValueThatWouldBeRoundedIsRefused) {
  for (const auto& field : {arrow::field("x", arrow::float16()), Bfloat16Field()}) {
    const Status status = StoreArray("x", *field, Floats({0.1f})).status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument) << status;
    EXPECT_THAT(ErrorText(status), HasSubstr("'x'"));
  }
  const Status overflow =
      StoreArray("x", arrow::Field("x", arrow::int8()),
                 arrow::compute::Cast(*Floats({300}), arrow::int32()).ValueOrDie())
          .status();
  EXPECT_EQ(CodeOf(overflow), ErrorCode::kInvalidArgument) << overflow;
}

TEST_F(StoredValuesTest, DictionariesAreTheirValues) {
  for (const auto& index : {arrow::int8(), arrow::uint16(), arrow::int32(), arrow::int64()}) {
    ExpectRoundTrip(arrow::Field("x", arrow::dictionary(index, arrow::utf8())),
                    Strings({"b", "a", "b", ""}));
  }
}

TEST_F(StoredValuesTest, WideDecimalsOfUpTo38Digits) {
  arrow::Decimal128Builder builder(arrow::decimal128(38, 3));
  ASSERT_TRUE(builder.Append(arrow::Decimal128("-12345678901234567890123456789012345.678")).ok());
  ASSERT_TRUE(builder.AppendNull().ok());
  ExpectRoundTrip(arrow::Field("x", arrow::decimal256(38, 3)), builder.Finish().ValueOrDie());

  const Status wide = ShownField("x", arrow::Field("x", arrow::decimal256(39, 0))).status();
  EXPECT_EQ(CodeOf(wide), ErrorCode::kUnsupported);
  EXPECT_THAT(ErrorText(wide), HasSubstr("'x'"));
}

TEST_F(StoredValuesTest, UuidsAreTheirBytes) {
  const auto field = UuidField("x", true);
  const auto stored =
      StoreArray("x", *field, Strings({"123e4567-e89b-12d3-a456-426614174000"})).ValueOrDie();
  const auto& bytes = static_cast<const arrow::FixedSizeBinaryArray&>(*stored);
  EXPECT_EQ(bytes.GetView(0)[0], '\x12');
  EXPECT_EQ(bytes.GetView(0)[15], '\x00');
  EXPECT_TRUE(bytes.IsNull(1));
  EXPECT_FALSE(StoreArray("x", *field, Strings({"no uuid"})).ok());
}

TEST_F(StoredValuesTest, AtAnyDepth) {
  // list<struct<a: float16>>, large_list and map of dictionaries, an array of arrays.
  const auto floats = Floats({0.5f, 1.5f, 2.5f});
  const auto structs =
      arrow::StructArray::Make({floats}, {arrow::field("a", arrow::float32())}).ValueOrDie();
  arrow::Int32Builder offsets;
  ASSERT_TRUE(offsets.AppendValues({0, 1, 1, 4}).ok());
  const auto starts = offsets.Finish().ValueOrDie();
  const auto lists = arrow::ListArray::FromArrays(*starts, *structs).ValueOrDie();
  ExpectRoundTrip(
      arrow::Field("x", arrow::list(arrow::struct_({arrow::field("a", arrow::float16())}))), lists);

  const auto fixed = arrow::FixedSizeListArray::FromArrays(floats, 2).ValueOrDie();
  ExpectRoundTrip(arrow::Field("x", arrow::fixed_size_list(arrow::float16(), 2)), fixed);

  const auto keys = Strings({"k", "l", "m"})->Slice(0, 3);
  arrow::Int32Builder map_offsets;
  ASSERT_TRUE(map_offsets.AppendValues({0, 2, 3}).ok());
  const auto map =
      arrow::MapArray::FromArrays(map_offsets.Finish().ValueOrDie(), keys, keys).ValueOrDie();
  ExpectRoundTrip(
      arrow::Field("x", arrow::map(arrow::utf8(), arrow::dictionary(arrow::int8(), arrow::utf8()))),
      map);
}

}  // namespace
}  // namespace lake::query
