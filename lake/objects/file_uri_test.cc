#include "lake/objects/file_uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/testing/fake_random.h"

namespace lake::objects {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(FileUriTest, PathsBecomeUris) {
  EXPECT_EQ(FileUriFromPath("/a/b.txt"), "file:///a/b.txt");
  EXPECT_EQ(FileUriFromPath("/a b/100%/#1/ü?"), "file:///a%20b/100%25/%231/%C3%BC%3F");
  EXPECT_EQ(FileUriFromPath("/a/"), "file:///a");
  EXPECT_EQ(FileUriFromPath("/"), "file:///");
}

TEST(FileUriTest, UrisBecomePaths) {
  EXPECT_EQ(PathFromFileUri("file:///a/b.txt").ValueOrDie(), "/a/b.txt");
  EXPECT_EQ(PathFromFileUri("file:///a%20b/100%25/%231/%c3%BC%3F").ValueOrDie(), "/a b/100%/#1/ü?");
  // Decoded exactly once.
  EXPECT_EQ(PathFromFileUri("file:///a%2520b").ValueOrDie(), "/a%20b");
  EXPECT_EQ(PathFromFileUri("file:///").ValueOrDie(), "/");
}

TEST(FileUriTest, EveryByteSurvivesTheRoundTrip) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  FakeRandom random(kSeed);
  for (int i = 0; i < 2000; ++i) {
    std::string path;
    uint64_t num_segments = 1 + random.NextBelow(4);
    for (uint64_t s = 0; s < num_segments; ++s) {
      path += "/x";  // never '.' or '..'
      for (uint64_t c = random.NextBelow(8); c > 0; --c) {
        char byte = static_cast<char>(1 + random.NextBelow(255));
        path.push_back(byte == '/' ? '_' : byte);
      }
    }
    std::string uri = FileUriFromPath(path);
    Result<std::string> back = PathFromFileUri(uri);
    ASSERT_TRUE(back.ok()) << uri << ": " << back.status().ToString();
    EXPECT_EQ(*back, path);
    EXPECT_EQ(FileUriFromPath(*back), uri);
  }
}

TEST(FileUriTest, HostileUrisAreRefused) {
  const char* uris[] = {
      "",
      "/a/b",
      "file:",
      "file:/a",
      "file://",
      "FILE:///a",
      "file://host/a",
      "file://localhost/a",
      "file://user:secret@host/a",
      "file://user@/a",
      "http:///a",
      "s3://bucket/a",
      "file:///a?query",
      "file:///a#fragment",
      "file:///a/../b",
      "file:///a/..",
      "file:///a/./b",
      "file:///a/%2e%2e/b",
      "file:///a/.%2E/b",
      "file:///a/%2E/b",
      "file:////a",
      "file:///a//b",
      "file:///a/",
      "file:///a%2Fb",
      "file:///a%2fb",
      "file:///a%00",
      "file:///a%",
      "file:///a%4",
      "file:///a%zz",
      "file:///a%/41",
      "file:///a b",
      "file:///a\\b",
      "file:///a\nb",
      "file:///\xC3\xBC",
      "file:///a\"b",
      "file:///a<b>",
      "file:///a[b]",
  };
  for (const char* uri : uris) {
    Result<std::string> path = PathFromFileUri(uri);
    ASSERT_FALSE(path.ok()) << uri;
    EXPECT_EQ(CodeOf(path.status()), ErrorCode::kInvalidArgument) << uri;
  }
  EXPECT_FALSE(PathFromFileUri(std::string("file:///a\0b", 11)).ok());
}

// MO-05: what could be a credential or a signature never reaches a text.
TEST(FileUriTest, TextsShowNoSecrets) {
  EXPECT_EQ(RedactedUri("s3://key:secret@bucket/a"), "s3://...@bucket/a");
  EXPECT_EQ(RedactedUri("s3://a@b:secret@bucket/a@b"), "s3://...@bucket/a@b");
  EXPECT_EQ(RedactedUri("https://h/a?X-Amz-Signature=secret"), "https://h/a...");
  EXPECT_EQ(RedactedUri("file:///a#secret"), "file:///a...");
  EXPECT_EQ(RedactedUri("file:///a\n'\xFF"), "file:///a%0A%27%FF");
  EXPECT_LE(RedactedUri(std::string(100'000, 'a')).size(), 210u);
  for (const char* uri : {"file://user:secret@host/a", "file:///a?secret", "file:///a#secret"}) {
    EXPECT_THAT(PathFromFileUri(uri).status().ToString(), Not(HasSubstr("secret"))) << uri;
  }
}

}  // namespace
}  // namespace lake::objects
