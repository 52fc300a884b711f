#include "lake/service/exact_cast.h"

#include <limits>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::service {
namespace {

std::shared_ptr<arrow::Array> Array(const std::shared_ptr<arrow::DataType>& type,
                                    const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

auto Seconds() { return arrow::timestamp(arrow::TimeUnit::SECOND); }
auto Micros(const std::string& zone = "") { return arrow::timestamp(arrow::TimeUnit::MICRO, zone); }
auto Nanos(const std::string& zone = "") { return arrow::timestamp(arrow::TimeUnit::NANO, zone); }

struct Case {
  std::shared_ptr<arrow::DataType> from;
  std::shared_ptr<arrow::DataType> to;
  const char* values;
  const char* expected;
};

TEST(ExactCastTest, ValuesThatKeepTheirMeaningAreConverted) {
  const Case cases[] = {
      {arrow::int64(), arrow::int32(), "[1, null, -2147483648]", "[1, null, -2147483648]"},
      {arrow::int32(), arrow::uint8(), "[0, 255]", "[0, 255]"},
      {arrow::int64(), arrow::float64(), "[9007199254740992]", "[9007199254740992]"},
      {arrow::int64(), arrow::decimal128(10, 2), "[12345678, null]", "[\"12345678.00\", null]"},
      {arrow::float64(), arrow::float32(), "[0.5, null, -0.0]", "[0.5, null, -0.0]"},
      {arrow::float64(), arrow::int64(), "[3, null]", "[3, null]"},
      {arrow::decimal128(10, 4), arrow::decimal128(6, 2), "[\"1.2300\"]", "[\"1.23\"]"},
      {arrow::utf8(), arrow::large_utf8(), "[\"a\", null]", "[\"a\", null]"},
      {arrow::utf8_view(), arrow::utf8(), "[\"a\", null]", "[\"a\", null]"},
      {arrow::binary(), arrow::large_binary(), "[\"a\"]", "[\"a\"]"},
      {arrow::date64(), arrow::date32(), "[86400000]", "[1]"},
      {arrow::time32(arrow::TimeUnit::SECOND), arrow::time64(arrow::TimeUnit::MICRO), "[1]",
       "[1000000]"},
      {Seconds(), Micros(), "[1]", "[1000000]"},
      {Nanos(), Micros(), "[1000]", "[1]"},
      {Nanos("Europe/Berlin"), Micros("UTC"), "[1000]", "[1]"},
      {arrow::list(arrow::float32()), arrow::fixed_size_list(arrow::float32(), 2),
       "[[1, 2], null, [3, 4]]", "[[1, 2], null, [3, 4]]"},
      {arrow::list(arrow::float64()), arrow::fixed_size_list(arrow::float32(), 2), "[[0.5, 2]]",
       "[[0.5, 2]]"},
      {arrow::dictionary(arrow::int8(), arrow::utf8()), arrow::utf8(), "[\"a\", null, \"a\"]",
       "[\"a\", null, \"a\"]"},
      {arrow::null(), arrow::fixed_size_list(arrow::float32(), 2), "[null, null]", "[null, null]"},
  };
  Context context;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.from->ToString() + " -> " + c.to->ToString());
    ASSERT_TRUE(MayCastExactly(*c.from, *c.to));
    InexactRow failed;
    auto cast = ExactCast(context, Array(c.from, c.values), c.to, &failed);
    ASSERT_TRUE(cast.ok()) << cast.status().ToString();
    EXPECT_TRUE((*cast)->Equals(Array(c.to, c.expected))) << (*cast)->ToString();
  }
}

struct Inexact {
  std::shared_ptr<arrow::DataType> from;
  std::shared_ptr<arrow::DataType> to;
  const char* values;
  int64_t row;
};

TEST(ExactCastTest, TheFirstRowThatWouldChangeIsNamed) {
  const Inexact cases[] = {
      {arrow::int64(), arrow::int32(), "[1, 2, 2147483648, 4, 2147483648]", 2},
      {arrow::int64(), arrow::uint64(), "[-1]", 0},
      {arrow::int64(), arrow::float64(), "[1, 9007199254740993]", 1},
      {arrow::int64(), arrow::decimal128(4, 2), "[1, 2, 3, 100]", 3},
      {arrow::float64(), arrow::float32(), "[0.5, 0.1]", 1},
      {arrow::float64(), arrow::float32(), "[0.5, null, 0.25, 1e300]", 3},
      {arrow::float64(), arrow::int64(), "[1, 1.5]", 1},
      {arrow::decimal128(10, 4), arrow::decimal128(10, 2), "[\"1.2300\", \"1.2345\"]", 1},
      {arrow::date64(), arrow::date32(), "[0, 1]", 1},
      {arrow::time64(arrow::TimeUnit::NANO), arrow::time64(arrow::TimeUnit::MICRO), "[0, 1]", 1},
      {Nanos(), Micros(), "[1000, 1001]", 1},
      {Seconds(), Nanos(), "[1, 10000000000]", 1},
      {arrow::list(arrow::float32()), arrow::fixed_size_list(arrow::float32(), 2),
       "[[1, 2], null, [3]]", 2},
      {arrow::list(arrow::float64()), arrow::fixed_size_list(arrow::float32(), 2),
       "[[1, 2], [3, 0.1]]", 1},
  };
  Context context;
  for (const Inexact& c : cases) {
    SCOPED_TRACE(c.from->ToString() + " -> " + c.to->ToString());
    ASSERT_TRUE(MayCastExactly(*c.from, *c.to));
    InexactRow failed{.row = -1, .reason = Status::OK()};
    auto cast = ExactCast(context, Array(c.from, c.values), c.to, &failed);
    ASSERT_FALSE(cast.ok()) << (*cast)->ToString();
    EXPECT_EQ(failed.row, c.row);
    EXPECT_FALSE(failed.reason.ok());
  }
}

TEST(ExactCastTest, NanStaysNan) {
  arrow::DoubleBuilder builder;
  ASSERT_TRUE(builder
                  .AppendValues({std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity()})
                  .ok());
  InexactRow failed;
  EXPECT_TRUE(ExactCast(Context(), builder.Finish().ValueOrDie(), arrow::float32(), &failed).ok());
}

TEST(ExactCastTest, OtherFamiliesAreNotConverted) {
  const std::pair<std::shared_ptr<arrow::DataType>, std::shared_ptr<arrow::DataType>> cases[] = {
      {arrow::utf8(), arrow::int64()},
      {arrow::int64(), arrow::utf8()},
      {arrow::utf8(), arrow::binary()},
      {arrow::binary(), arrow::utf8()},
      {arrow::int64(), arrow::boolean()},
      {arrow::boolean(), arrow::int8()},
      {arrow::int64(), Micros()},
      {Micros(), arrow::int64()},
      {Micros(), Micros("UTC")},
      {Micros("UTC"), Micros()},
      {arrow::date32(), Micros()},
      {arrow::float64(), arrow::decimal128(10, 2)},
      {arrow::decimal128(10, 0), arrow::int64()},
      {arrow::fixed_size_list(arrow::float32(), 3), arrow::fixed_size_list(arrow::float32(), 2)},
      {arrow::list(arrow::utf8()), arrow::fixed_size_list(arrow::float32(), 2)},
      {arrow::struct_({arrow::field("a", arrow::int32())}), arrow::int32()},
  };
  for (const auto& [from, to] : cases) {
    EXPECT_FALSE(MayCastExactly(*from, *to)) << from->ToString() << " -> " << to->ToString();
  }
}

}  // namespace
}  // namespace lake::service
