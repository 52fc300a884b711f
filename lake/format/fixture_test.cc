// Every file that upstream wrote for us (tests/fixtures/) is read as upstream reads it, value by
// value; what is not read yet is listed in tests/fixtures/not_read.txt with the reason, and the
// list may hold nothing that is read.

#include <algorithm>
#include <random>
#include <set>

#include <arrow/api.h>
#include <fnmatch.h>
#include <gtest/gtest.h>

#include "lake/format/column_metadata_internal.h"
#include "lake/format/testing/fixture_check.h"
#include "lake/format/testing/fixtures.h"
#include "lake/format/v20_column_internal.h"

namespace lake::format {
namespace {

// All rows, ranges of rows, and rows apart from each other.
std::vector<RowSelection> Selections(uint64_t rows) {
  std::vector<RowSelection> selections = {RowSelection(0, rows)};
  if (rows == 0) return selections;
  std::mt19937_64 random(3);
  for (int i = 0; i < 12; ++i) {
    RowSelection selection;
    const uint64_t longest = i % 3 == 0 ? 1 : i % 3 == 1 ? 40 : rows;
    for (uint64_t at = random() % rows; at < rows;) {
      const uint64_t count = 1 + random() % std::min(longest, rows - at);
      selection.Append(at, count);
      at += count + random() % (rows / 20 + 3);
    }
    selections.push_back(selection);
  }
  return selections;
}

class FixtureTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    fixture_ = &FindFixture(GetParam());
    auto reader = OpenBytes(fixture_->bytes);
    opened_ = reader.status();
    if (!reader.ok()) return;
    reader_ = *std::move(reader);
    ASSERT_EQ(reader_->num_rows(), static_cast<uint64_t>(fixture_->rows->num_rows()));
    EXPECT_EQ(reader_->file_size(), fixture_->bytes.size());
    EXPECT_EQ(reader_->version().ToString(), GetParam().substr(GetParam().rfind('-') + 1));
    auto columns = reader_->AllColumns();
    opened_ = columns.status();
    if (columns.ok()) columns_ = *std::move(columns);
  }

  Result<std::shared_ptr<arrow::Array>> Read(int column, const RowSelection& selection) {
    ARROW_RETURN_NOT_OK(opened_);
    ARROW_ASSIGN_OR_RAISE(const auto batch,
                          reader_->Read(Context(), std::span(&columns_[column], 1), selection));
    return batch->column(0);
  }

  const Fixture* fixture_ = nullptr;
  Status opened_;
  std::shared_ptr<FileReader> reader_;
  std::vector<ColumnRequest> columns_;
};

TEST_P(FixtureTest, EachColumnIsWhatUpstreamReads) {
  for (int i = 0; i < fixture_->rows->num_columns(); ++i) {
    const std::string& name = fixture_->rows->column_name(i);
    SCOPED_TRACE(fixture_->name + " " + name);
    const NotRead* const not_read = FindNotRead(fixture_->name, name);
    for (const RowSelection& selection :
         Selections(static_cast<uint64_t>(fixture_->rows->num_rows()))) {
      const auto array = Read(i, selection);
      if (not_read != nullptr) {
        ASSERT_FALSE(array.ok()) << "it is read now: take it off tests/fixtures/not_read.txt";
        EXPECT_EQ(CodeOf(array.status()), ErrorCode::kUnsupported) << array.status();
        EXPECT_NE(ErrorText(array.status()).find(not_read->text), std::string::npos)
            << array.status();
        break;
      }
      ASSERT_TRUE(array.ok()) << array.status();
      ExpectSameValues(PickRows(fixture_->rows->column(i), selection), *array);
      if (HasFailure()) break;
    }
  }
}

