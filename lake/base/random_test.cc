#include "lake/base/random.h"

#include <array>
#include <set>

#include <gtest/gtest.h>

#include "lake/base/testing/fake_random.h"

namespace lake {
namespace {

TEST(RandomTest, SystemSourceDoesNotRepeat) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(SystemRandom()->NextUint64()).second);
}

TEST(RandomTest, NextBelowStaysBelowAndReachesAll) {
  FakeRandom random(7);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    uint64_t value = random.NextBelow(10);
    ASSERT_LT(value, 10u);
    seen.insert(value);
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(random.NextBelow(1), 0u);
}

TEST(RandomTest, SameSeedSameBytes) {
  FakeRandom first(3);
  FakeRandom second(3);
  std::array<uint8_t, 32> a;
  std::array<uint8_t, 32> b;
  first.Fill(a);
  second.Fill(b);
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace lake
