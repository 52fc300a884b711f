#include <algorithm>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/bitpacking.h"
#include "lake/format/level_encoder_internal.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;

std::vector<uint8_t> RandomLevels(size_t count, unsigned largest) {
  std::mt19937 random(17);
  std::vector<uint8_t> levels(count);
  for (uint8_t& level : levels) level = static_cast<uint8_t>(random() % (largest + 1));
  return levels;
}

// Decodes an out-of-line packed block by its definition.
std::vector<uint16_t> Unpack(const ByteBuffer& block, unsigned width, size_t count) {
  std::vector<uint16_t> levels;
  size_t at = 0;
  while (levels.size() < count) {
    const size_t rest = count - levels.size();
    if (rest < kBitpackBlock && block.size() - at == rest * 2) {
      const auto raw = block.as<uint16_t>().subspan(at / 2);
      levels.insert(levels.end(), raw.begin(), raw.end());
      return levels;
    }
    std::vector<uint16_t> values(kBitpackBlock);
    UnpackBlock(block.data() + at, width, values.data());
    at += PackedBlockBytes(width);
    levels.insert(levels.end(), values.begin(), values.begin() + std::min(rest, kBitpackBlock));
  }
  EXPECT_EQ(at, block.size());
  return levels;
}

TEST(LevelEncoderTest, PacksLevelsOfLargePages) {
  for (const unsigned largest : {1u, 2u}) {
    const std::vector<uint8_t> levels = RandomLevels(5000, largest);
    // 8 levels are smaller raw, 904 packed.
    const std::vector<uint32_t> blocks{1024, 2048, 1024, 8, 896};
    const LevelEncoder encoder(levels, blocks, /*runs_allowed=*/true);
    pb::CompressiveEncoding encoding;
    encoder.Describe(&encoding);
    ASSERT_TRUE(encoding.has_out_of_line_bitpacking()) << encoding.DebugString();
    EXPECT_EQ(encoding.out_of_line_bitpacking().uncompressed_bits_per_value(), 16);
    EXPECT_EQ(encoding.out_of_line_bitpacking().values().flat().bits_per_value(), largest);
    size_t start = 0;
    for (const uint32_t length : blocks) {
      ByteBuffer block;
      encoder.AppendBlock(start, length, &block);
      const std::vector<uint16_t> unpacked = Unpack(block, largest, length);
      EXPECT_TRUE(std::equal(unpacked.begin(), unpacked.end(), levels.begin() + start,
                             levels.begin() + start + length));
      start += length;
    }
  }
}

TEST(LevelEncoderTest, RunsAreASizeThenValuesThenLengths) {
  // The published example of a chunk of 1024 nulls: 8 + 10 + 5 bytes.
  const std::vector<uint8_t> levels(4096, 1);
  const std::vector<uint32_t> blocks(4, 1024);
  const LevelEncoder encoder(levels, blocks, /*runs_allowed=*/true);
  pb::CompressiveEncoding encoding;
  encoder.Describe(&encoding);
  ASSERT_TRUE(encoding.has_rle());
  EXPECT_EQ(encoding.rle().values().flat().bits_per_value(), 16);
  EXPECT_EQ(encoding.rle().run_lengths().flat().bits_per_value(), 8);
  ByteBuffer block;
  encoder.AppendBlock(1024, 1024, &block);
  EXPECT_THAT(block.as<uint8_t>(), ElementsAre(10, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1,
                                               0, 255, 255, 255, 255, 4));
}

TEST(LevelEncoderTest, SmallPagesAreOneInlineBlock) {
  const std::vector<uint8_t> levels = RandomLevels(1000, 1);
  const std::vector<uint32_t> blocks{1000};
  const LevelEncoder encoder(levels, blocks, /*runs_allowed=*/true);
  pb::CompressiveEncoding encoding;
  encoder.Describe(&encoding);
  ASSERT_TRUE(encoding.has_inline_bitpacking());
  ByteBuffer block;
  encoder.AppendBlock(0, 1000, &block);
  ASSERT_EQ(block.size(), 2 + PackedBlockBytes(1));
  EXPECT_EQ(block.as<uint16_t>()[0], 1);
}

TEST(LevelEncoderTest, OneLevelIsFlat) {
  const std::vector<uint8_t> levels{1};
  const std::vector<uint32_t> blocks{1};
  const LevelEncoder encoder(levels, blocks, /*runs_allowed=*/true);
  pb::CompressiveEncoding encoding;
  encoder.Describe(&encoding);
  EXPECT_EQ(encoding.flat().bits_per_value(), 16);
  ByteBuffer block;
  encoder.AppendBlock(0, 1, &block);
  EXPECT_THAT(block.as<uint16_t>(), ElementsAre(1));
}

