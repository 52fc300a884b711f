#include "lake/base/log.h"

#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace lake {
namespace {

class LogTest : public testing::Test {
 protected:
  void TearDown() override { ConfigureLog(LogLevel::kWarning, LogFormat::kText); }

  std::string Captured(LogLevel level, const std::string& text) {
    testing::internal::CaptureStderr();
    Log(level, "{}", text);
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(LogTest, LevelsBelowTheConfiguredOneAreSilent) {
  EXPECT_EQ(Captured(LogLevel::kInfo, "quiet"), "");
  EXPECT_NE(Captured(LogLevel::kWarning, "loud"), "");
  ConfigureLog(LogLevel::kOff, LogFormat::kText);
  EXPECT_EQ(Captured(LogLevel::kError, "quiet"), "");
}

TEST_F(LogTest, TextLinesHaveTimeAndLevelAndStayOneLine) {
  std::string line = Captured(LogLevel::kError, "two\nlines");
  EXPECT_TRUE(std::regex_match(
      line, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z error two\\nlines\n)")))
      << line;
}

TEST_F(LogTest, JsonLinesQuoteTheMessage) {
  ConfigureLog(LogLevel::kDebug, LogFormat::kJson);
  std::string line = Captured(LogLevel::kInfo, "say \"hi\" %v");
  EXPECT_NE(line.find(R"("level":"info","message":"say \"hi\" %v"})"), std::string::npos) << line;
}

TEST_F(LogTest, JsonLinesAreUtf8WhateverTheMessageIs) {
  ConfigureLog(LogLevel::kDebug, LogFormat::kJson);
  EXPECT_NE(Captured(LogLevel::kInfo, "\xFF\x1B").find(R"("message":"\u00ff\u001b"})"),
            std::string::npos);
  EXPECT_NE(Captured(LogLevel::kInfo, "\u00FC").find("\"\u00FC\""), std::string::npos);
}

}  // namespace
}  // namespace lake
