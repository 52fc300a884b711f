#include <string>

#include <gtest/gtest.h>

#include "lake/catalog/types.h"

namespace lake::catalog {
namespace {

TEST(NamesTest, GoodNamesAreKeptOrNormalised) {
  struct Case {
    std::string name;
    std::string expected;
  };
  const Case cases[] = {
      {"t", "t"},
      {"With Space", "With Space"},
      {"a.b", "a.b"},
      {"..", ".."},
      {"main", "main"},
      {"_private", "_private"},
      {"temp", "temp"},
      {"_rows", "_rows"},
      {"a\u0308", "\u00e4"},
      {"\u1100\u1161", "\uac00"},
      {"\u65e5\u672c", "\u65e5\u672c"},
      {"\U0001F916", "\U0001F916"},
      {std::string(255, 'x'), std::string(255, 'x')},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(CheckedName(c.name, "table").ValueOr("refused"), c.expected) << c.name;
  }
}

TEST(NamesTest, BadNamesAreRefused) {
  struct Case {
    std::string name;
    const char* what;
    const char* reason;
  };
  const Case cases[] = {
      {"", "table", "empty"},
      {std::string(256, 'x'), "table", "too long"},
      {std::string(1 << 20, 'x'), "table", "too long"},
      {"a/b", "table", "'/'"},
      {"a\nb", "table", "control"},
      {std::string("a\0b", 3), "table", "control"},
      {"a\u0085", "table", "control"},
      {"\x7f", "table", "control"},
      {"\xc3", "table", "UTF-8"},
      {"\xc0\xaf", "table", "UTF-8"},
      {"\xed\xa0\x80", "table", "UTF-8"},
      {"\xff", "table", "UTF-8"},
      {"__t", "table", "reserved"},
      {"_lake", "table", "reserved"},
      {"_LAKE_x", "table", "reserved"},
      {"temp", "namespace", "reserved"},
      {"Information_Schema", "namespace", "reserved"},
      {"pg_catalog", "namespace", "reserved"},
      {"system", "namespace", "reserved"},
      {"_rowid", "column", "reserved"},
      {"_ROWADDR", "column", "reserved"},
      {"_distance", "column", "reserved"},
      {"_score", "column", "reserved"},
  };
  for (const Case& c : cases) {
    Result<std::string> checked = CheckedName(c.name, c.what);
    ASSERT_FALSE(checked.ok()) << c.name;
    EXPECT_EQ(CodeOf(checked.status()), ErrorCode::kInvalidArgument);
    EXPECT_NE(checked.status().message().find(c.reason), std::string::npos)
        << checked.status().message();
    EXPECT_EQ(checked.status().message().find(c.what), 0u) << checked.status().message();
  }
}

TEST(NamesTest, FoldingJoinsWhatDiffersByCaseOnly) {
  EXPECT_EQ(*FoldedName("EpisodeS"), "episodes");
  EXPECT_EQ(*FoldedName("\u00c4"), *FoldedName("a\u0308"));
  EXPECT_NE(*FoldedName("a"), *FoldedName("b"));
  EXPECT_FALSE(FoldedName("\xff").ok());
}

TEST(NamesTest, FolderNamesHoldPlainBytesOnly) {
  EXPECT_EQ(FolderName("abc-XYZ_09"), "abc-XYZ_09");
  EXPECT_EQ(FolderName("a b"), "a%20b");
  EXPECT_EQ(FolderName(".."), "%2E%2E");
  EXPECT_EQ(FolderName("100%"), "100%25");
  EXPECT_EQ(FolderName("\u00e4"), "%C3%A4");
  EXPECT_EQ(FolderName(std::string(255, 'x')), std::string(200, 'x'));
  // An escape is never cut.
  EXPECT_EQ(FolderName(std::string(199, 'x') + "\u00e4"), std::string(199, 'x'));
}

}  // namespace
}  // namespace lake::catalog
