#include "lake/format/run_length.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::format {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

struct RunCase {
  const char* name;
  std::vector<uint16_t> values;
  std::vector<uint16_t> piece_values;
  std::vector<uint8_t> piece_lengths;
};

TEST(RunLengthTest, PiecesAreAtMost255Long) {
  const std::vector<RunCase> cases{
      {"nothing", {}, {}, {}},
      {"one value", {7}, {7}, {1}},
      {"no runs", {1, 2, 1}, {1, 2, 1}, {1, 1, 1}},
      {"runs", {5, 5, 5, 9, 9}, {5, 9}, {3, 2}},
      {"longest run", std::vector<uint16_t>(255, 3), {3}, {255}},
      {"one longer", std::vector<uint16_t>(256, 3), {3, 3}, {255, 1}},
      {"twice the longest", std::vector<uint16_t>(510, 3), {3, 3}, {255, 255}},
  };
  for (const RunCase& test : cases) {
    SCOPED_TRACE(test.name);
    ByteBuffer values;
    ByteBuffer lengths;
    EncodeRuns<uint16_t>(test.values.data(), test.values.size(), &values, &lengths);
    EXPECT_THAT(values.as<uint16_t>(), ElementsAreArray(test.piece_values));
    EXPECT_THAT(lengths.as<uint8_t>(), ElementsAreArray(test.piece_lengths));
    EXPECT_EQ(CountRunPieces(test.values.data(), test.values.size()), test.piece_values.size());
  }
}

TEST(RunLengthTest, ValuesAreWrittenInTheStoredWidth) {
  const std::vector<uint8_t> levels{1, 1, 0};
  ByteBuffer values;
  ByteBuffer lengths;
  EncodeRuns<uint16_t>(levels.data(), levels.size(), &values, &lengths);
  EXPECT_THAT(values.as<uint8_t>(), ElementsAre(1, 0, 0, 0));
}

}  // namespace
}  // namespace lake::format
