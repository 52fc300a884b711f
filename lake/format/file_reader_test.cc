#include "lake/format/file_reader.h"

#include <algorithm>
#include <random>
#include <set>

#include <arrow/api.h>
#include <arrow/compare.h>
#include <gtest/gtest.h>

#include "lake/format/column_metadata_internal.h"
#include "lake/format/testing/fixtures.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/recording_store.h"

namespace lake::format {
namespace {

const arrow::EqualOptions kExact =
    arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false);

std::shared_ptr<arrow::RecordBatch> Pick(const arrow::RecordBatch& rows,
                                         const RowSelection& selection) {
  arrow::ArrayVector columns;
  for (const auto& column : rows.columns()) {
    arrow::ArrayVector parts = {column->Slice(0, 0)};
    for (const RowRange& range : selection.ranges()) {
      parts.push_back(
          column->Slice(static_cast<int64_t>(range.start), static_cast<int64_t>(range.count)));
    }
    columns.push_back(arrow::Concatenate(parts).ValueOrDie());
  }
  return arrow::RecordBatch::Make(rows.schema(), static_cast<int64_t>(selection.num_rows()),
                                  columns);
}

void ExpectEqual(const arrow::RecordBatch& expected, const arrow::RecordBatch& actual) {
  ASSERT_TRUE(actual.ValidateFull().ok()) << actual.ValidateFull();
  ASSERT_EQ(expected.num_columns(), actual.num_columns());
  for (int i = 0; i < expected.num_columns(); ++i) {
    ASSERT_TRUE(expected.column(i)->type()->Equals(actual.column(i)->type()));
    EXPECT_TRUE(expected.column(i)->Equals(*actual.column(i), kExact))
        << expected.column_name(i) << "\n"
        << expected.column(i)->Diff(*actual.column(i)).substr(0, 2000);
  }
}

class FileReaderFixtureTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    fixture_ = &FindFixture(GetParam());
    reader_ = OpenBytes(fixture_->bytes).ValueOrDie();
    columns_ = reader_->AllColumns().ValueOrDie();
  }

  void ExpectRows(const RowSelection& selection) {
    const auto batch = reader_->Read(Context(), columns_, selection);
    ASSERT_TRUE(batch.ok()) << batch.status();
    ExpectEqual(*Pick(*fixture_->rows, selection), **batch);
  }

  const Fixture* fixture_ = nullptr;
  std::shared_ptr<FileReader> reader_;
  std::vector<ColumnRequest> columns_;
};

TEST_P(FileReaderFixtureTest, ReadsAllRows) {
  ASSERT_EQ(reader_->num_rows(), static_cast<uint64_t>(fixture_->rows->num_rows()));
  EXPECT_EQ(reader_->file_size(), fixture_->bytes.size());
  EXPECT_EQ(reader_->version().ToString(), GetParam().substr(GetParam().rfind('-') + 1));
  ExpectRows(RowSelection(0, reader_->num_rows()));
}

TEST_P(FileReaderFixtureTest, ReadsRangesAndSingleRows) {
  const uint64_t rows = reader_->num_rows();
  if (rows == 0) return;
  std::mt19937_64 random(3);
  for (int i = 0; i < 30; ++i) {
    RowSelection selection;
    const uint64_t longest = i % 3 == 0 ? 1 : i % 3 == 1 ? 40 : rows;
    for (uint64_t at = random() % rows; at < rows;) {
      const uint64_t count = 1 + random() % std::min(longest, rows - at);
      selection.Append(at, count);
      at += count + random() % 30;
    }
    ExpectRows(selection);
  }
}

TEST_P(FileReaderFixtureTest, ReadsEachColumnAlone) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const auto batch =
        reader_->Read(Context(), std::span(&columns_[i], 1), RowSelection(0, reader_->num_rows()));
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_TRUE(fixture_->rows->column(static_cast<int>(i))->Equals(*(*batch)->column(0), kExact));
  }
}

