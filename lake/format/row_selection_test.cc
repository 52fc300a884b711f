#include "lake/format/row_selection.h"

#include <vector>

#include <gtest/gtest.h>

namespace lake::format {
namespace {

std::vector<RowRange> Ranges(const RowSelection& selection) {
  return {selection.ranges().begin(), selection.ranges().end()};
}

TEST(RowSelectionTest, AppendMergesRangesThatTouch) {
  RowSelection selection(2, 3);
  selection.Append(5, 1);
  selection.Append(9, 0);
  selection.Append(8, 2);
  EXPECT_EQ(Ranges(selection), (std::vector<RowRange>{{2, 4}, {8, 2}}));
  EXPECT_EQ(selection.num_rows(), 6u);
}

TEST(RowSelectionTest, FromSortedRowsMakesRuns) {
  const uint64_t rows[] = {0, 1, 2, 7, 9, 10};
  const RowSelection selection = RowSelection::FromSortedRows(rows);
  EXPECT_EQ(Ranges(selection), (std::vector<RowRange>{{0, 3}, {7, 1}, {9, 2}}));
}

TEST(RowSelectionTest, SliceCutsBothEnds) {
  RowSelection selection(0, 4);
  selection.Append(6, 4);
  selection.Append(20, 1);
  EXPECT_EQ(Ranges(selection.Slice(3, 5)), (std::vector<RowRange>{{3, 1}, {6, 2}}));
  EXPECT_EQ(Ranges(selection.Slice(4, 2)), (std::vector<RowRange>{}));
  EXPECT_EQ(selection.Slice(0, 100).num_rows(), selection.num_rows());
  EXPECT_TRUE(selection.Slice(30, 5).empty());
}

TEST(RowSelectionTest, EmptySelection) {
  EXPECT_TRUE(RowSelection().empty());
  EXPECT_TRUE(RowSelection(5, 0).ranges().empty());
  EXPECT_TRUE(RowSelection().Slice(0, 10).empty());
}

}  // namespace
}  // namespace lake::format
