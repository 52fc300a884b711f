#include "lake/service/workspace.h"

#include <gtest/gtest.h>

namespace lake::service {
namespace {

TEST(ParseTableNameTest, CutsAtTheDotOutsideQuotes) {
  EXPECT_EQ(*ParseTableName("ns.t"), (catalog::QualifiedName{"ns", "t"}));
  EXPECT_EQ(*ParseTableName("t"), (catalog::QualifiedName{"main", "t"}));
  EXPECT_EQ(*ParseTableName("\"a.b\".\"say \"\"t\"\"\""),
            (catalog::QualifiedName{"a.b", "say \"t\""}));
}

TEST(ParseTableNameTest, RefusesOtherForms) {
  for (const char* text : {"", ".", "a.", ".b", "a.b.c", "\"a", "a\"b\"", "\"a\"b.c", "\"\".t"}) {
    EXPECT_FALSE(ParseTableName(text).ok()) << text;
  }
}

TEST(QuoteIdentifierTest, DoublesQuotes) { EXPECT_EQ(QuoteIdentifier("a\"b"), "\"a\"\"b\""); }

}  // namespace
}  // namespace lake::service
