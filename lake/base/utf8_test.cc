#include "lake/base/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace lake {
namespace {

TEST(Utf8Test, TakesWellFormedText) {
  for (const char* text : {"", "ascii", "Grüße", "日本語", "\xF4\x8F\xBF\xBF", "\xEF\xBF\xBF"}) {
    EXPECT_TRUE(IsValidUtf8(text)) << text;
  }
  EXPECT_TRUE(IsValidUtf8(std::string("\0", 1)));
}

TEST(Utf8Test, RefusesEverythingElse) {
  for (const char* text : {"\x80", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80",
                           "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF", "good\xC3"}) {
    EXPECT_FALSE(IsValidUtf8(text)) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace lake
