#include "lake/format/fsst_encoder.h"

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "lake/format/fsst.h"

namespace lake::format {
namespace {

struct Texts {
  std::vector<uint32_t> offsets{0};
  ByteBuffer bytes;

  void Add(std::string_view text) {
    bytes.Append(text.data(), text.size());
    offsets.push_back(static_cast<uint32_t>(bytes.size()));
  }
  std::optional<FsstText> Encode() const { return EncodeFsst(offsets, bytes.as<uint8_t>()); }
};

void ExpectRoundTrip(const Texts& texts, const FsstText& encoded) {
  const auto decoder = FsstDecoder::DecodeFrom(encoded.symbol_table);
  ASSERT_TRUE(decoder.ok()) << decoder.status();
  ASSERT_TRUE(decoder->enabled());
  const auto ends = encoded.offsets.as<uint32_t>();
  ASSERT_EQ(ends.size(), texts.offsets.size());
  std::vector<uint8_t> out;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    const std::string_view codes = encoded.codes.view().substr(ends[i], ends[i + 1] - ends[i]);
    out.resize(FsstDecoder::MaxDecodedSize(codes.size()) + FsstDecoder::kSlack);
    const uint8_t* const end = decoder->Decode(codes, out.data());
    ASSERT_NE(end, nullptr);
    const std::string_view decoded(reinterpret_cast<const char*>(out.data()), end - out.data());
    ASSERT_EQ(decoded,
              texts.bytes.view().substr(texts.offsets[i], texts.offsets[i + 1] - texts.offsets[i]))
        << "value " << i;
  }
}

TEST(FsstEncoderTest, TextShrinksAndComesBack) {
  std::mt19937 random(5);
  const char* const words[] = {"warehouse ", "robot ", "camera ", "front ", "left ", "grasp "};
  Texts texts;
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (unsigned word = random() % 12; word != 0; --word) text += words[random() % 6];
    texts.Add(text);
  }
  const auto encoded = texts.Encode();
  ASSERT_TRUE(encoded);
  EXPECT_EQ(encoded->symbol_table.size(), 2312);
  EXPECT_LT(encoded->codes.size() * 2, texts.bytes.size());
  ExpectRoundTrip(texts, *encoded);
}

TEST(FsstEncoderTest, BytesThatTheSampleDoesNotHoldAreEscaped) {
  Texts texts;
  for (int i = 0; i < 4000; ++i) texts.Add("the same text again and again");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  // Between two sampled places.
  texts.Add(all);
  for (int i = 0; i < 4000; ++i) texts.Add("the same text again and again");
  for (const char* text : {"", "t", "th", "the", "\xff", "\xff\xff\xff"}) texts.Add(text);
  const auto encoded = texts.Encode();
  ASSERT_TRUE(encoded);
  ExpectRoundTrip(texts, *encoded);
}

TEST(FsstEncoderTest, RandomBytesAreGivenUp) {
  std::mt19937 random(6);
  Texts texts;
  for (int i = 0; i < 1000; ++i) {
    std::string text(100, 0);
    for (char& byte : text) byte = static_cast<char>(random());
    texts.Add(text);
  }
  EXPECT_FALSE(texts.Encode());
}

std::string RandomLetters(size_t length, std::mt19937* random) {
  static constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::string text(length, 0);
  for (char& byte : text) byte = kLetters[(*random)() % kLetters.size()];
  return text;
}

TEST(FsstEncoderTest, RandomLettersAreGivenUp) {
  std::mt19937 random(7);
  Texts texts;
  for (int i = 0; i < 20'000; ++i) texts.Add(RandomLetters(20 + random() % 9, &random));
  EXPECT_FALSE(texts.Encode());
}

TEST(FsstEncoderTest, AShortPieceInFrontOfRandomLettersIsFound) {
  std::mt19937 random(8);
  Texts texts;
  for (int i = 0; i < 5000; ++i) texts.Add("https://example.com/" + RandomLetters(120, &random));
  const auto encoded = texts.Encode();
  ASSERT_TRUE(encoded);
  EXPECT_LT(encoded->codes.size() * 10, texts.bytes.size() * 9);
  ExpectRoundTrip(texts, *encoded);
}

TEST(FsstEncoderTest, TextSmallerThanTheTableIsGivenUp) {
  Texts texts;
  for (int i = 0; i < 100; ++i) texts.Add("some text");
  EXPECT_FALSE(texts.Encode());
}

TEST(FsstEncoderTest, RandomAlphabets) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    const unsigned alphabet = 1 + random() % 40;
    const unsigned longest = 2 + random() % 700;
    Texts texts;
    while (texts.bytes.size() < 40'000) {
      std::string text(random() % longest, 0);
      for (char& byte : text) byte = static_cast<char>('!' + random() % alphabet);
      texts.Add(text);
    }
    if (const auto encoded = texts.Encode()) ExpectRoundTrip(texts, *encoded);
  }
}

}  // namespace
}  // namespace lake::format
