#include <bit>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/bitpacking.h"
#include "lake/format/value_chunks_internal.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// One chunk's value buffers, without the padding between them.
std::vector<std::vector<uint8_t>> Chunk(ChunkSource* source, size_t start, size_t count) {
  ByteBuffer bytes;
  ChunkBuffers buffers(&bytes);
  EXPECT_TRUE(source->AppendChunk(start, count, &buffers).ok());
  EXPECT_EQ(buffers.count(), source->num_buffers());
  std::vector<std::vector<uint8_t>> result;
  size_t at = 0;
  for (int i = 0; i < buffers.count(); ++i) {
    result.emplace_back(bytes.data() + at, bytes.data() + at + buffers.size(i));
    at += (buffers.size(i) + 7) / 8 * 8;
  }
  EXPECT_EQ(at, bytes.size());
  return result;
}

// Cuts all `count` values, checking the rule: powers of two of two and more values but for the
// last.
std::vector<size_t> Cut(const ChunkSource& source, size_t count) {
  std::vector<size_t> lengths;
  for (size_t start = 0; start < count; start += lengths.back()) {
    lengths.push_back(source.ChunkLength(start));
    if (start + lengths.back() < count) {
      EXPECT_TRUE(std::has_single_bit(lengths.back()));
      EXPECT_GE(lengths.back(), 2);
    }
    EXPECT_LE(lengths.back(), kMaxChunkValues);
  }
  EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), size_t{0}), count);
  return lengths;
}

struct FlatCase {
  size_t width;
  size_t chunk;
};

