#include "lake/objects/stream_hasher.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "lake/base/testing/fake_random.h"

namespace lake::objects {
namespace {

// Two buffers that are overwritten in turn, as the upload uses it, give the digest of the whole
// stream.
TEST(StreamHasherTest, AlternatingBuffersGiveTheDigestOfTheStream) {
  constexpr uint64_t kSeed = 20261129;
  SCOPED_TRACE(kSeed);
  FakeRandom random(kSeed);
  for (int num_blocks : {0, 1, 2, 3, 50}) {
    StreamHasher hasher;
    Sha256 expected;
    std::array<std::vector<uint8_t>, 2> buffers;
    for (int i = 0; i < num_blocks; ++i) {
      std::vector<uint8_t>& buffer = buffers[i % 2];
      buffer.resize(random.NextBelow(100'000));
      random.Fill(buffer);
      expected.Update(buffer);
      hasher.Add(buffer);
    }
    EXPECT_EQ(hasher.Finish(), expected.Finish()) << num_blocks;
  }
}

TEST(StreamHasherTest, DestructionWithoutFinishEnds) {
  std::vector<uint8_t> block(1 << 20, 7);
  StreamHasher hasher;
  hasher.Add(block);
  hasher.Add(block);
}

}  // namespace
}  // namespace lake::objects
