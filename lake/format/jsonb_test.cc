#include "lake/format/jsonb.h"

#include <random>

#include <arrow/array/array_binary.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/util.h>
#include <gtest/gtest.h>

namespace lake::format {
namespace {

std::string Unhex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// What pylance 14.0.2 stored for a text, and printed for what it stored.
struct Case {
  const char* text;
  const char* printed;
  const char* hex;
};

const Case kCases[] = {
    {"1", "1", "20000000200000025001"},
    {"0", "0", "200000002000000100"},
    {"-1", "-1", "200000002000000240ff"},
    {"255", "255", "200000002000000250ff"},
    {"256", "256", "2000000020000003500100"},
    {"-128", "-128", "20000000200000024080"},
    {"-129", "-129", "200000002000000340ff7f"},
    {"65536", "65536", "20000000200000055000010000"},
    {"4294967296", "4294967296", "2000000020000009500000000100000000"},
    {"18446744073709551615", "18446744073709551615", "200000002000000950ffffffffffffffff"},
    {"-9223372036854775808", "-9223372036854775808", "2000000020000009408000000000000000"},
    {"18446744073709551616", "1.8446744073709552e+19", "20000000200000096043f0000000000000"},
    {"1.5", "1.5", "2000000020000009603ff8000000000000"},
    {"1.0", "1.0", "2000000020000009603ff0000000000000"},
    {"-0.0", "-0.0", "2000000020000009608000000000000000"},
    {"0.0", "0.0", "2000000020000009600000000000000000"},
    {"1e10", "10000000000.0", "2000000020000009604202a05f20000000"},
    {"1e100", "1e+100", "20000000200000096054b249ad2594c37d"},
    {"1e-7", "1e-7", "2000000020000009603e7ad7f29abcaf48"},
    {"0.1", "0.1", "2000000020000009603fb999999999999a"},
    {"123456789.123", "123456789.123", "200000002000000960419d6f34547df3b6"},
    {"1e16", "1e+16",
     "20000000200000096"
     "04341c37937e08000"},
    {"3.14159265358979", "3.14159265358979", "200000002000000960400921fb54442d11"},
    {R"("a\"b\\c\n\t\u0001\u00e9\/\ud83d\ude00\b\f")", "\"a\\\"b\\\\c\\n\\t\\u0001é/😀\\b\\f\"",
     "20000000100000116122625c630a0901c3a92ff09f9880080c"},
    {"null", "null", "2000000000000000"},
    {"true", "true", "2000000040000000"},
    {"false", "false", "2000000030000000"},
    {"[]", "[]", "80000000"},
    {"{}", "{}", "40000000"},
    {R"([1,[2,{"b":1,"a":[]}]])", R"([1,[2,{"a":[],"b":1}]])",
     "80000002200000025000002a500180000002200000025000001c50024000000210000001100000015000000420000"
     "0"
     "026162800000005001"},
    {R"( { "x" : [ 1 , 2 ] } )", R"({"x":[1,2]})",
     "4000000110000001500000107880000002200000022000000250015002"},
    {R"({"é":1,"z":2,"aa":3,"b":4})", R"({"aa":3,"b":4,"z":2,"é":1})",
     "4000000410000002100000011000000110000002200000022000000220000002200000026161627ac3a9500350045"
     "0"
     "025001"},
};

TEST(JsonbTest, TextAndBytesAreThoseOfUpstream) {
  for (const Case& test : kCases) {
    SCOPED_TRACE(test.text);
    std::string jsonb;
    const Status encoded = AppendJsonb(test.text, &jsonb);
    ASSERT_TRUE(encoded.ok()) << encoded;
    EXPECT_EQ(jsonb, Unhex(test.hex));
    std::string text;
    const Status decoded = AppendJsonText(Unhex(test.hex), &text);
    ASSERT_TRUE(decoded.ok()) << decoded;
    EXPECT_EQ(text, test.printed);
  }
}

TEST(JsonbTest, TextThatIsNotJsonIsRefused) {
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  for (const std::string& text :
       {std::string(""), std::string("nul"), std::string("[1,]"), std::string("{\"a\"}"),
        std::string("{\"a\":1,\"a\":2}"), std::string("01"), std::string("1."), std::string("1e"),
        std::string("\"\\x\""), std::string("\"\\ud800\""), std::string("\"a"), std::string("1 2"),
        std::string("\"\xFF\""), std::string("1e400"), std::string("{1:2}"), deep}) {
    std::string jsonb;
    EXPECT_EQ(CodeOf(AppendJsonb(text, &jsonb)), ErrorCode::kInvalidArgument) << text;
  }
}

TEST(JsonbTest, DamagedBytesAreCorruptOrText) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (const Case& test : kCases) {
    const std::string good = Unhex(test.hex);
    for (size_t size = 0; size < good.size(); ++size) {
      std::string text;
      AppendJsonText(good.substr(0, size), &text).ok();
    }
    for (int i = 0; i < 300; ++i) {
      std::string bad = good;
      bad[random() % bad.size()] = static_cast<char>(random());
      std::string text;
      const Status status = AppendJsonText(bad, &text);
      if (status.ok()) {
        std::string again;
        // Only numbers that JSON lacks, and keys twice, do not go back.
        AppendJsonb(text, &again).ok();
      } else {
        EXPECT_NE(CodeOf(status), ErrorCode::kInternal) << status;
      }
    }
  }
}

TEST(JsonbTest, ColumnsKeepTheirNullsAndNameTheBadRow) {
  arrow::LargeBinaryBuilder builder;
  ASSERT_TRUE(builder.Append(Unhex("80000000")).ok());
  ASSERT_TRUE(builder.AppendNull().ok());
  const auto column = builder.Finish().ValueOrDie();
  const auto texts = JsonbToText(*column->data(), arrow::default_memory_pool());
  ASSERT_TRUE(texts.ok()) << texts.status();
  const auto strings = arrow::MakeArray(*texts);
  EXPECT_EQ(static_cast<const arrow::StringArray&>(*strings).GetString(0), "[]");
  EXPECT_TRUE(strings->IsNull(1));
  ASSERT_TRUE(builder.Append("bad").ok());
  const auto damaged = builder.Finish().ValueOrDie();
  const auto bad = JsonbToText(*damaged->data(), arrow::default_memory_pool());
  EXPECT_EQ(CodeOf(bad.status()), ErrorCode::kCorrupt);
  EXPECT_NE(ErrorText(bad.status()).find("JSON value 0"), std::string::npos);
}

}  // namespace
}  // namespace lake::format
