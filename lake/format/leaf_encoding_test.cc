#include "lake/format/leaf_encoding.h"

#include <gtest/gtest.h>

namespace lake::format {
namespace {

using Metadata = std::map<std::string, std::string>;

TEST(LeafEncodingTest, ReadsEveryKey) {
  const auto encoding = LeafEncoding::From({{"lance-encoding:compression", "lz4"}},
                                           {{"lance-encoding:compression", "zstd"},
                                            {"lance-encoding:compression-level", "7"},
                                            {"lance-encoding:bss", "on"},
                                            {"lance-encoding:rle-threshold", "0.25"},
                                            {"lance-encoding:structural-encoding", "fullzip"},
                                            {"lance-encoding:dict-divisor", "4"},
                                            {"lance-encoding:dict-size-ratio", "0.5"},
                                            {"lance-encoding:dict-values-compression", "none"},
                                            {"lance-encoding:dict-values-compression-level", "3"},
                                            {"else", "nothing"}},
                                           "c", kFileVersion21);
  ASSERT_TRUE(encoding.ok());
  EXPECT_EQ(encoding->version, kFileVersion21);
  EXPECT_EQ(encoding->compression, LeafEncoding::Compression::kZstd);
  EXPECT_EQ(encoding->compression_level, 7);
  EXPECT_EQ(encoding->byte_stream_split, LeafEncoding::Switch::kOn);
  EXPECT_EQ(encoding->run_threshold, 0.25);
  EXPECT_EQ(encoding->layout, LeafEncoding::Layout::kFullZip);
  EXPECT_EQ(encoding->dictionary_divisor, 4);
  EXPECT_EQ(encoding->dictionary_ratio, 0.5);
  EXPECT_EQ(encoding->dictionary_compression, LeafEncoding::Compression::kNone);
  EXPECT_EQ(encoding->dictionary_compression_level, 3);
}

TEST(LeafEncodingTest, ALeafTakesWhatItsColumnAsksFor) {
  const auto encoding =
      LeafEncoding::From({{"lance-encoding:compression", "lz4"}}, {}, "c.item", kFileVersion22);
  ASSERT_TRUE(encoding.ok());
  EXPECT_EQ(encoding->compression, LeafEncoding::Compression::kLz4);
}

TEST(LeafEncodingTest, UnknownValuesNameTheColumn) {
  const Metadata cases{{"lance-encoding:compression", "brotli"},
                       {"lance-encoding:compression-level", "99"},
                       {"lance-encoding:bss", "maybe"},
                       {"lance-encoding:rle-threshold", "2"},
                       {"lance-encoding:structural-encoding", "sparse"},
                       {"lance-encoding:dict-divisor", "0"},
                       {"lance-encoding:dict-size-ratio", "x"},
                       {"lance-encoding:dict-values-compression", "fsst"}};
  for (const auto& [key, value] : cases) {
    SCOPED_TRACE(key);
    const auto encoding = LeafEncoding::From({}, {{key, value}}, "a.b", kFileVersion22);
    ASSERT_EQ(CodeOf(encoding.status()), ErrorCode::kInvalidArgument);
    EXPECT_NE(encoding.status().message().find("'a.b'"), std::string::npos);
    EXPECT_NE(encoding.status().message().find(key), std::string::npos);
  }
}

}  // namespace
}  // namespace lake::format