std::vector<std::string> FixtureNames() {
  std::vector<std::string> names;
  for (const Fixture& fixture : Fixtures()) names.push_back(fixture.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, FileReaderFixtureTest, testing::ValuesIn(FixtureNames()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

// The text forms of all page layouts of a file, without symbol tables.
std::string LayoutsOf(const Fixture& fixture) {
  const std::string& bytes = fixture.bytes;
  const FileFooter footer =
      FileFooter::DecodeFrom(std::string_view(bytes).substr(bytes.size() - kFooterSize),
                             bytes.size(), "f")
          .ValueOrDie();
  const auto table = DecodeOffsetTable(std::string_view(bytes).substr(footer.column_table_start,
                                                                      footer.column_table().length),
                                       bytes.size(), "t", "f")
                         .ValueOrDie();
  std::string text;
  for (const ByteRange& range : table) {
    ColumnMetadata column =
        ColumnMetadata::DecodeFrom(std::string_view(bytes).substr(range.offset, range.length),
                                   bytes.size(), static_cast<uint64_t>(fixture.rows->num_rows()))
            .ValueOrDie();
    for (PageMetadata& page : column.pages) {
      text +=
          fmt::format("{} buffers ", page.buffers.size()) + page.layout.ShortDebugString() + "\n";
    }
  }
  return text;
}

TEST(FixturesTest, HoldEveryEncodingThatUpstreamWritesByDefault) {
  const struct {
    const char* fixture;
    std::vector<const char*> texts;
  } cases[] = {
      {"flat-2.1",
       {"value_compression { flat { bits_per_value: 1 }", "flat { bits_per_value: 8 }",
        "flat { bits_per_value: 24 }", "flat { bits_per_value: 128 }"}},
      {"flat-2.2", {"def_compression { rle {", "has_large_chunk: true"}},
      {"bitpacked-2.1",
       {"inline_bitpacking { uncompressed_bits_per_value: 8 }",
        "inline_bitpacking { uncompressed_bits_per_value: 16 }",
        "inline_bitpacking { uncompressed_bits_per_value: 32 }",
        "inline_bitpacking { uncompressed_bits_per_value: 64 }",
        "def_compression { out_of_line_bitpacking { uncompressed_bits_per_value: 16"}},
      {"runs-2.1",
       {"rle { values { flat { bits_per_value: 8 } }",
        "rle { values { flat { bits_per_value: 16 } }",
        "rle { values { flat { bits_per_value: 32 } }"}},
      {"lists-2.1", {"def_compression { flat { bits_per_value: 16 } }", "has_validity: true"}},
      {"strings-2.1",
       {"variable { offsets { flat { bits_per_value: 32 } } }",
        "variable { offsets { flat { bits_per_value: 64 } } }",
        "def_compression { inline_bitpacking { uncompressed_bits_per_value: 16 }"}},
      {"fsst-2.2", {"mini_block", "fsst {"}},
      {"dictionary-2.1", {"dictionary { variable {", "dictionary { flat { bits_per_value: 128 }"}},
      {"dictionary-2.2",
       {"dictionary { general { compression { scheme: LZ4 } values { variable",
        "dictionary { general { compression { scheme: LZ4 } values { flat { bits_per_value: 128"}},
      {"dictionary64-2.2",
       {"dictionary { general { compression { scheme: LZ4 } values { flat { bits_per_value: 64"}},
      {"dictionary64_large-2.2",
       {"dictionary { inline_bitpacking { uncompressed_bits_per_value: 64 }",
        "dictionary { out_of_line_bitpacking { uncompressed_bits_per_value: 64"}},
      {"wide_lists-2.2",
       {"full_zip { bits_per_value: 2048", "bits_def: 1 bits_per_value: 2080", "has_validity: true",
        "values { constant { } }", "flat { bits_per_value: 2400 }"}},
      {"wide_strings-2.2",
       {"full_zip { bits_def: 1 bits_per_offset: 32", "full_zip { bits_per_offset: 64"}},
      {"wide_text_fsst-2.2", {"full_zip { bits_def: 1 bits_per_offset: 32", "fsst {"}},
      {"huge_strings-2.2", {"full_zip", "general { compression { scheme: ZSTD"}},
      {"constants-2.2",
       {"0 buffers constant", "1 buffers constant", "2 buffers constant", "3 buffers constant",
        "inline_value: \"*\\000\\000\\000\""}},
      {"all_null-2.1", {"0 buffers constant { layers: NULLABLE_ITEM }"}},
      {"structs-2.1",
       {"layers: NULLABLE_ITEM layers: NULLABLE_ITEM",
        "layers: ALL_VALID_ITEM layers: ALL_VALID_ITEM", "2 buffers constant { layers"}},
      {"structs-2.2",
       {"def_compression { rle", "def_compression { inline_bitpacking", "num_def_values: 300"}},
      {"compressed_zstd-2.2",
       {"general { compression { scheme: ZSTD } values { byte_stream_split", "values { variable"}},
      {"compressed_lz4-2.1",
       {"general { compression { scheme: LZ4 } values { flat", "values { byte_stream_split"}},
      {"forced_full_zip-2.1", {"full_zip { bits_def: 1 bits_per_value: 32"}},
  };
  for (const auto& c : cases) {
    std::string layouts = LayoutsOf(FindFixture(c.fixture));
    for (const char* text : c.texts) {
      EXPECT_NE(layouts.find(text), std::string::npos) << c.fixture << " has no " << text << "\n"
                                                       << layouts.substr(0, 3000);
    }
  }
}

TEST(FileReaderTest, RefusesByName) {
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"version-0.1", {"version"}},
      {"version-2.0", {"version 2.0"}},
      {"version-2.3", {"version 2.3"}},
      {"float16", {"halffloat", "'c'"}},
      {"decimal256", {"decimal:256", "'c'"}},
      {"list", {"list", "'c'"}},
      {"dictionary", {"dict:", "'c'"}},
      {"null", {"null", "'c'"}},
      {"nested_struct", {"struct", "'c"}},
      {"fixed_size_list_bool", {"fixed_size_list:bool:2", "'c'"}},
      {"packed_struct", {"packed", "'c'"}},
      {"blob", {"blob", "'c'"}},
  };
  ASSERT_EQ(std::size(cases), RefusedFixtures().size());
  for (const auto& [name, texts] : cases) {
    const auto fixture = std::find_if(RefusedFixtures().begin(), RefusedFixtures().end(),
                                      [&](const Fixture& f) { return f.name == name; });
    ASSERT_NE(fixture, RefusedFixtures().end()) << name;
    const auto reader = OpenBytes(fixture->bytes);
    const Status status = reader.ok() ? (*reader)->AllColumns().status() : reader.status();
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported) << status;
    for (const char* text : texts) {
      EXPECT_NE(ErrorText(status).find(text), std::string::npos) << name << ": " << status;
    }
    EXPECT_NE(ErrorText(status).find("test.lance"), std::string::npos) << status;
  }
}

