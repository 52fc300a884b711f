#include "lake/format/fsst.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lake/format/container.h"

namespace lake::format {
namespace {

std::string Table(const std::vector<std::string>& symbols, bool enabled = true) {
  std::string table;
  AppendLittle<uint64_t>(0x46535354ull << 32 | (enabled ? 1u << 24 : 0) | symbols.size(), &table);
  for (const std::string& symbol : symbols) table += symbol + std::string(8 - symbol.size(), '\0');
  for (const std::string& symbol : symbols) table += static_cast<char>(symbol.size());
  table.resize(2312);
  return table;
}

std::string DecodeWith(const FsstDecoder& decoder, std::string_view codes) {
  std::vector<uint8_t> out(FsstDecoder::MaxDecodedSize(codes.size()) + FsstDecoder::kSlack);
  uint8_t* const end = decoder.Decode(codes, out.data());
  if (end == nullptr) return "<bad>";
  return std::string(out.data(), end);
}

// The values that end before the codes `splits`, in one pass.
std::vector<std::string> DecodeMany(const FsstDecoder& decoder, std::string_view codes,
                                    const std::vector<size_t>& splits) {
  std::vector<uint8_t> out(FsstDecoder::MaxDecodedSize(codes.size()) + FsstDecoder::kSlack);
  std::vector<uint32_t> ends(codes.size() + 1);
  if (decoder.DecodeMany(codes, out.data(), ends.data()) == nullptr) return {"<bad>"};
  std::vector<std::string> values;
  size_t begin = 0;
  for (const size_t split : splits) {
    if (ends[split] == FsstDecoder::kInsideEscape) return {"<inside>"};
    values.emplace_back(out.data() + begin, out.data() + ends[split]);
    begin = ends[split];
  }
  return values;
}

TEST(FsstDecoderTest, DecodesSymbolsAndEscapes) {
  const auto decoder = FsstDecoder::DecodeFrom(Table({"the ", "lakehous", "e"}));
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  EXPECT_TRUE(decoder->enabled());
  EXPECT_EQ(DecodeWith(*decoder, std::string("\0\1\2", 3)), "the lakehouse");
  EXPECT_EQ(DecodeWith(*decoder, "\xFF!\2\xFF\xFF"), "!e\xFF");
  EXPECT_EQ(DecodeWith(*decoder, ""), "");
}

TEST(FsstDecoderTest, RefusesCodesThatAreNotOfTheTable) {
  const auto decoder = FsstDecoder::DecodeFrom(Table({"a"}));
  ASSERT_TRUE(decoder.ok());
  EXPECT_EQ(DecodeWith(*decoder, "\1"), "<bad>");
  EXPECT_EQ(DecodeWith(*decoder, "\xFF"), "<bad>") << "an escape with nothing behind it";
}

TEST(FsstDecoderTest, DecodesManyValuesInOnePass) {
  const auto decoder = FsstDecoder::DecodeFrom(Table({"the ", "lakehous", "e"}));
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  // Blocks without an escape, with one across their border, and a rest.
  std::string codes;
  std::vector<size_t> splits;
  std::vector<std::string> values;
  for (int i = 0; i < 20; ++i) {
    const std::string value = i % 5 == 3 ? "\xFFx\2\xFF\xFF" : std::string("\0\1\2", i % 4);
    codes += value;
    splits.push_back(codes.size());
    values.push_back(DecodeWith(*decoder, value));
  }
  EXPECT_EQ(DecodeMany(*decoder, codes, splits), values);
  EXPECT_EQ(DecodeMany(*decoder, "", {0}), std::vector<std::string>{""});
  EXPECT_EQ(DecodeMany(*decoder, "\2\xFFx", {2}), std::vector<std::string>{"<inside>"});
  EXPECT_EQ(DecodeMany(*decoder, "\2\xFF", {2}), std::vector<std::string>{"<bad>"});
  EXPECT_EQ(DecodeMany(*decoder, std::string(20, '\2') + "\3", {21}),
            std::vector<std::string>{"<bad>"});
}

TEST(FsstDecoderTest, KnowsASwitchedOffTable) {
  const auto decoder = FsstDecoder::DecodeFrom(Table({}, false));
  ASSERT_TRUE(decoder.ok());
  EXPECT_FALSE(decoder->enabled());
}

TEST(FsstDecoderTest, RefusesDamagedTables) {
  const std::string good = Table({"ab", "c"});
  EXPECT_FALSE(FsstDecoder::DecodeFrom("").ok());
  EXPECT_FALSE(FsstDecoder::DecodeFrom(good.substr(0, 8 + 2 * 9 - 1)).ok());
  EXPECT_TRUE(FsstDecoder::DecodeFrom(good.substr(0, 8 + 2 * 9)).ok());
  std::string magic = good;
  magic[7] = 'x';
  EXPECT_FALSE(FsstDecoder::DecodeFrom(magic).ok());
  for (const char length : {'\0', '\x09'}) {
    std::string table = good;
    table[8 + 16] = length;
    EXPECT_FALSE(FsstDecoder::DecodeFrom(table).ok()) << int{length};
  }
}

}  // namespace
}  // namespace lake::format
