#include "lake/format/version.h"

#include <gtest/gtest.h>

namespace lake::format {
namespace {

TEST(FileVersionTest, ParsesWhatItPrints) {
  for (const char* text : {"0.1", "2.0", "2.1", "2.2", "2.3", "12.345"}) {
    const auto version = FileVersion::Parse(text);
    ASSERT_TRUE(version.ok()) << version.status();
    EXPECT_EQ(version->ToString(), text);
  }
}

TEST(FileVersionTest, RefusesOtherText) {
  for (const char* text :
       {"", "2", "2.", ".2", "2.2 ", " 2.2", "2.2.1", "-2.1", "a.b", "2.70000"}) {
    const auto version = FileVersion::Parse(text);
    ASSERT_FALSE(version.ok()) << text;
    EXPECT_EQ(CodeOf(version.status()), ErrorCode::kInvalidArgument);
  }
}

TEST(FileVersionTest, FooterNumbersOfVersion20AreOdd) {
  EXPECT_EQ(FileVersion::FromFooter(0, 3), (FileVersion{2, 0}));
  EXPECT_EQ(FileVersion::FromFooter(2, 0), (FileVersion{2, 0}));
  EXPECT_EQ(FileVersion::FromFooter(2, 2), kFileVersion22);
  EXPECT_EQ(FileVersion::FromFooter(0, 2), (FileVersion{0, 2}));
}

TEST(FileVersionTest, OthersThanTheStableOnesAreRefused) {
  EXPECT_TRUE(CheckReadable(kFileVersion20, "f").ok());
  EXPECT_TRUE(CheckReadable(kFileVersion21, "f").ok());
  EXPECT_TRUE(CheckReadable(kFileVersion22, "f").ok());
  EXPECT_TRUE(CheckReadable(kFileVersion23, "f").ok());
  for (const FileVersion version : {FileVersion{0, 2}, {2, 4}, {3, 0}}) {
    const Status status = CheckReadable(version, "data/x.lance");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported);
    EXPECT_NE(ErrorText(status).find(version.ToString()), std::string::npos);
    EXPECT_NE(ErrorText(status).find("data/x.lance"), std::string::npos);
  }
}

}  // namespace
}  // namespace lake::format