// A schema that lies about a column: the page itself must refuse to be what it is not.
TEST(FileReaderTest, RefusesPagesOfAnotherShapeThanTheirField) {
  const auto list = std::find_if(RefusedFixtures().begin(), RefusedFixtures().end(),
                                 [](const Fixture& f) { return f.name == "list"; });
  const auto reader = OpenBytes(list->bytes).ValueOrDie();
  ColumnRequest request;
  request.field.name = "c";
  request.field.logical_type = "int64";
  request.columns = {0};
  const auto batch = reader->Read(Context(), std::span(&request, 1), RowSelection(0, 2));
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(CodeOf(batch.status()), ErrorCode::kUnsupported);
  EXPECT_NE(ErrorText(batch.status()).find("lists"), std::string::npos);
  EXPECT_NE(ErrorText(batch.status()).find("Lance 2.2 file 'test.lance', column 0 'c', page 0"),
            std::string::npos);
}

TEST(FileReaderTest, EveryWrongTypeIsAnError) {
  const char* types[] = {"bool",
                         "int8",
                         "int32",
                         "double",
                         "string",
                         "large_binary",
                         "fixed_size_binary:3",
                         "fixed_size_list:float:4",
                         "decimal:128:38:0",
                         "int16"};
  for (const Fixture& fixture : Fixtures()) {
    const auto reader = OpenBytes(fixture.bytes).ValueOrDie();
    for (int column = 0; column < reader->num_columns(); ++column) {
      for (const char* type : types) {
        ColumnRequest request;
        request.field.name = "c";
        request.field.logical_type = type;
        request.columns = {column};
        const auto batch =
            reader->Read(Context(), std::span(&request, 1), RowSelection(0, reader->num_rows()));
        if (!batch.ok()) {
          EXPECT_NE(CodeOf(batch.status()), ErrorCode::kInternal) << batch.status();
          continue;
        }
        EXPECT_TRUE((*batch)->ValidateFull().ok())
            << fixture.name << " column " << column << " as " << type;
      }
    }
  }
}

