#include "lake/format/general_compression.h"

#include <string>

#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include "lake/format/container.h"

namespace lake::format {
namespace {

constexpr uint64_t kMost = 1 << 20;

std::string ZstdFrame(const std::string& text) {
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), text.data(), text.size(), 1));
  return frame;
}

std::string Little(uint64_t value, size_t width) {
  return {reinterpret_cast<const char*>(&value), width};
}

Result<std::string> Decode(GeneralCodec codec, const std::string& bytes) {
  ARROW_ASSIGN_OR_RAISE(const CompressedBuffer buffer, CompressedBuffer::Open(codec, bytes, kMost));
  std::string decoded(buffer.decoded_size, '\0');
  ARROW_RETURN_NOT_OK(buffer.Decode(reinterpret_cast<uint8_t*>(decoded.data())));
  return decoded;
}

TEST(GeneralCompressionTest, ZstdHasItsSizeInFrontOrIsABareFrameOfOldWriters) {
  const std::string text(5000, 'x');
  const std::string frame = ZstdFrame(text);
  EXPECT_EQ(Decode(GeneralCodec::kZstd, Little(text.size(), 8) + frame).ValueOrDie(), text);
  EXPECT_EQ(Decode(GeneralCodec::kZstd, frame).ValueOrDie(), text);
}

TEST(GeneralCompressionTest, ASizeThatLooksLikeAFrameIsASize) {
  // 0xFD2FB528 bytes and more: the magic in front, and the reserved bit of a frame set behind it.
  const std::string size = Little(0x08'FD2FB528, 8);
  const Status refused = Decode(GeneralCodec::kZstd, size + ZstdFrame("x")).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kCorrupt);
  EXPECT_NE(refused.message().find("should hold"), std::string::npos) << refused;
}

TEST(GeneralCompressionTest, Lz4HasItsSizeInFront) {
  const std::string text(5000, 'x');
  std::string block(LZ4_compressBound(5000), '\0');
  block.resize(
      LZ4_compress_default(text.data(), block.data(), 5000, static_cast<int>(block.size())));
  EXPECT_EQ(Decode(GeneralCodec::kLz4, Little(text.size(), 4) + block).ValueOrDie(), text);
  EXPECT_FALSE(Decode(GeneralCodec::kLz4, Little(text.size() + 1, 4) + block).ok());
}

}  // namespace
}  // namespace lake::format
