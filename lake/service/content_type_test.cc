#include "lake/service/content_type.h"

#include <gtest/gtest.h>

namespace lake::service {
namespace {

constexpr char kTable[] =
    "# a comment\n"
    "video/mp4\t\t\tmp4 MPG4\n"
    "application/mp4\n"
    "audio/mp4 m4a mp4\r\n"
    "text/plain txt # trailing comment\n"
    "nonsense xyz\n"
    "\n"
    "application/gzip gz";

TEST(ContentTypeTest, LastEndingDecides) {
  ContentTypeTable table = ContentTypeTable::Parse(kTable);
  EXPECT_EQ(table.size(), 5u);
  EXPECT_EQ(table.Guess("a.mp4"), "video/mp4");
  EXPECT_EQ(table.Guess("a.b/c.M4A"), "audio/mp4");
  EXPECT_EQ(table.Guess("a.mpg4"), "video/mp4");
  EXPECT_EQ(table.Guess("notes.txt"), "text/plain");
  EXPECT_EQ(table.Guess("notes.tar.gz"), "application/gzip");
}

TEST(ContentTypeTest, UnknownNamesAreOctetStreams) {
  ContentTypeTable table = ContentTypeTable::Parse(kTable);
  for (const char* name : {"", "a", "a.", ".mp4", "x/.mp4", "a.mp4/b", "a.xyz", "a.comment"}) {
    EXPECT_EQ(table.Guess(name), "application/octet-stream") << name;
  }
  EXPECT_EQ(ContentTypeTable::Parse("").Guess("a.mp4"), "application/octet-stream");
}

// Debian's media-types is a dependency of the program.
TEST(ContentTypeTest, TheMachinesTableKnowsTheUsualTypes) {
  EXPECT_EQ(GuessContentType("drive/video.mp4"), "video/mp4");
  EXPECT_EQ(GuessContentType("photo.JPG"), "image/jpeg");
  EXPECT_EQ(GuessContentType("sound.wav"), "audio/x-wav");
  EXPECT_EQ(GuessContentType("doc.pdf"), "application/pdf");
}

TEST(ContentTypeTest, KindIsTheFirstPart) {
  EXPECT_EQ(KindOfContentType("video/mp4"), "video");
  EXPECT_EQ(KindOfContentType("text/plain; charset=utf-8"), "text");
}

}  // namespace
}  // namespace lake::service
