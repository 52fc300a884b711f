#include "lake/format/reading_floor.h"

#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/inspect.h"
#include "lake/format/schema.h"
#include "lake/format/testing/fixtures.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The rows of the first table of a page, without its head.
std::vector<std::pair<std::string, std::string>> FirstTable(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::pair<std::string, std::string>> rows;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("|---")) {
      inside = true;
      continue;
    }
    if (inside && !line.starts_with("| ")) break;
    if (!inside) continue;
    const size_t middle = line.rfind(" | ");
    rows.emplace_back(line.substr(2, middle - 2),
                      line.substr(middle + 3, line.size() - middle - 5));
  }
  return rows;
}

TEST(ReadingFloorTest, ThePageOfTheDocsHasTheSameRows) {
  std::vector<std::pair<std::string, std::string>> rows;
  std::set<FloorFact> facts;
  for (const FloorRow& row : FloorRows()) {
    rows.emplace_back(row.what, row.since.ToString());
    EXPECT_TRUE(facts.insert(row.fact).second) << row.what;
  }
  EXPECT_EQ(FirstTable("docs/format/floors.md"), rows);
}

TEST(ReadingFloorTest, TheNewestOfAllDecides) {
  ReadingFloor floor;
  floor.Add(kFileVersion21);
  floor.Add(FloorFact::kBasePaths);
  EXPECT_EQ(floor.release(), (LanceRelease{1, 0}));
  EXPECT_THAT(floor.reasons(),
              ElementsAre("files of version 2.1", "files in other folders (flag 16)"));
  floor.Add(kFileVersion22);
  floor.Add(kFileVersion22);
  EXPECT_EQ(floor.ToString(), "Lance 3.0 and later (files of version 2.2)");
  EXPECT_LT((LanceRelease{3, 0}), (LanceRelease{12, 0}));
  floor.Add(FileVersion{3, 1});
  floor.Add(FloorFact::kMixedFileVersions);
  EXPECT_FALSE(floor.release());
  EXPECT_EQ(floor.ToString(), "no Lance that lake knows of (files of version 3.1)");
}

TEST(ReadingFloorTest, TypesCountAtAnyDepth) {
  Field json;
  json.logical_type = "json";
  Field list;
  list.logical_type = "list";
  list.children.push_back(json);
  ReadingFloor floor;
  floor.Add(list, kFileVersion20);
  EXPECT_EQ(floor.release(), (LanceRelease{1, 0}));
}

/// What the fixtures' own names tell: the version at the end, and the one page layout that is
/// newer.
TEST(ReadingFloorTest, OfFixtures) {
  for (const Fixture& fixture : Fixtures()) {
    const auto store = StoreWith("f.lance", fixture.bytes);
    const auto file = InspectFile(Context(), store.get(), "f.lance");
    ASSERT_TRUE(file.ok()) << fixture.name << ": " << file.status();
    const ReadingFloor floor = FloorOf(*file);
    ASSERT_TRUE(floor.release()) << fixture.name;
    ReadingFloor of_version;
    of_version.Add(file->version);
    EXPECT_GE(*floor.release(), *of_version.release()) << fixture.name;
    EXPECT_THAT(ToText(*file), HasSubstr("read by Lance " + floor.release()->ToString()));
    EXPECT_THAT(floor.reasons(), ::testing::Not(IsEmpty()));
  }
  const auto floor_of = [](const std::string& name) {
    const auto store = StoreWith("f.lance", FindFixture(name).bytes);
    return FloorOf(InspectFile(Context(), store.get(), "f.lance").ValueOrDie()).release();
  };
  EXPECT_EQ(floor_of("flat-2.1"), (LanceRelease{1, 0}));
  EXPECT_EQ(floor_of("packed_var-2.2"), (LanceRelease{3, 0}));
  EXPECT_EQ(floor_of("json_col-2.1"), (LanceRelease{1, 0}));
  // Lists whose items are all null.
  EXPECT_EQ(floor_of("fsl_wide-2.2"), (LanceRelease{12, 0}));
  EXPECT_EQ(floor_of("all_null_types-2.0"), (LanceRelease{0, 16}));
}

}  // namespace
}  // namespace lake::format