TEST(FileReaderTest, StructsAreProjectedByLeaf) {
  const Fixture& fixture = FindFixture("structs-2.2");
  const auto reader = OpenBytes(fixture.bytes).ValueOrDie();
  ColumnRequest some = reader->AllColumns().ValueOrDie()[1];
  const auto& expected = static_cast<const arrow::StructArray&>(*fixture.rows->column(1));
  // The children 1 and 3 and, in front of them, one that is not in this file.
  Field missing = some.field.children[0];
  some.field.children = {missing, some.field.children[1], some.field.children[3]};
  some.columns = {-1, some.columns[1], some.columns[3]};
  const auto batch =
      reader->Read(Context(), std::span(&some, 1), RowSelection(0, reader->num_rows()))
          .ValueOrDie();
  ASSERT_TRUE(batch->ValidateFull().ok());
  const auto& actual = static_cast<const arrow::StructArray&>(*batch->column(0));
  EXPECT_EQ(actual.null_count(), expected.null_count());
  EXPECT_EQ(actual.field(0)->null_count(), actual.length());
  for (int64_t i = 0; i < actual.length(); ++i) {
    ASSERT_EQ(actual.IsNull(i), expected.IsNull(i)) << i;
    if (actual.IsNull(i)) continue;
    EXPECT_TRUE(actual.field(1)->RangeEquals(*expected.field(1), i, i + 1, i)) << i;
    EXPECT_TRUE(actual.field(2)->RangeEquals(*expected.field(3), i, i + 1, i)) << i;
  }
}

TEST(FileReaderTest, ColumnsThatAreNotInTheFileAreNull) {
  const Fixture& fixture = FindFixture("structs-2.2");
  const auto reader = OpenBytes(fixture.bytes).ValueOrDie();
  auto columns = reader->AllColumns().ValueOrDie();
  ColumnRequest plain;
  plain.field.name = "added";
  plain.field.logical_type = "string";
  plain.columns = {-1};
  columns.resize(1);
  for (int& column : columns[0].columns) column = -1;
  columns.push_back(plain);
  const auto batch = reader->Read(Context(), columns, RowSelection(5, 7)).ValueOrDie();
  ASSERT_TRUE(batch->ValidateFull().ok());
  EXPECT_EQ(batch->num_rows(), 7);
  EXPECT_EQ(batch->column(0)->null_count(), 7);
  EXPECT_EQ(batch->column(1)->null_count(), 7);
}

TEST(FileReaderTest, WithoutColumnsOnlyRowsAreCounted) {
  const auto reader = OpenBytes(FindFixture("flat-2.2").bytes).ValueOrDie();
  const auto batch = reader->Read(Context(), {}, RowSelection(3, 9)).ValueOrDie();
  EXPECT_EQ(batch->num_rows(), 9);
  EXPECT_EQ(batch->num_columns(), 0);
}

TEST(FileReaderTest, RefusesRowsAndColumnsThatAreNotThere) {
  const auto reader = OpenBytes(FindFixture("flat-2.2").bytes).ValueOrDie();
  auto columns = reader->AllColumns().ValueOrDie();
  EXPECT_EQ(CodeOf(reader->Read(Context(), columns, RowSelection(70, 1)).status()),
            ErrorCode::kInvalidArgument);
  columns[0].columns = {99};
  EXPECT_EQ(CodeOf(reader->Read(Context(), columns, RowSelection(0, 1)).status()),
            ErrorCode::kCorrupt);
  columns[0].columns = {0, 1};
  EXPECT_EQ(CodeOf(reader->Read(Context(), columns, RowSelection(0, 1)).status()),
            ErrorCode::kInvalidArgument);
}

