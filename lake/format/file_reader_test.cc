#include "lake/format/file_reader.h"

#include <algorithm>
#include <random>
#include <set>

#include <arrow/api.h>
#include <arrow/compare.h>
#include <gtest/gtest.h>

#include "lake/format/column_metadata_internal.h"
#include "lake/format/file_writer.h"
#include "lake/format/testing/fixtures.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/recording_store.h"

namespace lake::format {
namespace {

// A schema that lies about a column: the page itself must refuse to be what it is not.
TEST(FileReaderTest, RefusesPagesOfAnotherShapeThanTheirField) {
  const auto reader = OpenBytes(FindFixture("list_wide-2.2").bytes).ValueOrDie();
  ColumnRequest request;
  request.field.name = "c";
  request.field.logical_type = "int64";
  request.columns = {0};
  const auto batch = reader->Read(Context(), std::span(&request, 1), RowSelection(0, 2));
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(CodeOf(batch.status()), ErrorCode::kCorrupt);
  EXPECT_NE(ErrorText(batch.status()).find("layers of nesting"), std::string::npos);
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
    const auto opened = OpenBytes(fixture.bytes);
    if (!opened.ok()) continue;  // FixtureTest knows which may.
    const auto& reader = *opened;
    // Some of the columns of wide files.
    const int step = 1 + reader->num_columns() / 16;
    for (int column = 0; column < reader->num_columns(); column += step) {
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
        // Not every 16 bytes are a decimal; that is a matter of the value.
        const bool any_bytes = std::string_view(type).starts_with("decimal");
        EXPECT_TRUE((any_bytes ? (*batch)->Validate() : (*batch)->ValidateFull()).ok())
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
  for (const char* name : {"flat-2.2", "fsst-2.2", "wide_strings-2.2", "dictionary64-2.2"}) {
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

// Row i of the fixture is null if i % 7 == 3, empty if i % 7 == 5, else 4 * i bytes of value i.
TEST(FileReaderTest, BlobsAreReadByWhereTheyLie) {
  for (const char* name : {"blob_v1-2.1", "blob_v2-2.2"}) {
    SCOPED_TRACE(name);
    const auto reader = OpenBytes(FindFixture(name).bytes).ValueOrDie();
    const auto columns = reader->AllColumns().ValueOrDie();
    const auto batch =
        reader->Read(Context(), columns, RowSelection(0, reader->num_rows())).ValueOrDie();
    const auto& blobs = static_cast<const arrow::StructArray&>(*batch->column(0));
    const auto& position =
        static_cast<const arrow::UInt64Array&>(*blobs.GetFieldByName("position"));
    const auto& size = static_cast<const arrow::UInt64Array&>(*blobs.GetFieldByName("size"));
    for (int64_t i = 0; i < blobs.length(); ++i) {
      ASSERT_EQ(blobs.IsNull(i), i % 7 == 3) << i;
      if (blobs.IsNull(i)) continue;
      const storage::ByteRange range{position.Value(i), size.Value(i)};
      const auto bytes = reader->ReadRanges(Context(), std::span(&range, 1));
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      EXPECT_EQ(std::string_view(*(*bytes)[0]),
                std::string(i % 7 == 5 ? 0 : 4 * static_cast<size_t>(i), static_cast<char>(i)));
    }
    for (const storage::ByteRange& range :
         {storage::ByteRange{reader->file_size() - 10, 10}, {uint64_t{1} << 63, 1}, {0, 1 << 30}}) {
      EXPECT_EQ(CodeOf(reader->ReadRanges(Context(), std::span(&range, 1)).status()),
                ErrorCode::kCorrupt);
    }
  }
}

TEST(FileReaderTest, KeepsTheDictionaryOfAPageWhereItIsAskedTo) {
  arrow::StringBuilder builder;
  for (int row = 0; row < 20'000; ++row) {
    const bool null = row % 11 == 0;
    const std::string value = "value number " + std::to_string(row % 7);
    ASSERT_TRUE((null ? builder.AppendNull() : builder.Append(value)).ok());
  }
  const auto texts = builder.Finish().ValueOrDie();
  const auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("s", arrow::utf8())}),
                                              texts->length(), {texts});
  const Context context;
  const auto store = storage::MakeMemoryStore();
  auto writer =
      FileWriter::Open(context, store, "f.lance", SchemaFromArrow(*batch->schema()).ValueOrDie())
          .ValueOrDie();
  ASSERT_TRUE(writer->Write(*batch).ok());
  ASSERT_TRUE(writer->Finish().ok());

  const auto reader = FileReader::Open(context, store, "f.lance").ValueOrDie();
  auto columns = reader->AllColumns().ValueOrDie();
  EXPECT_EQ(reader->Read(context, columns, {0, 10}).ValueOrDie()->column(0)->type_id(),
            arrow::Type::STRING);
  columns[0].keep_dictionary = true;
  std::shared_ptr<arrow::ArrayData> shared;
  for (const uint64_t start : {0, 5000, 17}) {
    const auto read = reader->Read(context, columns, {start, 3000}).ValueOrDie();
    ASSERT_EQ(read->column(0)->type_id(), arrow::Type::DICTIONARY);
    EXPECT_TRUE(read->schema()->field(0)->type()->Equals(*read->column(0)->type()));
    const auto& kept = static_cast<const arrow::DictionaryArray&>(*read->column(0));
    ASSERT_TRUE(kept.ValidateFull().ok());
    EXPECT_EQ(kept.dictionary()->length(), 7);
    if (shared != nullptr) {
      EXPECT_EQ(kept.data()->dictionary, shared) << "reads of one page share it";
    }
    shared = kept.data()->dictionary;
    const auto& values = static_cast<const arrow::StringArray&>(*kept.dictionary());
    for (int64_t i = 0; i < kept.length(); ++i) {
      const int64_t row = static_cast<int64_t>(start) + i;
      ASSERT_EQ(kept.IsNull(i), row % 11 == 0);
      if (kept.IsNull(i)) continue;
      ASSERT_EQ(values.GetView(kept.GetValueIndex(i)), "value number " + std::to_string(row % 7));
    }
  }
}

}  // namespace
}  // namespace lake::format
