#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/mini_block_encoder_internal.h"
#include "lake/format/value_chunks_internal.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;

TEST(MiniBlockEncoderTest, AChunkOfNullsLooksAsPublished) {
  // 2000 nulls of an int32 column: the first chunk is the worked example of the format's
  // description.
  PageData page;
  page.num_rows = page.num_values = page.num_null = 2000;
  page.states.AppendFill(2000, 1);
  const PageLevels levels = PageLevels::Make(&page, LevelShape());
  const std::vector<uint32_t> values(2000, 0);
  const auto source = MakeBitpackedChunks<uint32_t>(values);
  const MiniBlockPage encoded = EncodeMiniBlock(source.get(), levels, kFileVersion22).ValueOrDie();

  EXPECT_EQ(encoded.layout.num_buffers(), 1);
  EXPECT_EQ(encoded.layout.num_items(), 2000);
  EXPECT_TRUE(encoded.layout.has_large_chunk());
  EXPECT_THAT(encoded.layout.layers(), ElementsAre(pb::NULLABLE_ITEM));
  EXPECT_TRUE(encoded.layout.def_compression().has_rle());
  const auto words = encoded.chunk_words.as<uint32_t>();
  ASSERT_EQ(words.size(), 2);
  EXPECT_EQ(words[0], 0x4a);     // 40 bytes, 2^10 values
  EXPECT_EQ(words[1] & 0xf, 0);  // the last chunk takes the rest
  const std::string_view chunk = encoded.chunks.view().substr(0, 40);
  EXPECT_EQ(chunk, std::string_view("\x00\x04\x17\x00\x04\x00\x00\x00"
                                    "\x0a\x00\x00\x00\x00\x00\x00\x00"
                                    "\x01\x00\x01\x00\x01\x00\x01\x00\x01\x00\xff\xff\xff\xff\x04"
                                    "\xfe\x00\x00\x00\x00\xfe\xfe\xfe\xfe",
                                    40));
}

TEST(MiniBlockEncoderTest, WithoutNullsThereAreNoLevels) {
  PageData page;
  page.num_rows = page.num_values = 3;
  const PageLevels levels = PageLevels::Make(&page, LevelShape({LevelShape::Layer::kItem}));
  const std::vector<uint8_t> values{1, 2, 3};
  const auto source = MakeFlatChunks(values, 1);
  const MiniBlockPage encoded = EncodeMiniBlock(source.get(), levels, kFileVersion22).ValueOrDie();
  EXPECT_FALSE(encoded.layout.has_def_compression());
  EXPECT_THAT(encoded.layout.layers(), ElementsAre(pb::ALL_VALID_ITEM, pb::ALL_VALID_ITEM));
  EXPECT_THAT(encoded.chunk_words.as<uint32_t>(), ElementsAre(0x10));                  // 16 bytes
  EXPECT_THAT(encoded.chunks.as<uint8_t>(), ElementsAre(0, 0, 3, 0, 0, 0, 0xfe, 0xfe,  //
                                                        1, 2, 3, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe));
}

// A page of lists given by their lengths: -1 null, 0 empty.
PageData Lists(const std::vector<int>& lengths) {
  PageData page;
  page.num_rows = lengths.size();
  for (const int length : lengths) {
    page.repetitions.AppendValue<uint8_t>(1);
    page.codes.AppendValue<uint8_t>(length > 0 ? 0 : length == 0 ? 3 : 2);
    for (int item = 1; item < length; ++item) {
      page.repetitions.AppendValue<uint8_t>(0);
      page.codes.AppendValue<uint8_t>(0);
    }
    page.num_values += std::max(length, 0);
  }
  return page;
}

TEST(MiniBlockEncoderTest, TheRepetitionIndexTellsWhichRowsEndInAChunk) {
  // Chunks of 4,096 bytes. The second list goes on into the second chunk, which ends with it; the
  // null list before the last chunk belongs to that.
  PageData page = Lists({100, 5000, 3092, -1, 7});
  const PageLevels levels = PageLevels::Make(&page, LevelShape({LevelShape::Layer::kList}));
  ASSERT_TRUE(FitsMiniBlocks(levels, kFileVersion22));
  const std::vector<uint8_t> values(8199, 0);
  const auto source = MakeFlatChunks(values, 1);
  const MiniBlockPage encoded = EncodeMiniBlock(source.get(), levels, kFileVersion22).ValueOrDie();
  EXPECT_EQ(encoded.layout.repetition_index_depth(), 1);
  EXPECT_EQ(encoded.layout.num_items(), 8199);
  // 100 | 3996 of 5000, 1004 of 5000 | 3092, null | 7
  EXPECT_THAT(encoded.repetition_index.as<uint64_t>(), ElementsAre(1, 3996, 2, 0, 2, 0));
  EXPECT_TRUE(encoded.layout.has_rep_compression());
  EXPECT_TRUE(encoded.layout.has_def_compression());
  const uint32_t last = encoded.chunk_words.as<uint32_t>()[2];
  EXPECT_EQ(last & 0xf, 0);
  const size_t last_bytes = ((last >> 4) + 1) * 8;
  const uint8_t* const chunk = encoded.chunks.data() + encoded.chunks.size() - last_bytes;
  EXPECT_EQ(chunk[0], 8);  // levels: the null list and 7 items
}

