#include "lake/table/row_id_sequence.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "lake/table/row_ids.pb.h"

namespace lake::table {
namespace {

std::vector<uint64_t> Values(const RowIdSequence& sequence) {
  std::vector<uint64_t> values;
  for (uint64_t row = 0; row < sequence.size(); ++row) values.push_back(sequence.At(row));
  return values;
}

RowIdSequence Of(const std::vector<uint64_t>& ids) {
  RowIdSequence sequence;
  for (uint64_t id : ids) sequence.Append(id, 1);
  return sequence;
}

pb::RowIdSequence Encoded(const RowIdSequence& sequence) {
  pb::RowIdSequence message;
  EXPECT_TRUE(message.ParseFromString(sequence.Encode()));
  return message;
}

Result<RowIdSequence> Decode(const pb::RowIdSequence& message, uint64_t max_rows = 1000) {
  return RowIdSequence::Decode(message.SerializeAsString(), max_rows, "test");
}

TEST(RowIdSequenceTest, ReadsEverySegmentOfTheFormat) {
  pb::RowIdSequence message;
  message.add_segments()->mutable_range()->set_end(3);
  auto* holes = message.add_segments()->mutable_range_with_holes();
  holes->set_start(10);
  holes->set_end(15);
  holes->mutable_holes()->mutable_u16_array()->set_base(10);
  holes->mutable_holes()->mutable_u16_array()->set_offsets(std::string("\x01\x00\x03\x00", 4));
  auto* bitmap = message.add_segments()->mutable_range_with_bitmap();
  bitmap->set_start(20);
  bitmap->set_end(30);
  // The lowest bit first.
  bitmap->set_bitmap(std::string("\x05\x02", 2));
  auto* sorted = message.add_segments()->mutable_sorted_array()->mutable_u32_array();
  sorted->set_base(100);
  sorted->set_offsets(std::string("\x00\x00\x00\x00\x05\x00\x00\x00", 8));
  message.add_segments()->mutable_array()->mutable_u64_array()->set_values(
      std::string("\x09\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(Values(Decode(message).ValueOrDie()),
            (std::vector<uint64_t>{0, 1, 2, 10, 12, 14, 20, 22, 29, 100, 105, 9, 8}));
}

TEST(RowIdSequenceTest, ChoosesTheShortForm) {
  using Segment = pb::U64Segment;
  std::vector<uint64_t> every_other;
  std::vector<uint64_t> few_missing;
  std::vector<uint64_t> scattered;
  std::vector<uint64_t> shuffled(1000);
  for (uint64_t i = 0; i < 1000; ++i) {
    if (i % 2 == 0) every_other.push_back(i);
    if (i % 97 != 5) few_missing.push_back(i);
    if (i < 50) scattered.push_back(i * i * 37);
  }
  std::iota(shuffled.begin(), shuffled.end(), 7);
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
  const std::pair<std::vector<uint64_t>, Segment::SegmentCase> cases[] = {
      {{5, 6, 7}, Segment::kRange},
      {every_other, Segment::kRangeWithBitmap},
      {few_missing, Segment::kRangeWithHoles},
      {scattered, Segment::kSortedArray},
      {shuffled, Segment::kArray},
  };
  for (const auto& [ids, form] : cases) {
    const pb::RowIdSequence message = Encoded(Of(ids));
    ASSERT_EQ(message.segments_size(), 1) << form;
    EXPECT_EQ(message.segments(0).segment_case(), form);
    EXPECT_EQ(Values(Decode(message).ValueOrDie()), ids);
  }
}

TEST(RowIdSequenceTest, SelectsAndVisits) {
  RowIdSequence sequence;
  sequence.Append(100, 5);
  sequence.Append(0, 5);
  sequence.Append(5, 1);
  EXPECT_EQ(sequence.runs().size(), 2u);
  format::RowSelection rows;
  rows.Append(3, 4);
  rows.Append(10, 1);
  EXPECT_EQ(Values(sequence.Select(rows)), (std::vector<uint64_t>{103, 104, 0, 1, 5}));

  RowVersionSequence versions;
  versions.Append(4, 1);
  versions.Append(4, 3);
  versions.Append(3, 3);
  EXPECT_EQ(versions.runs().size(), 2u);
  RowVersionSequence expected;
  expected.Append(1, 1);
  expected.Append(4, 3);
  EXPECT_EQ(versions.Select(rows), expected);
  EXPECT_EQ(versions.At(3), 1u);
  EXPECT_EQ(versions.At(4), 3u);
  EXPECT_EQ(RowVersionSequence::Decode(versions.Encode(), 11, "test").ValueOrDie(), versions);
}

TEST(RowIdSequenceTest, HostileBytesAreRefused) {
  auto code = [](const pb::RowIdSequence& message) { return CodeOf(Decode(message, 10).status()); };
  pb::RowIdSequence message;
  message.add_segments()->mutable_range()->set_end(UINT64_MAX);
  EXPECT_EQ(code(message), ErrorCode::kCorrupt) << "more values than rows";
  message.mutable_segments(0)->mutable_range()->set_start(5);
  message.mutable_segments(0)->mutable_range()->set_end(4);
  EXPECT_EQ(code(message), ErrorCode::kCorrupt);
  auto* bitmap = message.mutable_segments(0)->mutable_range_with_bitmap();
  bitmap->set_end(1ull << 60);
  bitmap->set_bitmap("x");
  EXPECT_EQ(code(message), ErrorCode::kCorrupt);
  auto* holes = message.mutable_segments(0)->mutable_range_with_holes();
  holes->set_end(5);
  holes->mutable_holes()->mutable_u16_array()->set_offsets(std::string("\x03\0\x01\0", 4));
  EXPECT_EQ(code(message), ErrorCode::kCorrupt) << "holes out of order";
  message.mutable_segments(0)->mutable_array()->mutable_u16_array()->set_offsets("odd");
  EXPECT_EQ(code(message), ErrorCode::kCorrupt);
  message.mutable_segments(0)->mutable_array()->mutable_u16_array()->set_base(UINT64_MAX);
  message.mutable_segments(0)->mutable_array()->mutable_u16_array()->set_offsets("\x01\x01");
  EXPECT_EQ(code(message), ErrorCode::kCorrupt) << "overflow";
  message.mutable_segments(0)->Clear();
  EXPECT_EQ(code(message), ErrorCode::kUnsupported) << "a segment of the future";
  EXPECT_EQ(CodeOf(RowIdSequence::Decode("\xff", 10, "t").status()), ErrorCode::kCorrupt);
}

TEST(RowIdSequenceTest, RandomSequencesComeBack) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 engine(kSeed);
  for (int i = 0; i < 500; ++i) {
    RowIdSequence sequence;
    uint64_t next = engine() % 1000;
    const uint64_t runs = engine() % 200;
    for (uint64_t run = 0; run < runs; ++run) {
      const uint64_t count = 1 + engine() % (i % 5 == 0 ? 2 : 50);
      sequence.Append(next, count);
      next += count;
      switch (engine() % 4) {
        case 0:
          next += engine() % (1ull << (engine() % 40));
          break;
        case 1:
          next = engine() % (1ull << (engine() % 60));
          break;
        default:
          next += engine() % 3;
      }
    }
    auto back = RowIdSequence::Decode(sequence.Encode(), sequence.size(), "test").ValueOrDie();
    ASSERT_EQ(Values(back), Values(sequence)) << i;
    // Mutants of it never crash, and never give more than was asked for.
    std::string bytes = sequence.Encode();
    for (int mutation = 0; mutation < 20 && !bytes.empty(); ++mutation) {
      bytes[engine() % bytes.size()] = static_cast<char>(engine());
      auto mutant = RowIdSequence::Decode(bytes, 10'000, "test");
      if (mutant.ok()) EXPECT_LE(mutant->size(), 10'000u);
    }
  }
}

}  // namespace
}  // namespace lake::table
