#include "lake/table/deletion_vector.h"

#include <random>
#include <set>

#include <arrow/array/builder_primitive.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <roaring/roaring.h>

#include "lake/base/testing/fake_random.h"
#include "lake/storage/memory_store.h"
#include "lake/table/deletion_file.h"

namespace lake::table {
namespace {

using ::testing::HasSubstr;

std::string Bitmap(const std::vector<uint32_t>& rows, bool with_runs) {
  roaring_bitmap_t* bitmap = roaring_bitmap_of_ptr(rows.size(), rows.data());
  if (with_runs) roaring_bitmap_run_optimize(bitmap);
  std::string bytes(roaring_bitmap_portable_size_in_bytes(bitmap), '\0');
  roaring_bitmap_portable_serialize(bitmap, bytes.data());
  roaring_bitmap_free(bitmap);
  return bytes;
}

std::string ArrowFile(const std::vector<uint32_t>& rows, bool compressed = true,
                      std::shared_ptr<arrow::DataType> type = arrow::uint32()) {
  arrow::UInt32Builder builder;
  EXPECT_TRUE(builder.AppendValues(rows).ok());
  std::shared_ptr<arrow::Array> array = builder.Finish().ValueOrDie();
  if (!type->Equals(arrow::uint32())) array = array->View(type).ValueOrDie();
  auto schema = arrow::schema({arrow::field("row_id", type, false)});
  auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  arrow::ipc::IpcWriteOptions options = arrow::ipc::IpcWriteOptions::Defaults();
  if (compressed) options.codec = arrow::util::Codec::Create(arrow::Compression::ZSTD).ValueOrDie();
  auto writer = arrow::ipc::MakeFileWriter(sink, schema, options).ValueOrDie();
  EXPECT_TRUE(
      writer->WriteRecordBatch(*arrow::RecordBatch::Make(schema, array->length(), {array})).ok());
  EXPECT_TRUE(writer->Close().ok());
  return sink->Finish().ValueOrDie()->ToString();
}

struct Pattern {
  const char* name;
  uint64_t physical_rows;
  std::vector<uint32_t> rows;
};

std::vector<Pattern> Patterns() {
  std::vector<Pattern> patterns = {
      {"none", 10, {}},
      {"first", 10, {0}},
      {"last", 10, {9}},
      {"all", 3, {0, 1, 2}},
      {"container borders", 300'000, {65'535, 65'536, 131'071, 131'072, 299'999}},
      {"last possible row", 1ull << 32, {0, UINT32_MAX}},
  };
  Pattern dense{"bitset container", 100'000, {}};
  for (uint32_t i = 0; i < 100'000; i += 2) dense.rows.push_back(i);
  patterns.push_back(dense);
  Pattern runs{"runs", 500'000, {}};
  for (uint32_t i = 60'000; i < 300'000; ++i) runs.rows.push_back(i);
  patterns.push_back(runs);
  Pattern words{"full words", 65'536, {}};
  for (uint32_t i = 0; i < 65'536; ++i) {
    if (i % 129 != 128) words.rows.push_back(i);
  }
  patterns.push_back(words);
  std::mt19937 engine(7);
  std::set<uint32_t> some;
  while (some.size() < 20'000) some.insert(engine() % 1'000'000);
  patterns.push_back({"random", 1'000'000, {some.begin(), some.end()}});
  return patterns;
}

void ExpectHolds(const DeletionVector& vector, const Pattern& pattern) {
  SCOPED_TRACE(pattern.name);
  EXPECT_EQ(vector.num_deleted(), pattern.rows.size());
  for (uint32_t row : pattern.rows) ASSERT_TRUE(vector.Contains(row)) << row;
  // Survivors of a window are the rows of the window that are not in the list.
  std::set<uint32_t> deleted(pattern.rows.begin(), pattern.rows.end());
  const uint64_t end = std::min<uint64_t>(pattern.physical_rows, 200'000);
  for (uint64_t start : {uint64_t{0}, end / 3}) {
    std::vector<uint64_t> expected;
    for (uint64_t row = start; row < end; ++row) {
      if (!deleted.contains(static_cast<uint32_t>(row))) expected.push_back(row);
    }
    format::RowSelection survivors = vector.Survivors(start, end - start);
    std::vector<uint64_t> got;
    for (const format::RowRange& range : survivors.ranges()) {
      for (uint64_t row = range.start; row < range.end(); ++row) got.push_back(row);
    }
    EXPECT_EQ(got, expected);
    EXPECT_EQ(survivors.num_rows(), expected.size());
  }
}

TEST(DeletionVectorTest, ReadsBitmapsOfEveryForm) {
  for (const Pattern& pattern : Patterns()) {
    for (bool with_runs : {false, true}) {
      auto vector =
          DeletionVector::FromBitmap(Bitmap(pattern.rows, with_runs), pattern.physical_rows, "d");
      ASSERT_TRUE(vector.ok()) << pattern.name << ": " << vector.status();
      ExpectHolds(*vector, pattern);
    }
  }
}

TEST(DeletionVectorTest, ReadsArrowFilesUnsortedAndCompressed) {
  for (const Pattern& pattern : Patterns()) {
    std::vector<uint32_t> rows = pattern.rows;
    std::reverse(rows.begin(), rows.end());
    for (bool compressed : {false, true}) {
      auto vector = DeletionVector::FromArrowFile(Context(), ArrowFile(rows, compressed),
                                                  pattern.physical_rows, "d");
      ASSERT_TRUE(vector.ok()) << pattern.name << ": " << vector.status();
      ExpectHolds(*vector, pattern);
    }
  }
}

TEST(DeletionVectorTest, RefusesRowsBehindTheFragment) {
  Status bitmap = DeletionVector::FromBitmap(Bitmap({3, 10}, false), 10, "d").status();
  EXPECT_EQ(CodeOf(bitmap), ErrorCode::kCorrupt);
  EXPECT_THAT(bitmap.message(), HasSubstr("row 10"));
  Status arrow = DeletionVector::FromArrowFile(Context(), ArrowFile({3, 10}), 10, "d").status();
  EXPECT_EQ(CodeOf(arrow), ErrorCode::kCorrupt);
  EXPECT_THAT(arrow.message(), HasSubstr("row 10"));
}

TEST(DeletionVectorTest, RefusesArrowFilesOfAnotherShape) {
  Status refused =
      DeletionVector::FromArrowFile(Context(), ArrowFile({1}, true, arrow::int32()), 10, "d")
          .status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf(DeletionVector::FromArrowFile(Context(), "", 10, "d").status()),
            ErrorCode::kCorrupt);
}

TEST(DeletionVectorTest, RefusesBitmapsThatLie) {
  auto u16 = [](uint16_t v) { return std::string(reinterpret_cast<const char*>(&v), 2); };
  auto u32 = [](uint32_t v) { return std::string(reinterpret_cast<const char*>(&v), 4); };
  const std::string offset = u32(0);
  const std::pair<const char*, std::string> cases[] = {
      {"cut off", ""},
      {"no Roaring bitmap", u32(99)},
      {"too many containers", u32(12346) + u32(70'000)},
      {"cut off", u32(12346) + u32(1)},
      {"cut off", u32(12346) + u32(1) + u16(0) + u16(1) + offset + u16(1)},
      {"not in order", u32(12346) + u32(1) + u16(0) + u16(1) + offset + u16(5) + u16(5)},
      {"containers are not in order",
       u32(12346) + u32(2) + u16(1) + u16(0) + u16(1) + u16(0) + offset + offset + u16(5) + u16(5)},
      {"left over", u32(12346) + u32(1) + u16(0) + u16(0) + offset + u16(5) + "x"},
      {"another row count",
       u32(12346) + u32(1) + u16(0) + u16(5000) + offset + std::string(8192, '\xff')},
      // Runs: 1 container, run flag set.
      {"not in order",
       u32(12347) + "\1" + u16(0) + u16(3) + u16(2) + u16(4) + u16(1) + u16(5) + u16(1)},
      {"not in order", u32(12347) + "\1" + u16(0) + u16(3) + u16(1) + u16(0xffff) + u16(3)},
      {"another row count", u32(12347) + "\1" + u16(0) + u16(9) + u16(1) + u16(4) + u16(1)},
  };
  for (const auto& [reason, bytes] : cases) {
    Status refused = DeletionVector::FromBitmap(bytes, 1ull << 32, "d").status();
    EXPECT_EQ(CodeOf(refused), ErrorCode::kCorrupt) << reason;
    EXPECT_THAT(refused.message(), HasSubstr(reason));
  }
}

TEST(DeletionVectorTest, MutationsNeverCrash) {
  constexpr uint64_t kSeed = 42;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 engine(kSeed);
  std::vector<uint32_t> rows;
  for (uint32_t i = 0; i < 20'000; i += 1 + i % 7) rows.push_back(i);
  for (uint32_t i = 70'000; i < 90'000; ++i) rows.push_back(i);
  const std::vector<uint32_t> few(rows.begin(), rows.begin() + 1000);
  const std::string fixtures[] = {Bitmap(rows, false), Bitmap(rows, true), ArrowFile(few, true),
                                  ArrowFile(few, false)};
  for (size_t fixture = 0; fixture < std::size(fixtures); ++fixture) {
    for (int i = 0; i < 2500; ++i) {
      std::string mutant = fixtures[fixture];
      if (i % 5 == 0) mutant.resize(engine() % mutant.size());
      for (uint64_t flips = 1 + engine() % 4; flips > 0 && !mutant.empty(); --flips) {
        // Half of the flips hit the headers, where the structure is.
        const size_t reach =
            engine() % 2 == 0 ? std::min<size_t>(mutant.size(), 64) : mutant.size();
        mutant[engine() % reach] = static_cast<char>(engine());
      }
      Result<DeletionVector> vector =
          fixture < 2 ? DeletionVector::FromBitmap(mutant, 100'000, "d")
                      : DeletionVector::FromArrowFile(Context(), mutant, 100'000, "d");
      if (vector.ok()) EXPECT_LE(vector->num_deleted(), 100'000u);
    }
  }
}

TEST(DeletionFileTest, TellsWhereItLiesAlsoIfItFails) {
  arrow::CappedMemoryPool nothing(arrow::default_memory_pool(), 0);
  Context context;
  context.memory_pool = &nothing;
  const std::vector<uint32_t> rows{1, 2};
  std::string key;
  EXPECT_FALSE(WriteDeletionFile(context, storage::MakeMemoryStore().get(), 3, 1,
                                 DeletionVector::FromSortedRows(rows), &key)
                   .ok());
  EXPECT_TRUE(key.starts_with("_deletions/3-1-")) << key;
}

}  // namespace
}  // namespace lake::table
