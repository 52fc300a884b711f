// What old writers wrote and no fixture can hold, because no pylance that writes it can be had:
// bytes of a fixture, changed into it.

#include <cstring>
#include <string>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "lake/format/container.h"
#include "lake/format/inspect.h"
#include "lake/format/testing/fixtures.h"

namespace lake::format {
namespace {

constexpr size_t kAlignment = 8;

size_t Aligned(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

TEST(OldWritersTest, TheLastRunOfAChunkMayPassItsEnd) {
  const Fixture& fixture = FindFixture("runs-2.1");
  const auto store = StoreWith("f.lance", fixture.bytes);
  const FileDescription file = InspectFile(Context(), store.get(), "f.lance").ValueOrDie();
  ASSERT_EQ(file.columns[0].field, "i32");
  const PageDescription& page = file.columns[0].pages.at(0);
  ASSERT_EQ(page.encoding, "rle(flat(32), flat(8))");
  ASSERT_EQ(page.definition, "");
  // A chunk without levels: u16 0, the sizes of run values and of lengths, then both.
  std::string bytes = fixture.bytes;
  char* const chunk = bytes.data() + page.buffers.at(1).range.offset;
  ASSERT_EQ(LoadLittle<uint16_t>(chunk), 0);
  const size_t values = LoadLittle<uint16_t>(chunk + 2);
  const size_t lengths = LoadLittle<uint16_t>(chunk + 4);
  ASSERT_EQ(values, lengths * 4);
  auto* const last = reinterpret_cast<uint8_t*>(chunk + kAlignment + Aligned(values) + lengths - 1);
  ASSERT_LT(*last, 200);
  *last += 50;

  const auto reader = OpenBytes(bytes).ValueOrDie();
  ColumnRequest column{reader->schema().fields[0], {0}};
  const auto rows =
      reader->Read(Context(), {&column, 1}, RowSelection(0, file.num_rows)).ValueOrDie();
  EXPECT_TRUE(rows->column(0)->Equals(fixture.rows->GetColumnByName("i32")));
}

}  // namespace
}  // namespace lake::format
