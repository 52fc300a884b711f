#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4.h>

#include "lake/format/bitpacking.h"
#include "lake/format/dictionary_block_internal.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;

Dictionary Integers(size_t count, uint64_t step, uint64_t base) {
  Dictionary dictionary;
  dictionary.count = static_cast<uint32_t>(count);
  for (size_t i = 0; i < count; ++i) dictionary.entries.AppendValue(base + i * step);
  return dictionary;
}

ValueShape Word() {
  ValueShape type;
  type.width = 8;
  return type;
}

TEST(DictionaryBlockTest, StringsAreAVariableBlockUnderLz4) {
  ValueShape type;
  type.kind = ValueShape::Kind::kVariable;
  type.offset_bits = 32;
  Dictionary dictionary;
  dictionary.offsets.AppendValue<uint32_t>(0);
  for (int i = 0; i < 100; ++i) {
    dictionary.entries.Append("a long common text ", 19);
    dictionary.entries.AppendValue(static_cast<uint8_t>('0' + i % 10));
    dictionary.offsets.AppendValue(static_cast<uint32_t>(dictionary.entries.size()));
  }
  dictionary.count = 100;
  pb::CompressiveEncoding encoding;
  const ByteBuffer block =
      EncodeDictionaryBlock(type, dictionary, LeafEncoding(), &encoding).ValueOrDie();
  ASSERT_TRUE(encoding.has_general());
  EXPECT_EQ(encoding.general().compression().scheme(), pb::BufferCompression::LZ4);
  EXPECT_EQ(encoding.general().values().variable().offsets().flat().bits_per_value(), 32);
  const uint32_t size = block.as<uint32_t>()[0];
  ASSERT_EQ(size, 8 + 101 * 4 + 2000);
  std::string plain(size, 0);
  ASSERT_EQ(LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()) + 4, plain.data(),
                                static_cast<int>(block.size() - 4), static_cast<int>(size)),
            static_cast<int>(size));
  uint32_t header[3];
  std::memcpy(header, plain.data(), sizeof(header));
  EXPECT_THAT(header, ElementsAre(32, 8 + 101 * 4, 0));
  EXPECT_EQ(plain.substr(plain.size() - 20), "a long common text 9");
}

TEST(DictionaryBlockTest, WhatDoesNotShrinkStaysPlain) {
  pb::CompressiveEncoding encoding;
  const Dictionary dictionary = Integers(3, 0x123456789abcdef1, 0xf000000000000000);
  const ByteBuffer block =
      EncodeDictionaryBlock(Word(), dictionary, LeafEncoding(), &encoding).ValueOrDie();
  EXPECT_EQ(encoding.flat().bits_per_value(), 64);
  EXPECT_EQ(block.view(), dictionary.entries.view());
}

TEST(DictionaryBlockTest, SmallIntegersArePacked) {
  pb::CompressiveEncoding encoding;
  const ByteBuffer block =
      EncodeDictionaryBlock(Word(), Integers(1000, 3, 7), LeafEncoding(), &encoding).ValueOrDie();
  ASSERT_TRUE(encoding.has_inline_bitpacking());
  ASSERT_EQ(block.size(), 8 + PackedBlockBytes(12));
  EXPECT_EQ(block.as<uint64_t>()[0], 12);
  std::vector<uint64_t> values(kBitpackBlock);
  UnpackBlock(block.data() + 8, 12, values.data());
  EXPECT_EQ(values[999], 7 + 3 * 999);
}

TEST(DictionaryBlockTest, ManySmallIntegersArePackedWithoutHeader) {
  pb::CompressiveEncoding encoding;
  // 2048 + 2 values: the rest is raw, 16 bytes instead of a block.
  const ByteBuffer block =
      EncodeDictionaryBlock(Word(), Integers(2050, 1, 0), LeafEncoding(), &encoding).ValueOrDie();
  ASSERT_TRUE(encoding.has_out_of_line_bitpacking());
  EXPECT_EQ(encoding.out_of_line_bitpacking().values().flat().bits_per_value(), 12);
  ASSERT_EQ(block.size(), 2 * PackedBlockBytes(12) + 16);
  std::vector<uint64_t> values(kBitpackBlock);
  UnpackBlock(block.data() + PackedBlockBytes(12), 12, values.data());
  EXPECT_EQ(values[1], 1025);
  EXPECT_EQ(block.as<uint64_t>().back(), 2049);
}

TEST(DictionaryBlockTest, Version21AndMetadataKeepValuesPlain) {
  LeafEncoding old;
  old.version = kFileVersion21;
  LeafEncoding none;
  none.dictionary_compression = LeafEncoding::Compression::kNone;
  for (const LeafEncoding& options : {old, none}) {
    pb::CompressiveEncoding encoding;
    const auto block =
        EncodeDictionaryBlock(Word(), Integers(1000, uint64_t{1} << 50, 7), options, &encoding);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(block->size() >= 8000, options.version == kFileVersion21);
    EXPECT_FALSE(encoding.has_general());
  }
}

TEST(DictionaryBlockTest, MetadataChoosesZstd) {
  LeafEncoding options;
  options.dictionary_compression = LeafEncoding::Compression::kZstd;
  options.dictionary_compression_level = 5;
  pb::CompressiveEncoding encoding;
  ASSERT_TRUE(
      EncodeDictionaryBlock(Word(), Integers(1000, 0, uint64_t{1} << 60), options, &encoding).ok());
  ASSERT_TRUE(encoding.has_general());
  EXPECT_EQ(encoding.general().compression().scheme(), pb::BufferCompression::ZSTD);
  EXPECT_EQ(encoding.general().compression().level(), 5);
}

}  // namespace
}  // namespace lake::format
