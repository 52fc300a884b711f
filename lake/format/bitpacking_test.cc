#include "lake/format/bitpacking.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace lake::format {
namespace {

// The definition, one bit at a time: lane l of 1024 / B holds the rows index(r, l); its values
// follow each other from the lowest bit up through words k * lanes + l.
template <typename T>
std::vector<T> UnpackByDefinition(const std::vector<uint8_t>& packed, unsigned width) {
  constexpr unsigned kOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};
  constexpr unsigned kTypeBits = 8 * sizeof(T);
  constexpr unsigned kLanes = 1024 / kTypeBits;
  std::vector<T> values(kBitpackBlock);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned row = 0; row < kTypeBits; ++row) {
      T value = 0;
      for (unsigned bit = 0; bit < width; ++bit) {
        const unsigned at = row * width + bit;
        const size_t word = at / kTypeBits * kLanes + lane;
        const unsigned inside = at % kTypeBits;
        const uint8_t byte = packed[word * sizeof(T) + inside / 8];
        value |= static_cast<T>(static_cast<T>(byte >> inside % 8 & 1) << bit);
      }
      values[kOrder[row / 8] * 16 + row % 8 * 128 + lane] = value;
    }
  }
  return values;
}

template <typename T>
class BitpackingTest : public testing::Test {};
using Words = testing::Types<uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(BitpackingTest, Words);

TYPED_TEST(BitpackingTest, EveryWidthUnpacksAsDefined) {
  std::mt19937_64 random(7);
  for (unsigned width = 0; width <= 8 * sizeof(TypeParam); ++width) {
    // One byte in front, so that the input is not aligned.
    std::vector<uint8_t> packed(PackedBlockBytes(width));
    for (uint8_t& byte : packed) byte = static_cast<uint8_t>(random());
    std::vector<uint8_t> shifted(packed.size() + 1);
    std::copy(packed.begin(), packed.end(), shifted.begin() + 1);
    std::vector<TypeParam> values(kBitpackBlock, TypeParam{1});
    UnpackBlock(shifted.data() + 1, width, values.data());
    ASSERT_EQ(values, UnpackByDefinition<TypeParam>(packed, width)) << "width " << width;
    std::vector<TypeParam> singly(kBitpackBlock, TypeParam{1});
    UnpackValues(shifted.data() + 1, width, 0, 1000, singly.data());
    UnpackValues(shifted.data() + 1, width, 1000, 24, singly.data() + 1000);
    ASSERT_EQ(singly, values) << "width " << width;
  }
}

TYPED_TEST(BitpackingTest, EveryWidthPacksBack) {
  std::mt19937_64 random(11);
  for (unsigned width = 0; width <= 8 * sizeof(TypeParam); ++width) {
    const uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
    std::vector<TypeParam> values(kBitpackBlock);
    for (TypeParam& value : values) value = static_cast<TypeParam>(random() & mask);
    std::vector<uint8_t> packed(PackedBlockBytes(width) + 8, 0xAA);
    PackBlock(values.data(), width, packed.data());
    for (size_t i = PackedBlockBytes(width); i < packed.size(); ++i) ASSERT_EQ(packed[i], 0xAA);
    std::vector<TypeParam> back(kBitpackBlock);
    UnpackBlock(packed.data(), width, back.data());
    ASSERT_EQ(back, values) << "width " << width;
  }
}

TEST(BitWidthTest, TheLargestValueCounts) {
  const uint32_t values[] = {0, 3, 1, 16};
  EXPECT_EQ(BitWidth(values, 4), 5u);
  EXPECT_EQ(BitWidth(values, 3), 2u);
  EXPECT_EQ(BitWidth(values, 1), 0u);
  const uint64_t large[] = {~0ull};
  EXPECT_EQ(BitWidth(large, 1), 64u);
}

}  // namespace
}  // namespace lake::format