TEST(MiniBlockEncoderTest, Version21HasShortWordsAndSizes) {
  PageData page;
  page.num_rows = page.num_values = 3;
  const PageLevels levels = PageLevels::Make(&page, LevelShape());
  const std::vector<uint8_t> values{1, 2, 3};
  const auto source = MakeFlatChunks(values, 1);
  const MiniBlockPage encoded = EncodeMiniBlock(source.get(), levels, kFileVersion21).ValueOrDie();
  EXPECT_FALSE(encoded.layout.has_large_chunk());
  EXPECT_THAT(encoded.chunk_words.as<uint16_t>(), ElementsAre(0x10));
  EXPECT_THAT(encoded.chunks.as<uint8_t>(), ElementsAre(0, 0, 3, 0, 0xfe, 0xfe, 0xfe, 0xfe,  //
                                                        1, 2, 3, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe));
}

TEST(MiniBlockEncoderTest, MoreEmptyListsThanAChunkCountsDoNotFit) {
  PageData page = Lists(std::vector<int>(70'000, 0));
  const LevelShape shape({LevelShape::Layer::kList});
  EXPECT_FALSE(FitsMiniBlocks(PageLevels::Make(&page, shape), kFileVersion22));
  PageData full = Lists(std::vector<int>(70'000, 1));
  EXPECT_TRUE(FitsMiniBlocks(PageLevels::Make(&full, shape), kFileVersion22));
}

TEST(MiniBlockEncoderTest, Version21HasSmallerChunks) {
  // One value behind so many empty lists: 1 + 2 bits each.
  std::vector<int> lengths(32'768, 0);
  lengths.back() = 1;
  lengths[0] = -1;
  PageData page = Lists(lengths);
  const LevelShape shape({LevelShape::Layer::kList});
  EXPECT_EQ(MostChunkLevels(kFileVersion21, shape.level_bits()), 32'768);
  EXPECT_EQ(MostChunkLevels(kFileVersion22, shape.level_bits()), 65'535);
  // 7 lists take 3 bits of repetition and 4 of definition.
  const LevelShape deep(std::vector<LevelShape::Layer>(7, LevelShape::Layer::kList));
  EXPECT_EQ(deep.level_bits(), 3 + 4);
  EXPECT_EQ(MostChunkLevels(kFileVersion21, deep.level_bits()), 20'480 * 8 / 7);
  const PageLevels levels = PageLevels::Make(&page, shape);
  ASSERT_TRUE(FitsMiniBlocks(levels, kFileVersion21));
  const std::vector<uint8_t> values{7};
  const auto source = MakeFlatChunks(values, 1);
  const auto encoded = EncodeMiniBlock(source.get(), levels, kFileVersion21);
  ASSERT_TRUE(encoded.ok()) << encoded.status();
  const auto words = encoded->chunk_words.as<uint16_t>();
  ASSERT_EQ(words.size(), 1);
  EXPECT_EQ(((words[0] >> 4) + 1) * 8u, encoded->chunks.size());

  lengths.insert(lengths.begin(), 0);
  PageData longer = Lists(lengths);
  EXPECT_FALSE(FitsMiniBlocks(PageLevels::Make(&longer, shape), kFileVersion21));
}

TEST(MiniBlockEncoderTest, Version21RefusesAChunkThatItsWordsDoNotCount) {
  PageData page;
  page.num_rows = page.num_values = 2;
  page.values.AppendFill(2 * 200'000, 1);
  page.item_validity.resize(1);
  const ValueShape shape{.kind = ValueShape::Kind::kFixedSizeList,
                         .is_bool = true,
                         .width = 1,
                         .items = 200'000,
                         .dimensions = {200'000}};
  const PageLevels levels = PageLevels::Make(&page, LevelShape());
  const auto source = MakeListChunks(shape, page);
  const auto refused = EncodeMiniBlock(source.get(), levels, kFileVersion21);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(CodeOf(refused.status()), ErrorCode::kUnsupported);
  EXPECT_TRUE(EncodeMiniBlock(source.get(), levels, kFileVersion22).ok());
}

}  // namespace
}  // namespace lake::format