TEST_P(FixtureTest, AllColumnsAtOnce) {
  if (!opened_.ok()) return;
  for (int i = 0; i < fixture_->rows->num_columns(); ++i) {
    if (FindNotRead(fixture_->name, fixture_->rows->column_name(i)) != nullptr) return;
  }
  const auto batch = reader_->Read(Context(), columns_, RowSelection(0, reader_->num_rows()));
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ((*batch)->num_columns(), fixture_->rows->num_columns());
  for (int i = 0; i < fixture_->rows->num_columns(); ++i) {
    SCOPED_TRACE((*batch)->column_name(i));
    ExpectSameValues(fixture_->rows->column(i), (*batch)->column(i));
  }
}

// The text forms of all page encodings of a file.
std::string LayoutsOf(const Fixture& fixture) {
  const std::string_view bytes = fixture.bytes;
  const FileFooter footer =
      FileFooter::DecodeFrom(bytes.substr(bytes.size() - kFooterSize), bytes.size(), "f")
          .ValueOrDie();
  const auto table =
      DecodeOffsetTable(bytes.substr(footer.column_table_start, footer.column_table().length),
                        bytes.size(), "t", "f")
          .ValueOrDie();
  std::string text;
  for (const ByteRange& range : table) {
    const std::string_view block = bytes.substr(range.offset, range.length);
    if (footer.major == 0) {
      const V20Column column = V20Column::DecodeFrom(block, bytes.size()).ValueOrDie();
      for (const V20Page& page : column.pages) text += page.encoding.ShortDebugString() + "\n";
      continue;
    }
    const auto rows = static_cast<uint64_t>(fixture.rows->num_rows());
    const ColumnMetadata column =
        ColumnMetadata::DecodeFrom(block, bytes.size(), rows).ValueOrDie();
    for (const PageMetadata& page : column.pages) text += page.layout.ShortDebugString() + "\n";
  }
  return text;
}

TEST_P(FixtureTest, HoldsTheLayoutsThatItIsMadeFor) {
  if (fixture_->contains.empty() || !opened_.ok()) return;
  const std::string layouts = LayoutsOf(*fixture_);
  for (const std::string& text : fixture_->contains) {
    EXPECT_NE(layouts.find(text), std::string::npos) << "no page contains " << text << "\n"
                                                     << layouts.substr(0, 3000);
  }
}

std::vector<std::string> FixtureNames() {
  std::vector<std::string> names;
  for (const Fixture& fixture : Fixtures()) names.push_back(fixture.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, FixtureTest, testing::ValuesIn(FixtureNames()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(NotReadTest, EveryLineIsOfUse) {
  for (const NotRead& line : NotReadList()) {
    EXPECT_FALSE(line.text.empty()) << line.fixture << " " << line.column;
    if (line.fixture.starts_with("tables/")) continue;  // table:TableFixtureTest
    bool used = false;
    for (const Fixture& fixture : Fixtures()) {
      for (const auto& name : fixture.rows->schema()->field_names())
        used |= line.Matches(fixture.name, name);
    }
    EXPECT_TRUE(used) << line.fixture << " " << line.column;
  }
}

TEST(RefusedFixtureTest, IsRefusedByName) {
  std::set<std::string> versions;
  for (const Fixture& fixture : RefusedFixtures()) {
    SCOPED_TRACE(fixture.name + " by " + fixture.writer);
    versions.insert(fixture.name);
    const auto reader = OpenBytes(fixture.bytes);
    Status status = reader.status();
    if (reader.ok()) {
      const auto columns = (*reader)->AllColumns();
      status = columns.status();
      if (columns.ok()) {
        status =
            (*reader)->Read(Context(), *columns, RowSelection(0, (*reader)->num_rows())).status();
      }
    }
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported) << status;
    for (const std::string& text : fixture.refused) {
      EXPECT_NE(ErrorText(status).find(text), std::string::npos) << status;
    }
    EXPECT_NE(ErrorText(status).find("test.lance"), std::string::npos) << status;
  }
  EXPECT_EQ(versions, (std::set<std::string>{"draft-2.1", "legacy-0.1", "next-2.3"}));
}

}  // namespace
}  // namespace lake::format
