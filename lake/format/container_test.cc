#include "lake/format/container.h"

#include <gtest/gtest.h>

#include "lake/format/column_metadata_internal.h"

namespace lake::format {
namespace {

FileFooter SomeFooter() {
  FileFooter footer;
  footer.column_metadata_start = 100;
  footer.column_table_start = 200;
  footer.global_table_start = 232;
  footer.num_global_buffers = 1;
  footer.num_columns = 2;
  footer.major = 2;
  footer.minor = 2;
  return footer;
}

std::string Encode(const FileFooter& footer) {
  std::string bytes;
  footer.EncodeTo(&bytes);
  return bytes;
}

constexpr uint64_t kFileSize = 248 + kFooterSize;

TEST(FileFooterTest, RoundTrips) {
  const std::string bytes = Encode(SomeFooter());
  ASSERT_EQ(bytes.size(), kFooterSize);
  const auto footer = FileFooter::DecodeFrom(bytes, kFileSize, "f");
  ASSERT_TRUE(footer.ok()) << footer.status();
  EXPECT_EQ(footer->column_metadata_start, 100u);
  EXPECT_EQ(footer->column_table(), (ByteRange{200, 32}));
  EXPECT_EQ(footer->global_table(), (ByteRange{232, 16}));
  EXPECT_EQ(footer->major, 2);
  EXPECT_EQ(footer->minor, 2);
}

TEST(FileFooterTest, RefusesDamage) {
  const struct {
    const char* name;
    void (*damage)(FileFooter*);
    ErrorCode code;
  } cases[] = {
      {"column table past the end", [](FileFooter* f) { f->column_table_start = 240; },
       ErrorCode::kCorrupt},
      {"column table overflows", [](FileFooter* f) { f->column_table_start = ~0ull; },
       ErrorCode::kCorrupt},
      {"too many columns", [](FileFooter* f) { f->num_columns = ~0u; }, ErrorCode::kCorrupt},
      {"global table past the end", [](FileFooter* f) { f->global_table_start = 233; },
       ErrorCode::kCorrupt},
      {"no global buffer", [](FileFooter* f) { f->num_global_buffers = 0; }, ErrorCode::kCorrupt},
      {"metadata past the end", [](FileFooter* f) { f->column_metadata_start = 249; },
       ErrorCode::kCorrupt},
      {"version 0.2", [](FileFooter* f) { f->major = 0, f->minor = 2; }, ErrorCode::kUnsupported},
      {"version 2.4", [](FileFooter* f) { f->minor = 4; }, ErrorCode::kUnsupported},
      {"version 0.1", [](FileFooter* f) { f->major = 0, f->minor = 1; }, ErrorCode::kUnsupported},
  };
  for (const auto& c : cases) {
    FileFooter footer = SomeFooter();
    c.damage(&footer);
    const auto decoded = FileFooter::DecodeFrom(Encode(footer), kFileSize, "some.lance");
    ASSERT_FALSE(decoded.ok()) << c.name;
    EXPECT_EQ(CodeOf(decoded.status()), c.code) << c.name << ": " << decoded.status();
    EXPECT_NE(ErrorText(decoded.status()).find("some.lance"), std::string::npos) << c.name;
  }
}

TEST(FileFooterTest, RefusesOtherFiles) {
  EXPECT_EQ(CodeOf(FileFooter::DecodeFrom("PAR1", 4, "f").status()), ErrorCode::kCorrupt);
  std::string bytes = Encode(SomeFooter());
  bytes.back() = 'X';
  EXPECT_EQ(CodeOf(FileFooter::DecodeFrom(bytes, kFileSize, "f").status()), ErrorCode::kCorrupt);
}

TEST(OffsetTableTest, RoundTripsAndChecks) {
  const std::vector<ByteRange> entries = {{0, 10}, {64, 0}, {90, 10}};
  std::string bytes;
  EncodeOffsetTable(entries, &bytes);
  const auto decoded = DecodeOffsetTable(bytes, 100, "table", "f");
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, entries);
  EXPECT_EQ(CodeOf(DecodeOffsetTable(bytes, 99, "table", "f").status()), ErrorCode::kCorrupt);
  bytes.pop_back();
  EXPECT_EQ(CodeOf(DecodeOffsetTable(bytes, 100, "table", "f").status()), ErrorCode::kCorrupt);
}

ColumnMetadata SomeColumn() {
  ColumnMetadata column;
  for (uint64_t i = 0; i < 2; ++i) {
    PageMetadata page;
    page.buffers = {{64 * i, 10}, {128 + i, 20}};
    page.num_rows = 5 + i;
    page.first_row = 5 * i;
    page.layout.mutable_mini_block()->set_num_items(5 + i);
    column.pages.push_back(page);
  }
  return column;
}

TEST(ColumnMetadataTest, RoundTrips) {
  std::string bytes;
  ASSERT_TRUE(SomeColumn().EncodeTo(&bytes).ok());
  const auto column = ColumnMetadata::DecodeFrom(bytes, 150, 11);
  ASSERT_TRUE(column.ok()) << column.status();
  ASSERT_EQ(column->pages.size(), 2u);
  EXPECT_EQ(column->pages[1].first_row, 5u);
  EXPECT_EQ(column->pages[1].buffers, (std::vector<ByteRange>{{64, 10}, {129, 20}}));
  EXPECT_EQ(column->pages[1].layout.mini_block().num_items(), 6u);
}

TEST(ColumnMetadataTest, RefusesWrongRowsAndRanges) {
  std::string bytes;
  ASSERT_TRUE(SomeColumn().EncodeTo(&bytes).ok());
  for (const auto& [limit, rows] : {std::pair{150, 10}, {150, 12}, {148, 11}}) {
    const auto column = ColumnMetadata::DecodeFrom(bytes, limit, rows);
    ASSERT_FALSE(column.ok()) << limit << " " << rows;
    EXPECT_EQ(CodeOf(column.status()), ErrorCode::kCorrupt);
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ColumnMetadata::DecodeFrom(bytes.substr(0, size), 150, 11).ok()) << size;
  }
}

}  // namespace
}  // namespace lake::format