TEST(LevelEncoderTest, RunsAreForVersion22) {
  const std::vector<uint8_t> levels(4096, 1);
  const std::vector<uint32_t> blocks(4, 1024);
  const LevelEncoder encoder(levels, blocks, /*runs_allowed=*/false);
  pb::CompressiveEncoding encoding;
  encoder.Describe(&encoding);
  EXPECT_TRUE(encoding.has_out_of_line_bitpacking());
}

constexpr auto kItemLayer = LevelShape::Layer::kItem;
constexpr auto kListLayer = LevelShape::Layer::kList;
constexpr auto kItem = pb::ALL_VALID_ITEM;
constexpr auto kNullable = pb::NULLABLE_ITEM;

struct LayerCase {
  const char* name;
  // Around the leaf, from the innermost.
  std::vector<LevelShape::Layer> outer;
  std::vector<uint8_t> codes;
  std::vector<pb::RepDefLayer> layers;
  std::vector<uint8_t> levels;
  unsigned width;
};

TEST(PageLevelsTest, LevelsAreCountedFromTheLeaf) {
  const std::vector<LayerCase> cases{
      {"all valid", {}, {}, {kItem}, {}, 0},
      {"valid states", {}, {0, 0}, {kItem}, {}, 0},
      {"null", {}, {0, 1}, {kNullable}, {0, 1}, 1},
      {"valid in a struct", {kItemLayer}, {}, {kItem, kItem}, {}, 0},
      {"null in a struct", {kItemLayer}, {1, 0}, {kNullable, kItem}, {1, 0}, 1},
      {"null struct", {kItemLayer}, {2, 0}, {kItem, kNullable}, {1, 0}, 1},
      {"both", {kItemLayer}, {2, 1, 0}, {kNullable, kNullable}, {2, 1, 0}, 2},
      {"no value at all", {kItemLayer}, {2, 2}, {kNullable, kNullable}, {2, 2}, 2},
  };
  for (const LayerCase& test : cases) {
    SCOPED_TRACE(test.name);
    PageData page;
    page.num_rows = page.num_values = test.codes.empty() ? 2 : test.codes.size();
    page.states.Append(test.codes.data(), test.codes.size());
    page.num_null = test.codes.size() - std::count(test.codes.begin(), test.codes.end(), 0);
    const PageLevels levels = PageLevels::Make(&page, LevelShape(test.outer));
    EXPECT_EQ(levels.layers, test.layers);
    EXPECT_EQ(std::vector<uint8_t>(levels.definitions.begin(), levels.definitions.end()),
              test.levels);
    EXPECT_EQ(levels.definition_width, test.width);
  }
}

TEST(PageLevelsTest, ListsTakeLevelsForWhatOccurs) {
  // Codes of a struct around a list around a leaf: leaf null 1, list null 2, empty 3, struct
  // null 4.
  const std::vector<LevelShape::Layer> outer{kListLayer, kItemLayer};
  const std::vector<LayerCase> cases{
      {"values", outer, {0, 0}, {kItem, pb::ALL_VALID_LIST, kItem}, {}, 0},
      {"null item", outer, {0, 1}, {kNullable, pb::ALL_VALID_LIST, kItem}, {0, 1}, 1},
      {"null list", outer, {0, 2}, {kItem, pb::NULLABLE_LIST, kItem}, {0, 1}, 1},
      {"empty list", outer, {3, 0}, {kItem, pb::EMPTYABLE_LIST, kItem}, {1, 0}, 1},
      {"both", outer, {3, 0, 2}, {kItem, pb::NULL_AND_EMPTY_LIST, kItem}, {2, 0, 1}, 2},
      {"null struct", outer, {4, 0}, {kItem, pb::NULLABLE_LIST, kNullable}, {2, 0}, 2},
      {"nothing", outer, {2, 2}, {kItem, pb::NULLABLE_LIST, kItem}, {1, 1}, 1},
      {"all",
       outer,
       {0, 1, 2, 3, 4},
       {kNullable, pb::NULL_AND_EMPTY_LIST, kNullable},
       {0, 1, 2, 3, 4},
       3},
  };
  for (const LayerCase& test : cases) {
    SCOPED_TRACE(test.name);
    PageData page;
    page.num_rows = test.codes.size();
    for (const uint8_t code : test.codes) {
      page.repetitions.AppendValue<uint8_t>(1);
      page.codes.AppendValue(code);
      if (code > 1) continue;
      page.states.AppendValue(code);
      page.num_null += code;
      ++page.num_values;
    }
    const PageLevels levels = PageLevels::Make(&page, LevelShape(test.outer));
    EXPECT_EQ(levels.layers, test.layers);
    EXPECT_EQ(std::vector<uint8_t>(levels.definitions.begin(), levels.definitions.end()),
              test.levels);
    EXPECT_EQ(levels.definition_width, test.width);
    EXPECT_EQ(levels.repetition_width, 1);
    EXPECT_EQ(levels.new_row, 1);
    EXPECT_EQ(levels.has_specials(), page.num_values != test.codes.size());
  }
}

}  // namespace
}  // namespace lake::format