TEST(FlatChunksTest, ChunksAreTheLargestThatFit) {
  for (const auto [width, chunk] :
       {FlatCase{1, 4096}, FlatCase{2, 2048}, FlatCase{4, 1024}, FlatCase{8, 512},
        FlatCase{16, 256}, FlatCase{40, 128}, FlatCase{255, 32}}) {
    const std::vector<uint8_t> values(10'000 * width, 5);
    const auto source = MakeFlatChunks(values, width);
    EXPECT_EQ(Cut(*source, 10'000)[0], chunk) << width;
    EXPECT_EQ(Chunk(source.get(), 9'990, 10)[0].size(), 10 * width);
  }
}

TEST(BoolChunksTest, BitsAreLeastSignificantFirst) {
  const std::vector<uint8_t> values{1, 0, 0, 1, 1, 0, 0, 0, 1};
  const auto source = MakeBoolChunks(values);
  EXPECT_THAT(Chunk(source.get(), 0, 9), ElementsAre(ElementsAre(0x19, 0x01)));
  EXPECT_THAT(Chunk(source.get(), 3, 2), ElementsAre(ElementsAre(0x03)));
  pb::CompressiveEncoding encoding;
  source->Describe(&encoding);
  EXPECT_EQ(encoding.flat().bits_per_value(), 1);
}

template <typename T>
class BitpackedChunksTest : public ::testing::Test {};
using Words = ::testing::Types<uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(BitpackedChunksTest, Words);

TYPED_TEST(BitpackedChunksTest, EachBlockHasItsOwnWidth) {
  std::vector<TypeParam> values(2500, 0);
  for (size_t i = 1024; i < values.size(); ++i) values[i] = static_cast<TypeParam>(i % 97);
  const auto source = MakeBitpackedChunks<TypeParam>(values);
  EXPECT_THAT(Cut(*source, values.size()), ElementsAre(1024, 1024, 452));
  EXPECT_EQ(Chunk(source.get(), 0, 1024)[0], std::vector<uint8_t>(sizeof(TypeParam), 0));
  for (const auto& [start, count] : {std::pair<size_t, size_t>{1024, 1024}, {2048, 452}}) {
    const std::vector<uint8_t> block = Chunk(source.get(), start, count)[0];
    ASSERT_EQ(block.size(), sizeof(TypeParam) + PackedBlockBytes(7));
    EXPECT_EQ(block[0], 7);
    std::vector<TypeParam> unpacked(kBitpackBlock);
    UnpackBlock(block.data() + sizeof(TypeParam), 7, unpacked.data());
    unpacked.resize(count);
    EXPECT_THAT(unpacked, ElementsAreArray(values.begin() + start, values.begin() + start + count));
  }
}

TEST(RunChunksTest, RunsEndAtChunks) {
  const std::vector<uint32_t> values(5000, 9);
  const auto source = MakeRunChunks<uint32_t>(values);
  EXPECT_THAT(Cut(*source, values.size()), ElementsAre(4096, 904));
  const auto buffers = Chunk(source.get(), 4096, 904);
  EXPECT_EQ(buffers[0].size(), 4 * sizeof(uint32_t));
  EXPECT_THAT(buffers[1], ElementsAre(255, 255, 255, 139));
}

TEST(RunChunksTest, AChunkWithoutRunsIsShorter) {
  // Few runs on the whole, and 3,000 values that are runs of their own.
  std::vector<uint64_t> values(20'000, 9);
  std::iota(values.begin() + 8192, values.begin() + 8192 + 3000, uint64_t{0});
  const auto source = MakeRunChunks<uint64_t>(values);
  EXPECT_THAT(Cut(*source, values.size()), ElementsAre(4096, 4096, 1024, 1024, 4096, 4096, 1568));
  PageData page;
  page.num_rows = page.num_values = values.size();
  const PageLevels levels = PageLevels::Make(&page, LevelShape({LevelShape::Layer::kItem}));
  EXPECT_TRUE(EncodeMiniBlock(source.get(), levels, kFileVersion21).ok());
}

TEST(VariableChunksTest, OffsetsCountFromTheChunksStart) {
  const std::vector<uint32_t> offsets{0, 2, 2, 5};
  const std::vector<uint8_t> bytes{'a', 'b', 'c', 'd', 'e', 0, 0, 0, 0, 0, 0, 0, 0};
  const auto narrow = MakeVariableChunks(offsets, bytes, 32);
  EXPECT_THAT(Chunk(narrow.get(), 1, 2),
              ElementsAre(ElementsAre(12, 0, 0, 0, 12, 0, 0, 0, 15, 0, 0, 0, 'c', 'd', 'e', 'H')));
  const auto wide = MakeVariableChunks(offsets, bytes, 64);
  EXPECT_THAT(Chunk(wide.get(), 0, 1),
              ElementsAre(ElementsAre(16, 0, 0, 0, 0, 0, 0, 0, 18, 0, 0, 0, 0, 0, 0, 0, 'a', 'b',
                                      'H', 'H', 'H', 'H', 'H', 'H')));
  pb::CompressiveEncoding encoding;
  wide->Describe(&encoding);
  EXPECT_EQ(encoding.variable().offsets().flat().bits_per_value(), 64);
}

TEST(VariableChunksTest, ChunksHoldAboutFourKibibytes) {
  std::mt19937 random(3);
  std::vector<uint32_t> offsets{0};
  for (int i = 0; i < 20'000; ++i) {
    offsets.push_back(offsets.back() + random() % (i < 10'000 ? 4 : 255));
  }
  const std::vector<uint8_t> bytes(offsets.back() + 8, 'x');
  const auto source = MakeVariableChunks(offsets, bytes, 32);
  size_t start = 0;
  const std::vector<size_t> lengths = Cut(*source, 20'000);
  for (const size_t length : lengths) {
    const size_t size = Chunk(source.get(), start, length)[0].size();
    EXPECT_LE(size, 4096 + 4);
    if (start + length < 20'000) {
      EXPECT_GT(size, 900);
    }
    start += length;
  }
  EXPECT_GT(lengths.front(), lengths[lengths.size() - 2]);
}

TEST(VariableChunksTest, EmptyStringsFillWholeChunks) {
  const std::vector<uint32_t> offsets(9001, 0);
  const auto source = MakeVariableChunks(offsets, {}, 32);
  for (const size_t length : Cut(*source, 9000)) EXPECT_LE(length, 1024);
}

PageData ListPage(size_t count, std::vector<uint8_t> values, std::vector<uint8_t> validity) {
  PageData page;
  page.num_rows = page.num_values = count;
  page.values.Append(values.data(), values.size());
  page.item_validity.resize(1);
  page.item_validity[0].Append(validity.data(), validity.size());
  return page;
}

TEST(ListChunksTest, ItemValidityComesFirst) {
  const ValueShape shape{
      .kind = ValueShape::Kind::kFixedSizeList, .width = 1, .items = 3, .dimensions = {3}};
  const PageData page = ListPage(3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {0b11101111, 0b1});
  const auto source = MakeListChunks(shape, page);
  EXPECT_THAT(Chunk(source.get(), 1, 2),
              ElementsAre(ElementsAre(0b111101), ElementsAre(4, 5, 6, 7, 8, 9)));
  pb::CompressiveEncoding encoding;
  source->Describe(&encoding);
  EXPECT_EQ(encoding.fixed_size_list().items_per_value(), 3);
  EXPECT_TRUE(encoding.fixed_size_list().has_validity());

  const PageData valid = ListPage(3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {});
  EXPECT_THAT(Chunk(MakeListChunks(shape, valid).get(), 2, 1), ElementsAre(ElementsAre(7, 8, 9)));
}

TEST(ListChunksTest, BooleansAreBitsWithoutGapsBetweenRows) {
  const ValueShape shape{.kind = ValueShape::Kind::kFixedSizeList,
                         .is_bool = true,
                         .width = 1,
                         .items = 5,
                         .dimensions = {5}};
  const PageData page = ListPage(2, {1, 0, 0, 0, 1, 1, 1, 0, 0, 0}, {});
  EXPECT_THAT(Chunk(MakeListChunks(shape, page).get(), 0, 2),
              ElementsAre(ElementsAre(0b01110001, 0)));
}

TEST(SplitChunksTest, BytesOfEqualRankStandTogether) {
  const std::vector<uint32_t> values{0x04030201, 0x14131211};
  const auto source =
      MakeSplitChunks({reinterpret_cast<const uint8_t*>(values.data()), 8}, sizeof(float));
  EXPECT_THAT(Chunk(source.get(), 0, 2),
              ElementsAre(ElementsAre(0x01, 0x11, 0x02, 0x12, 0x03, 0x13, 0x04, 0x14)));
  EXPECT_EQ(MakeSplitChunks(std::vector<uint8_t>(40'000), 4)->ChunkLength(0), 1024);
}

TEST(CompressedChunksTest, OnlyTheFirstBufferOfAChunkIsCompressed) {
  const std::vector<uint32_t> values(4000, 7);
  const auto source =
      MakeCompressedChunks(MakeRunChunks<uint32_t>(values), {GeneralCodec::kZstd, 3});
  const auto buffers = Chunk(source.get(), 0, 4000);
  ASSERT_EQ(buffers.size(), 2);
  const auto plain = Chunk(MakeRunChunks<uint32_t>(values).get(), 0, 4000);
  EXPECT_EQ(buffers[0][0], plain[0].size());  // the u64 in front
  EXPECT_EQ(buffers[1], plain[1]);
  pb::CompressiveEncoding encoding;
  source->Describe(&encoding);
  EXPECT_EQ(encoding.general().compression().scheme(), pb::BufferCompression::ZSTD);
  EXPECT_EQ(encoding.general().compression().level(), 3);
  EXPECT_TRUE(encoding.general().values().has_rle());
}

}  // namespace
}  // namespace lake::format
