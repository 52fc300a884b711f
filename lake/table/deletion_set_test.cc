#include <algorithm>
#include <iterator>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "lake/table/deletion_vector.h"

namespace lake::table {
namespace {

DeletionVector Of(const std::set<uint32_t>& rows) {
  std::vector<uint32_t> sorted(rows.begin(), rows.end());
  return DeletionVector::FromSortedRows(sorted);
}

TEST(DeletionSetTest, RandomSetsCombineAsSetsDo) {
  constexpr uint64_t kSeed = 5;
  SCOPED_TRACE(kSeed);
  std::mt19937 engine(kSeed);
  for (int i = 0; i < 300; ++i) {
    // From sparse to dense, also at the end of the numbers.
    const uint32_t bound = 1u << (1 + engine() % 12);
    const uint32_t base = i % 3 == 0 ? UINT32_MAX - bound + 1 : 0;
    std::set<uint32_t> a, b, both, any, left;
    for (uint32_t n = engine() % (bound + 1); n > 0; --n) a.insert(base + engine() % bound);
    for (uint32_t n = engine() % (bound + 1); n > 0; --n) b.insert(base + engine() % bound);
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(both, both.end()));
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::inserter(any, any.end()));
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(left, left.end()));
    EXPECT_EQ(DeletionVector::Intersection(Of(a), Of(b)), Of(both)) << i;
    EXPECT_EQ(DeletionVector::Union(Of(a), Of(b)), Of(any)) << i;
    EXPECT_EQ(DeletionVector::Difference(Of(a), Of(b)), Of(left)) << i;
    EXPECT_EQ(DeletionVector::FromSelection(Of(a).Selection()), Of(a));

    Context context;
    const std::string file = Of(a).ToArrowFile(context).ValueOrDie();
    EXPECT_EQ(DeletionVector::FromArrowFile(context, file, 1ull << 32, "f").ValueOrDie(), Of(a));
    EXPECT_EQ(DeletionVector::FromBitmap(Of(a).ToBitmap(), 1ull << 32, "f").ValueOrDie(), Of(a));
  }
}

TEST(DeletionSetTest, NothingIsASet) {
  const DeletionVector nothing;
  const DeletionVector one = Of({7});
  EXPECT_EQ(DeletionVector::Union(nothing, one), one);
  EXPECT_EQ(DeletionVector::Union(nothing, nothing), nothing);
  EXPECT_TRUE(DeletionVector::Intersection(nothing, one).empty());
  EXPECT_TRUE(DeletionVector::Difference(one, one).empty());
  EXPECT_EQ(DeletionVector::Difference(one, nothing), one);
}

}  // namespace
}  // namespace lake::table
