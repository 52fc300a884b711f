#include <cstring>
#include <limits>
#include <vector>

#include <arrow/type.h>
#include <gtest/gtest.h>

#include "lake/format/block_decoder_internal.h"
#include "lake/format/compress_internal.h"
#include "lake/format/dictionary_internal.h"
#include "lake/format/testing/fixtures.h"

namespace lake::format {
namespace {

pb::CompressiveEncoding FlatOf(uint64_t bits) {
  pb::CompressiveEncoding encoding;
  encoding.mutable_flat()->set_bits_per_value(bits);
  return encoding;
}

Result<PageDictionary> Decode(const pb::CompressiveEncoding& encoding, std::string_view bytes,
                              uint64_t num_items, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(const LeafType type, LeafType::From(arrow::int64()));
  return PageDictionary::DecodeFrom(encoding, bytes, num_items, type, pool);
}

// Counts that the bytes cannot hold are corrupt, and no reason to ask for memory.
TEST(BlockDecoderTest, MoreValuesThanBytesCanHoldAreCorrupt) {
  const auto pool = MakeCappedPool(1 << 20);
  const std::string bytes(1 << 19, '\0');
  ASSERT_TRUE(Decode(FlatOf(64), bytes, bytes.size() / 8, pool.get()).ok());
  pb::CompressiveEncoding runs;
  *runs.mutable_rle()->mutable_values() = FlatOf(64);
  *runs.mutable_rle()->mutable_run_lengths() = FlatOf(8);
  for (const uint64_t count : {bytes.size() / 8 + 1, bytes.size(), bytes.size() * 8,
                               uint64_t{1} << 61, std::numeric_limits<uint64_t>::max()}) {
    const auto refused = Decode(FlatOf(64), bytes, count, pool.get());
    ASSERT_FALSE(refused.ok()) << count;
    EXPECT_EQ(CodeOf(refused.status()), ErrorCode::kCorrupt) << refused.status();
  }
  EXPECT_EQ(CodeOf(Decode(runs, bytes, bytes.size() / 9 * 255 + 256, pool.get()).status()),
            ErrorCode::kCorrupt);
}

TEST(BlockDecoderTest, ZstdHoldsManyEqualValues) {
  const std::vector<int64_t> values(100'000, 5);
  const std::span<const uint8_t> plain(reinterpret_cast<const uint8_t*>(values.data()),
                                       values.size() * sizeof(int64_t));
  const Compressor compressor{GeneralCodec::kZstd, std::nullopt};
  ByteBuffer bytes;
  ASSERT_TRUE(compressor.Append(plain, &bytes).ok());
  ASSERT_GT(values.size(), bytes.size() * 255);
  pb::CompressiveEncoding encoding;
  encoding.mutable_general()->mutable_compression()->set_scheme(pb::BufferCompression::ZSTD);
  *encoding.mutable_general()->mutable_values() = FlatOf(64);
  const auto dictionary =
      Decode(encoding, bytes.view(), values.size(), arrow::default_memory_pool());
  ASSERT_TRUE(dictionary.ok()) << dictionary.status();
  int64_t last = 0;
  std::memcpy(&last, dictionary->Item(99'999).data(), sizeof(last));
  EXPECT_EQ(last, 5);
}

}  // namespace
}  // namespace lake::format
