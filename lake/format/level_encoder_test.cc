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
    const LevelEncoder encoder(levels, blocks);
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
  const LevelEncoder encoder(levels, blocks);
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
  const LevelEncoder encoder(levels, blocks);
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
  const LevelEncoder encoder(levels, blocks);
  pb::CompressiveEncoding encoding;
  encoder.Describe(&encoding);
  EXPECT_EQ(encoding.flat().bits_per_value(), 16);
  ByteBuffer block;
  encoder.AppendBlock(0, 1, &block);
  EXPECT_THAT(block.as<uint16_t>(), ElementsAre(1));
}

struct LayerCase {
  const char* name;
  std::vector<uint8_t> states;
  bool in_struct;
  std::vector<pb::RepDefLayer> layers;
  std::vector<uint8_t> levels;
  unsigned width;
};

TEST(PageLevelsTest, LevelsAreCountedFromTheLeaf) {
  constexpr auto kItem = pb::ALL_VALID_ITEM;
  constexpr auto kNullable = pb::NULLABLE_ITEM;
  const std::vector<LayerCase> cases{
      {"all valid", {}, false, {kItem}, {}, 0},
      {"valid states", {0, 0}, false, {kItem}, {}, 0},
      {"null", {0, 1}, false, {kNullable}, {0, 1}, 1},
      {"valid in a struct", {}, true, {kItem, kItem}, {}, 0},
      {"null in a struct", {1, 0}, true, {kNullable, kItem}, {1, 0}, 1},
      {"null struct", {2, 0}, true, {kItem, kNullable}, {1, 0}, 1},
      {"both", {2, 1, 0}, true, {kNullable, kNullable}, {2, 1, 0}, 2},
      {"no value at all", {2, 2}, true, {kNullable, kNullable}, {2, 2}, 2},
  };
  for (const LayerCase& test : cases) {
    SCOPED_TRACE(test.name);
    PageData page;
    page.num_rows = test.states.empty() ? 2 : test.states.size();
    page.states.Append(test.states.data(), test.states.size());
    page.num_null = std::count(test.states.begin(), test.states.end(), PageData::kNull);
    page.num_struct_null =
        std::count(test.states.begin(), test.states.end(), PageData::kStructNull);
    const PageLevels levels = PageLevels::Make(&page, test.in_struct);
    EXPECT_EQ(levels.layers, test.layers);
    EXPECT_EQ(std::vector<uint8_t>(levels.levels.begin(), levels.levels.end()), test.levels);
    EXPECT_EQ(levels.width, test.width);
  }
}

}  // namespace
}  // namespace lake::format
