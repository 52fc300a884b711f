#include "lake/format/page_copy.h"

#include <numeric>

#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "lake/format/file_reader.h"
#include "lake/format/testing/fixture_check.h"
#include "lake/format/testing/fixtures.h"

namespace lake::format {
namespace {

// A copy of a fixture's file, twice if there is a second; nothing if its pages are not copied.
Result<std::optional<WrittenFile>> Copy(const Fixture& fixture, FileVersion version, int times,
                                        const std::shared_ptr<storage::ObjectStore>& store) {
  ARROW_ASSIGN_OR_RAISE(const auto reader, FileReader::Open(Context(), store, "source"));
  PageCopySource source{store, "source", fixture.bytes.size(),
                        std::vector<uint32_t>(reader->num_columns())};
  std::iota(source.columns.begin(), source.columns.end(), 0);
  return CopyPages(Context(), std::vector<PageCopySource>(times, source), reader->schema(), version,
                   store, "copy");
}

TEST(PageCopyTest, ACopyReadsAsItsSource) {
  for (const char* name : {"flat-2.1", "flat-2.2"}) {
    SCOPED_TRACE(name);
    const Fixture& fixture = FindFixture(name);
    const auto store = StoreWith("source", fixture.bytes);
    const auto copied =
        Copy(fixture, std::string_view(name).ends_with("2.1") ? kFileVersion21 : kFileVersion22, 1,
             store);
    ASSERT_TRUE(copied.ok()) << copied.status();
    ASSERT_TRUE(*copied);
    const auto reader = FileReader::Open(Context(), store, "copy").ValueOrDie();
    const auto columns = reader->AllColumns().ValueOrDie();
    const auto rows =
        reader->Read(Context(), columns, RowSelection(0, reader->num_rows())).ValueOrDie();
    for (int i = 0; i < rows->num_columns(); ++i) {
      ExpectSameValues(fixture.rows->column(i), rows->column(i));
    }
  }
}

// Pages are described in the form of 2.1 and 2.2, which no reader of 2.3 takes.
TEST(PageCopyTest, PagesOfOtherVersionsAreNotCopied) {
  const Fixture& fixture = FindFixture("next_dense-2.3");
  const auto store = StoreWith("source", fixture.bytes);
  for (const int times : {1, 2}) {
    const auto copied = Copy(fixture, kFileVersion23, times, store);
    ASSERT_TRUE(copied.ok()) << copied.status();
    EXPECT_FALSE(*copied);
  }
  EXPECT_FALSE(store->Head(Context(), "copy").ok());
}

}  // namespace
}  // namespace lake::format
