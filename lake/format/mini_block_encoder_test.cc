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
  page.num_rows = page.num_null = 2000;
  page.states.AppendFill(2000, PageData::kNull);
  const PageLevels levels = PageLevels::Make(&page, false);
  const std::vector<uint32_t> values(2000, 0);
  const auto source = MakeBitpackedChunks<uint32_t>(values);
  const MiniBlockPage encoded = EncodeMiniBlock(source.get(), values.size(), levels);

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
  page.num_rows = 3;
  const PageLevels levels = PageLevels::Make(&page, true);
  const std::vector<uint8_t> values{1, 2, 3};
  const auto source = MakeFlatChunks(values, 1);
  const MiniBlockPage encoded = EncodeMiniBlock(source.get(), 3, levels);
  EXPECT_FALSE(encoded.layout.has_def_compression());
  EXPECT_THAT(encoded.layout.layers(), ElementsAre(pb::ALL_VALID_ITEM, pb::ALL_VALID_ITEM));
  EXPECT_THAT(encoded.chunk_words.as<uint32_t>(), ElementsAre(0x10));                  // 16 bytes
  EXPECT_THAT(encoded.chunks.as<uint8_t>(), ElementsAre(0, 0, 3, 0, 0, 0, 0xfe, 0xfe,  //
                                                        1, 2, 3, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe));
}

}  // namespace
}  // namespace lake::format
