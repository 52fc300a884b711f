#include "lake/base/config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace lake {
namespace {

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "lake-config-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void WriteToml(const std::string& text) { std::ofstream(folder_ + "/lake.toml") << text; }

  Result<Config> Load(std::map<std::string, std::string> flags,
                      std::map<std::string, std::string> environment = {}) {
    flags["data_dir"] = folder_;
    return Config::Load({.flags = std::move(flags), .environment = std::move(environment)});
  }

  std::string OriginOf(const Config& config, std::string_view name) {
    for (const auto& value : config.values()) {
      if (value.key->name == name) return value.origin;
    }
    return "";
  }

  std::string folder_;
};

TEST_F(ConfigTest, FlagsWinOverEnvironmentOverFileOverDefaults) {
  auto config = Load({});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->Text("time_zone"), "UTC");
  EXPECT_EQ(OriginOf(*config, "time_zone"), "default");

  WriteToml("time_zone = 'Asia/Tokyo'\nthreads = 3\n");
  config = Load({});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->Text("time_zone"), "Asia/Tokyo");
  EXPECT_EQ(config->Integer("threads"), 3);
  EXPECT_EQ(OriginOf(*config, "time_zone"), folder_ + "/lake.toml");

  config = Load({}, {{"LAKE_TIME_ZONE", "Europe/Berlin"}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->Text("time_zone"), "Europe/Berlin");
  EXPECT_EQ(OriginOf(*config, "time_zone"), "environment LAKE_TIME_ZONE");

  config = Load({{"time_zone", "America/Lima"}}, {{"LAKE_TIME_ZONE", "Europe/Berlin"}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->Text("time_zone"), "America/Lima");
  EXPECT_EQ(OriginOf(*config, "time_zone"), "flag");
}

TEST_F(ConfigTest, AnUnknownKeyNamesTheNearestKnownOne) {
  WriteToml("memory_limt = '1 GB'\n");
  Status status = Load({}).status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument);
  EXPECT_NE(status.message().find("'memory_limit'"), std::string::npos) << status;

  std::filesystem::remove(folder_ + "/lake.toml");
  status = Load({}, {{"LAKE_TIMEZONE", "UTC"}}).status();
  EXPECT_NE(status.message().find("'time_zone'"), std::string::npos) << status;
}

TEST_F(ConfigTest, VariablesOfTheTestSuiteAndOfOthersAreLeftAlone) {
  EXPECT_TRUE(Load({}, {{"LAKE_TEST_STOP_AT", "x"}, {"LAKEVIEW", "y"}, {"PATH", "z"}}).ok());
}

TEST_F(ConfigTest, AWrongValueNamesSourceKeyAndExpectation) {
  Status status = Load({{"memory_limit", "lots"}}).status();
  EXPECT_NE(status.message().find("memory_limit (flag)"), std::string::npos) << status;
  EXPECT_NE(status.message().find("256 MiB"), std::string::npos) << status;
  EXPECT_FALSE(Load({{"threads", "-1"}}).ok());
  EXPECT_FALSE(Load({{"log_level", "loud"}}).ok());
  EXPECT_FALSE(Load({{"write_buffer_bytes", "0"}}).ok());
  EXPECT_FALSE(Load({{"time_zone", ""}}).ok());
  EXPECT_FALSE(Config::Load({.flags = {{"data_dir", ""}}, .environment = {}}).ok());
}

TEST_F(ConfigTest, BrokenTomlNamesTheLine) {
  WriteToml("threads = 1\ntime_zone = \n");
  Status status = Load({}).status();
  EXPECT_NE(status.message().find("line 2"), std::string::npos) << status;
}

TEST_F(ConfigTest, AFileThatCannotBeSeenIsNotTakenForMissing) {
  // A link to itself is the one such case that also root meets.
  std::filesystem::create_symlink("lake.toml", folder_ + "/lake.toml");
  EXPECT_EQ(CodeOf(Load({}).status()), ErrorCode::kPermissionDenied);
}

TEST_F(ConfigTest, TheDataFolderCannotBeSetInsideItself) {
  WriteToml("data_dir = '/elsewhere'\n");
  EXPECT_FALSE(Load({}).ok());
}

TEST(ParseBytesTest, TakesDecimalAndBinaryUnits) {
  EXPECT_EQ(*ParseBytes("0"), 0);
  EXPECT_EQ(*ParseBytes("65536"), 65536);
  EXPECT_EQ(*ParseBytes("64KiB"), 65536);
  EXPECT_EQ(*ParseBytes("64 KiB"), 65536);
  EXPECT_EQ(*ParseBytes("2 GB"), 2'000'000'000);
  EXPECT_EQ(*ParseBytes("3 KB"), 3000);
  for (const char* text : {"", "GB", "-1", "1.5 GB", "1 XB", "9223372036854775807 KiB"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
}

}  // namespace
}  // namespace lake