TEST(FileReaderTest, AWrongSizeIsCorrupt) {
  const Fixture& fixture = FindFixture("flat-2.2");
  const auto store = StoreWith("x", fixture.bytes);
  for (const int64_t off : {-40, -1, 1, 100}) {
    const auto reader =
        FileReader::Open(Context(), store, "x", fixture.bytes.size() + static_cast<uint64_t>(off));
    ASSERT_FALSE(reader.ok()) << off;
    EXPECT_EQ(CodeOf(reader.status()), ErrorCode::kCorrupt) << reader.status();
  }
  EXPECT_TRUE(FileReader::Open(Context(), store, "x", fixture.bytes.size()).ok());
  EXPECT_EQ(CodeOf(FileReader::Open(Context(), store, "y").status()), ErrorCode::kNotFound);
}

TEST(FileReaderTest, ReadsInTwoRoundsOfRequestsAndKeepsWhatItLearned) {
  const Fixture& fixture = FindFixture("dictionary-2.2");
  auto store = std::make_shared<storage::RecordingStore>(StoreWith("x", fixture.bytes));
  const auto reader = FileReader::Open(Context(), store, "x", fixture.bytes.size()).ValueOrDie();
  EXPECT_EQ(store->calls().size(), 1u) << "a small file is opened by one read of its tail";
  const auto columns = reader->AllColumns().ValueOrDie();
  store->Clear();
  const uint64_t rows[] = {7, 100, 250};
  ASSERT_TRUE(reader->Read(Context(), columns, RowSelection::FromSortedRows(rows)).ok());
  EXPECT_EQ(store->calls().size(), 2u) << "tables of chunks and dictionaries, then chunks";
  store->Clear();
  ASSERT_TRUE(reader->Read(Context(), columns, RowSelection::FromSortedRows(rows)).ok());
  EXPECT_EQ(store->calls().size(), 1u) << "only chunks";

  const auto fresh = FileReader::Open(Context(), store, "x", fixture.bytes.size()).ValueOrDie();
  store->Clear();
  ASSERT_TRUE(fresh->Read(Context(), columns, RowSelection(0, 300)).ok());
  EXPECT_EQ(store->calls().size(), 1u) << "whole pages need one round";
}

TEST(FileReaderTest, EstimatesBytes) {
  for (const char* name : {"flat-2.2", "fsst-2.2", "wide_lists-2.2", "dictionary-2.2"}) {
    const Fixture& fixture = FindFixture(name);
    const auto reader = OpenBytes(fixture.bytes).ValueOrDie();
    const auto columns = reader->AllColumns().ValueOrDie();
    const auto estimate = reader->EstimateBytes(Context(), columns, reader->num_rows());
    ASSERT_TRUE(estimate.ok()) << estimate.status();
    uint64_t actual = 0;
    for (const auto& column : fixture.rows->columns()) {
      for (const auto& buffer : column->data()->buffers)
        actual += buffer == nullptr ? 0 : static_cast<uint64_t>(buffer->size());
      for (const auto& child : column->data()->child_data) {
        for (const auto& buffer : child->buffers)
          actual += buffer == nullptr ? 0 : static_cast<uint64_t>(buffer->size());
      }
    }
    EXPECT_GT(*estimate * 4, actual) << name;
    EXPECT_LT(*estimate, actual * 8 + 4096) << name;
  }
}

TEST(FileReaderTest, StopsWhenCancelled) {
  const Fixture& fixture = FindFixture("fsst-2.2");
  const auto reader = OpenBytes(fixture.bytes).ValueOrDie();
  const auto columns = reader->AllColumns().ValueOrDie();
  Context context;
  context.deadline = 0;
  EXPECT_EQ(CodeOf(reader->Read(context, columns, RowSelection(0, 10)).status()),
            ErrorCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace lake::format
