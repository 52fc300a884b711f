#include "lake/table/merge_keys.h"

#include <map>
#include <optional>
#include <random>

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

namespace lake::table {
namespace {

std::shared_ptr<arrow::Array> Numbers(const std::vector<std::optional<int64_t>>& values) {
  arrow::Int64Builder builder;
  for (const auto& value : values) {
    EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  }
  return builder.Finish().ValueOrDie();
}

std::shared_ptr<arrow::Array> Strings(const std::vector<std::string>& values) {
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  return builder.Finish().ValueOrDie();
}

MergeKeys Keys(const std::vector<std::shared_ptr<arrow::Array>>& columns) {
  return MergeKeys::Of(columns).ValueOrDie();
}

TEST(MergeKeysTest, FindsNumbersAndSaysWhichOccurTwice) {
  const MergeTable table(Keys({Numbers({5, 7, std::nullopt, 5, -1})}));
  // Also where a batch is a slice of another.
  const MergeKeys probe = Keys({Numbers({99, 7, 5, std::nullopt, 8, -1})->Slice(1)});
  EXPECT_EQ(table.Find(probe, 0), 1u);
  EXPECT_EQ(table.Find(probe, 1), 3u);
  EXPECT_EQ(table.Find(probe, 2), MergeTable::kNone) << "a null equals nothing";
  EXPECT_EQ(table.Find(probe, 3), MergeTable::kNone);
  EXPECT_EQ(table.Find(probe, 4), 4u);
  EXPECT_TRUE(table.IsAmbiguous(0));
  EXPECT_TRUE(table.IsAmbiguous(3));
  EXPECT_FALSE(table.IsAmbiguous(1));
  std::vector<uint8_t> marks = {0, 0, 0, 1, 0};
  table.SpreadMarks(&marks);
  EXPECT_EQ(marks, (std::vector<uint8_t>{1, 0, 0, 1, 0}));
}

TEST(MergeKeysTest, PartsOfAKeyDoNotRunTogether) {
  const MergeTable table(Keys({Strings({"ab", "a"}), Strings({"c", "bc"})}));
  EXPECT_EQ(table.Find(Keys({Strings({"a"}), Strings({"bc"})}), 0), 1u);
  EXPECT_EQ(table.Find(Keys({Strings({"ab"}), Strings({"c"})}), 0), 0u);
  EXPECT_EQ(table.Find(Keys({Strings({"abc"}), Strings({""})}), 0), MergeTable::kNone);
  EXPECT_FALSE(table.IsAmbiguous(0));
}

TEST(MergeKeysTest, ZeroHasOneSign) {
  arrow::DoubleBuilder builder;
  ASSERT_TRUE(builder.AppendValues({0.0, 1.5}).ok());
  const MergeTable table(Keys({builder.Finish().ValueOrDie()}));
  ASSERT_TRUE(builder.AppendValues({-0.0}).ok());
  EXPECT_EQ(table.Find(Keys({builder.Finish().ValueOrDie()}), 0), 0u);
}

TEST(MergeKeysTest, SmallNumbersAndTextInOneKey) {
  arrow::Int8Builder small;
  ASSERT_TRUE(small.AppendValues({1, -1}).ok());
  auto numbers = small.Finish().ValueOrDie();
  const MergeTable alone(Keys({numbers}));
  EXPECT_EQ(alone.Find(Keys({numbers}), 1), 1u);
  arrow::BooleanBuilder bits;
  ASSERT_TRUE(bits.AppendValues(std::vector<bool>{true, false}).ok());
  auto flags = bits.Finish().ValueOrDie();
  const MergeTable both(Keys({numbers, flags}));
  EXPECT_EQ(both.Find(Keys({numbers, flags}), 0), 0u);
}

TEST(MergeKeysTest, BytesOfEachWidthAreTold) {
  for (int width = 1; width <= 17; ++width) {
    SCOPED_TRACE(width);
    arrow::FixedSizeBinaryBuilder builder(arrow::fixed_size_binary(width));
    for (const char last : {'a', 'b', 'c'}) {
      ASSERT_TRUE(builder.Append(std::string(width - 1, 'x') + last).ok());
    }
    const auto values = builder.Finish().ValueOrDie();
    const MergeTable table(Keys({values->Slice(0, 2)}));
    const MergeKeys probe = Keys({values->Slice(1)});
    EXPECT_EQ(table.Find(probe, 0), 1u);
    EXPECT_EQ(table.Find(probe, 1), MergeTable::kNone);
  }
}

TEST(MergeKeysTest, TypesThatCannotBeKeysAreRefusedByName) {
  EXPECT_TRUE(MergeKeys::CheckType(*arrow::timestamp(arrow::TimeUnit::MICRO), "t").ok());
  EXPECT_TRUE(MergeKeys::CheckType(*arrow::large_binary(), "b").ok());
  for (const auto& type : {arrow::list(arrow::int8()), arrow::struct_({}), arrow::null()}) {
    Status refused = MergeKeys::CheckType(*type, "column");
    EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported);
    EXPECT_NE(refused.message().find("column"), std::string::npos);
  }
}

TEST(MergeKeysTest, RandomKeysAreFoundAsInAMap) {
  constexpr uint64_t kSeed = 3;
  SCOPED_TRACE(kSeed);
  std::mt19937 engine(kSeed);
  for (int i = 0; i < 50; ++i) {
    std::vector<std::string> values;
    std::map<std::string, uint32_t> last;
    const uint32_t rows = engine() % 500;
    for (uint32_t row = 0; row < rows; ++row) {
      values.push_back(std::string(engine() % 3, 'x') + std::to_string(engine() % 300));
      last[values.back()] = row;
    }
    const MergeTable table(Keys({Strings(values)}));
    for (int n = 0; n < 310; ++n) {
      const std::string wanted = std::to_string(n);
      auto found = last.find(wanted);
      EXPECT_EQ(table.Find(Keys({Strings({wanted})}), 0),
                found == last.end() ? MergeTable::kNone : found->second);
    }
  }
}

}  // namespace
}  // namespace lake::table
