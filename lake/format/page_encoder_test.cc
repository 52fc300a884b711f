#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "lake/format/page_encoder_internal.h"

namespace lake::format {
namespace {

using Compression = LeafEncoding::Compression;

PageData Strings(const std::vector<std::string>& values) {
  PageData page;
  page.num_rows = page.num_values = values.size();
  page.offsets.AppendValue<uint32_t>(0);
  for (const std::string& value : values) {
    page.values.Append(value.data(), value.size());
    page.offsets.AppendValue(static_cast<uint32_t>(page.values.size()));
    page.longest_value = std::max(page.longest_value, value.size());
  }
  return page;
}

template <typename T>
PageData Numbers(size_t count, const std::function<T(size_t)>& value) {
  PageData page;
  page.num_rows = page.num_values = count;
  for (size_t i = 0; i < count; ++i) page.values.AppendValue<T>(value(i));
  return page;
}

EncodedPage Encode(const ValueShape& shape, PageData page, const LeafEncoding& options = {}) {
  return EncodePage(shape, LevelShape(), options, std::move(page)).ValueOrDie();
}

const ValueShape kBinary{.kind = ValueShape::Kind::kVariable};
const ValueShape kText{.kind = ValueShape::Kind::kVariable, .is_text = true};
const ValueShape kInteger{.width = 4};
const ValueShape kFloat{.is_float = true, .width = 4};

// Distinct texts of words.
std::vector<std::string> Texts(size_t count, size_t words) {
  std::mt19937 random(3);
  const char* const choice[] = {"robot ", "arm ", "camera ", "left ", "lidar "};
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    for (size_t i = 0; i < words; ++i) text += choice[random() % 5];
    text += std::to_string(random());
  }
  return texts;
}

uint64_t Noise(size_t i) { return (i + 1) * 0x9e3779b97f4a7c15u; }

TEST(PageEncoderTest, WideTextGetsASymbolTableAndBinaryDoesNot) {
  const auto text = Encode(kText, Strings(Texts(300, 60)));
  EXPECT_TRUE(text.layout.full_zip().value_compression().has_fsst());
  const auto binary = Encode(kBinary, Strings(Texts(300, 60)));
  EXPECT_TRUE(binary.layout.full_zip().value_compression().has_variable());
  EXPECT_LT(text.buffers[0].size() * 2, binary.buffers[0].size());
}

TEST(PageEncoderTest, LongValuesAreCompressedOneByOne) {
  const auto page = Encode(kBinary, Strings({std::string(100'000, 'z'), "short"}));
  const pb::General& general = page.layout.full_zip().value_compression().general();
  EXPECT_EQ(general.compression().scheme(), pb::BufferCompression::ZSTD);
  EXPECT_TRUE(general.values().has_variable());
  const uint8_t* const bytes = page.buffers[0].data();
  uint32_t length;
  uint64_t size;
  std::memcpy(&length, bytes, 4);
  std::memcpy(&size, bytes + 4, 8);
  ASSERT_EQ(size, 100'000);
  std::string plain(size, 0);
  ASSERT_EQ(ZSTD_decompress(plain.data(), size, bytes + 12, length - 8), size);
  EXPECT_EQ(plain, std::string(100'000, 'z'));
}

TEST(PageEncoderTest, LongValuesThatDoNotShrinkStayPlain) {
  std::string noise(50'000, 0);
  std::mt19937_64 random(20261129);
  for (char& byte : noise) byte = static_cast<char>(random());
  const auto page = Encode(kBinary, Strings({noise, noise.substr(7)}));
  EXPECT_TRUE(page.layout.full_zip().value_compression().has_variable());
}

TEST(PageEncoderTest, MetadataChoosesTheLayout) {
  LeafEncoding zip;
  zip.layout = LeafEncoding::Layout::kFullZip;
  EXPECT_TRUE(Encode(kInteger, Numbers<uint32_t>(50, Noise), zip).layout.has_full_zip());
  EXPECT_TRUE(Encode(kInteger, Numbers<uint32_t>(50, Noise)).layout.has_mini_block());
  LeafEncoding block;
  block.layout = LeafEncoding::Layout::kMiniBlock;
  EXPECT_TRUE(Encode(kText, Strings(Texts(50, 60)), block).layout.has_mini_block());
  // A chunk would hold no two of these.
  EXPECT_TRUE(Encode(kText, Strings(Texts(50, 6000)), block).layout.has_full_zip());
}

TEST(PageEncoderTest, MetadataChoosesTheCompression) {
  LeafEncoding zstd;
  zstd.compression = Compression::kZstd;
  const auto text = Encode(kText, Strings(Texts(5000, 3)), zstd);
  EXPECT_TRUE(text.layout.mini_block().value_compression().general().values().has_variable());
  LeafEncoding none;
  none.compression = Compression::kNone;
  EXPECT_TRUE(Encode(kText, Strings(Texts(5000, 3)), none)
                  .layout.mini_block()
                  .value_compression()
                  .has_variable());
  EXPECT_TRUE(Encode(kInteger, Numbers<uint32_t>(5000, [](size_t i) { return i % 7; }), none)
                  .layout.mini_block()
                  .value_compression()
                  .has_flat());
  LeafEncoding fsst;
  fsst.compression = Compression::kFsst;
  EXPECT_TRUE(Encode(kText, Strings(Texts(300, 6)), fsst)
                  .layout.mini_block()
                  .value_compression()
                  .has_fsst());
  // What does not shrink stays as it is.
  EXPECT_TRUE(Encode(kInteger, Numbers<uint32_t>(5000, Noise), zstd)
                  .layout.mini_block()
                  .value_compression()
                  .has_flat());
}

TEST(PageEncoderTest, FloatsAreSplitWhereThatCompressesBetter) {
  const auto floats = [] {
    return Numbers<float>(5000,
                          [](size_t i) { return 1 + static_cast<float>(Noise(i) >> 44) / 1e6f; });
  };
  LeafEncoding options;
  options.compression = Compression::kZstd;
  const auto encoding = [&](const LeafEncoding& asked) {
    return Encode(kFloat, floats(), asked).layout.mini_block().value_compression();
  };
  EXPECT_TRUE(encoding(options).general().values().has_byte_stream_split());
  options.byte_stream_split = LeafEncoding::Switch::kOff;
  EXPECT_FALSE(encoding(options).general().values().has_byte_stream_split());
  options.byte_stream_split = LeafEncoding::Switch::kOn;
  EXPECT_TRUE(encoding(options).general().values().has_byte_stream_split());
}

TEST(PageEncoderTest, TheRunThresholdDecidesOnRuns) {
  const auto numbers = [] {
    return Numbers<uint32_t>(4000, [](size_t i) { return Noise(i / 3); });
  };
  LeafEncoding options;
  options.run_threshold = 0.5;
  EXPECT_TRUE(
      Encode(kInteger, numbers(), options).layout.mini_block().value_compression().has_rle());
  options.run_threshold = 0.1;
  EXPECT_FALSE(
      Encode(kInteger, numbers(), options).layout.mini_block().value_compression().has_rle());
}

TEST(PageEncoderTest, TheDictionaryDivisorDecidesOnDictionaries) {
  std::vector<std::string> texts = Texts(50, 3);
  for (size_t i = 0; i < 150; ++i) texts.push_back(texts[i % 50]);
  LeafEncoding options;
  EXPECT_TRUE(Encode(kText, Strings(texts), options).layout.mini_block().has_dictionary());
  options.dictionary_divisor = 8;
  EXPECT_FALSE(Encode(kText, Strings(texts), options).layout.mini_block().has_dictionary());
  options = {};
  options.dictionary_ratio = 0.01;
  EXPECT_FALSE(Encode(kText, Strings(texts), options).layout.mini_block().has_dictionary());
}

TEST(PageEncoderTest, Version21HasNoConstantsAndNoDictionariesOfWords) {
  LeafEncoding old;
  old.version = kFileVersion21;
  const ValueShape word{.width = 8};
  const auto few = [] {
    return Numbers<uint64_t>(5000, [](size_t i) { return Noise(Noise(i) % 5); });
  };
  EXPECT_TRUE(Encode(word, few()).layout.mini_block().has_dictionary());
  EXPECT_FALSE(Encode(word, few(), old).layout.mini_block().has_dictionary());
  const auto same = [] { return Numbers<uint64_t>(5000, [](size_t) { return 7; }); };
  EXPECT_TRUE(Encode(word, same()).layout.has_constant());
  EXPECT_TRUE(Encode(word, same(), old).layout.has_mini_block());
}

TEST(PageEncoderTest, ADictionaryColumnStaysOneEvenIfConstant) {
  ValueShape shape{.width = 1};
  shape.entries = std::make_shared<ValueShape>(kText);
  PageData page = Numbers<uint8_t>(10, [](size_t) { return 0; });
  page.dictionary.entries.Append("abc", 3);
  page.dictionary.offsets.AppendValue<uint32_t>(0);
  page.dictionary.offsets.AppendValue<uint32_t>(3);
  page.dictionary.count = 1;
  const auto encoded = Encode(shape, std::move(page));
  EXPECT_TRUE(encoded.layout.mini_block().has_dictionary());
  EXPECT_EQ(encoded.layout.mini_block().num_dictionary_items(), 1);
}

TEST(PageEncoderTest, ARowWithTooManyEmptyListsLeavesTheChunks) {
  // One row: a list of 70,000 empty lists and one of a value.
  const LevelShape shape({LevelShape::Layer::kList, LevelShape::Layer::kList});
  const auto rows = [] {
    PageData page = Numbers<uint32_t>(1, Noise);
    for (int i = 0; i < 70'001; ++i) {
      page.repetitions.AppendValue<uint8_t>(i == 0 ? 2 : 1);
      page.codes.AppendValue<uint8_t>(i == 70'000 ? 0 : 3);
    }
    return page;
  };
  const auto page = EncodePage(kInteger, shape, {}, rows());
  ASSERT_TRUE(page.ok());
  EXPECT_TRUE(page->layout.has_full_zip() || page->layout.has_constant());
  PageData bools = rows();
  bools.values.Truncate(1);
  ValueShape boolean{.is_bool = true, .width = 1};
  LeafEncoding old;
  old.version = kFileVersion21;
  EXPECT_EQ(CodeOf(EncodePage(boolean, shape, old, std::move(bools)).status()),
            ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace lake::format
