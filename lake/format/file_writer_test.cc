#include "lake/format/file_writer.h"

#include <numeric>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/file_reader.h"
#include "lake/storage/memory_store.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileWriterTest : public ::testing::Test {
 protected:
  static std::shared_ptr<arrow::RecordBatch> Batch(const std::shared_ptr<arrow::Schema>& schema,
                                                   const std::string& json) {
    return arrow::RecordBatch::FromStructArray(
               arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), json)
                   .ValueOrDie())
        .ValueOrDie();
  }

  std::unique_ptr<FileWriter> Open(const arrow::Schema& schema, FileWriterOptions options = {},
                                   const std::string& key = "f.lance") {
    auto writer =
        FileWriter::Open(context_, store_, key, SchemaFromArrow(schema).ValueOrDie(), options);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return std::move(writer).ValueOrDie();
  }

  std::shared_ptr<FileReader> Reader(const std::string& key = "f.lance") {
    return FileReader::Open(context_, store_, key).ValueOrDie();
  }

  std::shared_ptr<arrow::RecordBatch> ReadAll(const std::string& key = "f.lance") {
    const auto reader = Reader(key);
    const auto columns = reader->AllColumns().ValueOrDie();
    return reader->Read(context_, columns, RowSelection(0, reader->num_rows())).ValueOrDie();
  }

  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    const auto objects = storage::ListAll(store_.get(), context_, "").ValueOrDie();
    for (const auto& object : objects) keys.push_back(object.key);
    return keys;
  }

  Context context_;
  std::shared_ptr<storage::ObjectStore> store_ = storage::MakeMemoryStore();
};

TEST_F(FileWriterTest, SaysWhatAManifestNeeds) {
  const auto schema =
      arrow::schema({arrow::field("a", arrow::int32()),
                     arrow::field("s", arrow::struct_({arrow::field("x", arrow::int8()),
                                                       arrow::field("y", arrow::utf8())})),
                     arrow::field("v", arrow::fixed_size_list(arrow::float32(), 2))});
  auto fields = SchemaFromArrow(*schema, 20).ValueOrDie();
  auto writer = FileWriter::Open(context_, store_, "data/f.lance", fields).ValueOrDie();
  ASSERT_TRUE(writer
                  ->Write(*Batch(schema, R"([{"a": 1, "s": {"x": 2, "y": "three"}, "v": [4, 5]},
                                               {"a": null, "s": null, "v": null}])"))
                  .ok());
  EXPECT_EQ(writer->num_rows(), 2);
  const auto written = writer->Finish();
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->key, "data/f.lance");
  EXPECT_EQ(written->num_rows, 2);
  EXPECT_EQ(written->version, kFileVersion22);
  EXPECT_EQ(written->size_bytes, store_->Head(context_, "data/f.lance")->size);
  // The struct itself has no column.
  EXPECT_THAT(written->field_ids, ElementsAre(20, 22, 23, 24));
  EXPECT_THAT(written->column_indices, ElementsAre(0, 1, 2, 3));
}

TEST_F(FileWriterTest, NoRowsMakeAFile) {
  const auto schema =
      arrow::schema({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())});
  ASSERT_TRUE(Open(*schema)->Finish().ok());
  EXPECT_EQ(Reader()->num_rows(), 0);
  EXPECT_TRUE(ReadAll()->schema()->Equals(*schema));
}

TEST_F(FileWriterTest, NothingIsVisibleBeforeFinish) {
  const auto schema = arrow::schema({arrow::field("a", arrow::int32())});
  {
    const auto writer = Open(*schema);
    ASSERT_TRUE(writer->Write(*Batch(schema, R"([{"a": 1}])")).ok());
    EXPECT_THAT(Keys(), ElementsAre());
  }
  EXPECT_THAT(Keys(), ElementsAre());
}

TEST_F(FileWriterTest, AnExistingFileIsNotReplaced) {
  const auto schema = arrow::schema({arrow::field("a", arrow::int32())});
  ASSERT_TRUE(store_->Put(context_, "f.lance", "here", storage::PutCondition::kNone).ok());
  auto writer =
      FileWriter::Open(context_, store_, "f.lance", SchemaFromArrow(*schema).ValueOrDie());
  const Status status = writer.ok() ? (*writer)->Finish().status() : writer.status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kPreconditionFailed);
  EXPECT_EQ(store_->Head(context_, "f.lance")->size, 4);
}

TEST_F(FileWriterTest, NothingIsWrittenAfterFinish) {
  const auto schema = arrow::schema({arrow::field("a", arrow::int32())});
  const auto writer = Open(*schema);
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(CodeOf(writer->Write(*Batch(schema, R"([{"a": 1}])"))), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(writer->Finish().status()), ErrorCode::kInvalidArgument);
}

TEST_F(FileWriterTest, NullsWhereNoneAreAllowedAreRefusedAndTheFileGoesOn) {
  const auto inner = arrow::struct_({arrow::field("x", arrow::int32(), false)});
  const auto declared = arrow::schema({arrow::field("n", arrow::int64(), false),
                                       arrow::field("s", inner), arrow::field("t", inner, false)});
  const auto loose = arrow::schema(
      {arrow::field("n", arrow::int64()), arrow::field("s", inner), arrow::field("t", inner)});
  const auto writer = Open(*declared);
  ASSERT_TRUE(writer->Write(*Batch(loose, R"([{"n": 1, "s": {"x": 1}, "t": {"x": 1}}])")).ok());
  struct Case {
    const char* rows;
    const char* column;
    int row;
  };
  // A field may be null under a struct that is.
  for (const Case& test :
       {Case{R"([{"n": 2, "s": null, "t": {"x": 1}}, {"n": null, "s": null, "t": {"x": 1}}])",
             "'n'", 2},
        Case{R"([{"n": 2, "s": null, "t": {"x": 1}}, {"n": 3, "s": {"x": null}, "t": {"x": 1}}])",
             "'s.x'", 2},
        Case{R"([{"n": 2, "s": null, "t": null}])", "'t'", 1}}) {
    const Status status = writer->Write(*Batch(loose, test.rows));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument);
    EXPECT_THAT(ErrorText(status), HasSubstr(fmt::format("{}, row {}", test.column, test.row)));
  }
  // No row of the refused batches was taken.
  ASSERT_TRUE(writer->Write(*Batch(loose, R"([{"n": 5, "s": null, "t": {"x": 6}}])")).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(ReadAll()->column(0)->Equals(
      arrow::json::ArrayFromJSONString(arrow::int64(), "[1, 5]").ValueOrDie()));
}

std::shared_ptr<arrow::RecordBatch> TextBatch(std::vector<int32_t> offsets, std::string bytes,
                                              std::optional<uint8_t> validity = {}) {
  const auto buffer = [](const auto& data) {
    return arrow::Buffer::FromString(
        std::string(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(data[0])));
  };
  const int64_t rows = static_cast<int64_t>(offsets.size()) - 1;
  const auto bits =
      validity ? arrow::Buffer::FromString(std::string(1, static_cast<char>(*validity))) : nullptr;
  const auto data =
      arrow::ArrayData::Make(arrow::utf8(), rows, {bits, buffer(offsets), buffer(bytes)});
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("t", arrow::utf8())}), rows,
                                  {arrow::MakeArray(data)});
}

TEST_F(FileWriterTest, TextMustBeUtf8ButNotUnderANull) {
  const auto writer = Open(*arrow::schema({arrow::field("t", arrow::utf8())}));
  ASSERT_TRUE(writer->Write(*TextBatch({0, 1, 3}, "a\xc3\xa9")).ok());
  // A character cut in two, and a byte that is none.
  for (const auto& batch : {TextBatch({0, 2, 3}, "a\xc3\xa9"), TextBatch({0, 1, 2}, "a\xff")}) {
    const Status status = writer->Write(*batch);
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument);
    EXPECT_THAT(ErrorText(status), HasSubstr("column 't', row "));
  }
  EXPECT_THAT(ErrorText(writer->Write(*TextBatch({0, 1, 2}, "a\xff"))), HasSubstr("row 3"));
  ASSERT_TRUE(writer->Write(*TextBatch({0, 1, 2}, "b\xff", 0b01)).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(ReadAll()->column(0)->Equals(
      arrow::json::ArrayFromJSONString(arrow::utf8(), R"(["a", "\u00e9", "b", null])")
          .ValueOrDie()));
}

TEST_F(FileWriterTest, ArraysThatPointOutsideTheirBytesAreRefused) {
  const auto writer = Open(*arrow::schema({arrow::field("t", arrow::utf8())}));
  for (const auto& offsets : std::vector<std::vector<int32_t>>{
           {0, 9}, {-1, 2}, {0, 3, 1}, {2, 1}, {0, 1000000, 2}, {INT32_MIN, INT32_MAX, 0}}) {
    const Status status = writer->Write(*TextBatch(offsets, "abc"));
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument) << status;
    EXPECT_THAT(ErrorText(status), HasSubstr("'t'"));
  }
  EXPECT_EQ(writer->num_rows(), 0);
}

TEST_F(FileWriterTest, RowsOfAnotherShapeAreRefused) {
  const auto inner = arrow::struct_({arrow::field("x", arrow::int32())});
  const auto schema = arrow::schema({arrow::field("a", arrow::int32()), arrow::field("s", inner)});
  const auto writer = Open(*schema);
  const auto fewer = arrow::schema({arrow::field("a", arrow::int32())});
  EXPECT_EQ(CodeOf(writer->Write(*Batch(fewer, R"([{"a": 1}])"))), ErrorCode::kInvalidArgument);
  const std::vector<std::pair<std::shared_ptr<arrow::DataType>, std::shared_ptr<arrow::DataType>>>
      cases{{arrow::int64(), inner},
            {arrow::int32(), arrow::struct_({arrow::field("z", arrow::int32())})},
            {arrow::int32(), arrow::struct_({arrow::field("x", arrow::int64())})},
            {arrow::int32(), arrow::struct_({inner->field(0), arrow::field("y", arrow::int8())})}};
  for (const auto& [a, s] : cases) {
    const auto other = arrow::schema({arrow::field("a", a), arrow::field("s", s)});
    EXPECT_EQ(CodeOf(writer->Write(*Batch(other, R"([{"a": 1, "s": null}])"))),
              ErrorCode::kInvalidArgument)
        << other->ToString();
  }
}

TEST_F(FileWriterTest, ColumnsOfOtherLengthsThanTheirBatchAreRefused) {
  const auto schema =
      arrow::schema({arrow::field("a", arrow::int32()), arrow::field("b", arrow::int32())});
  const auto numbers = [](const std::string& json) {
    return arrow::json::ArrayFromJSONString(arrow::int32(), json).ValueOrDie();
  };
  const auto writer = Open(*schema);
  const Status status =
      writer->Write(*arrow::RecordBatch::Make(schema, 2, {numbers("[1, 2]"), numbers("[1]")}));
  EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr("'b'"));
  ASSERT_TRUE(
      writer->Write(*arrow::RecordBatch::Make(schema, 1, {numbers("[3]"), numbers("[4]")})).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(ReadAll()->num_rows(), 1);
}

TEST_F(FileWriterTest, TypesOutOfScopeAreRefusedAtOpen) {
  Schema schema = SchemaFromArrow(*arrow::schema({arrow::field("a", arrow::int32())})).ValueOrDie();
  schema.fields[0].logical_type = "interval";
  const auto writer = FileWriter::Open(context_, store_, "f.lance", schema);
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(CodeOf(writer.status()), ErrorCode::kUnsupported);
  EXPECT_THAT(ErrorText(writer.status()), HasSubstr("'a'"));
}

std::shared_ptr<arrow::RecordBatch> NumberBatch(int columns, int64_t rows) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (int column = 0; column < columns; ++column) {
    arrow::Int64Builder builder;
    for (int64_t row = 0; row < rows; ++row) {
      EXPECT_TRUE(builder.Append(row * 1'000'003 * (column + 1)).ok());
    }
    fields.push_back(arrow::field(fmt::format("c{}", column), arrow::int64()));
    arrays.push_back(builder.Finish().ValueOrDie());
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), rows, arrays);
}

TEST_F(FileWriterTest, PagesOfAColumnAreCutAtTheTarget) {
  const auto batch = NumberBatch(1, 100'000);
  const auto writer = Open(*batch->schema(), {.target_page_bytes = 100 * 1024});
  // Slices of one large batch are charged by their own rows.
  for (int64_t start = 0; start < batch->num_rows(); start += 1000) {
    ASSERT_TRUE(writer->Write(*batch->Slice(start, 1000)).ok());
    ASSERT_LE(writer->estimated_size(), static_cast<uint64_t>(start + 1000) * 12 + 4096);
  }
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(ReadAll()->Equals(*batch));
}

TEST_F(FileWriterTest, AllColumnsTogetherStayUnderTheBudget) {
  const auto batch = NumberBatch(64, 4096);
  constexpr uint64_t kBudget = 256 * 1024;
  context_.memory = MemoryBudget::Make(2 * kBudget);
  const auto writer = Open(*batch->schema(), {.max_buffered_bytes = kBudget});
  for (int64_t start = 0; start < batch->num_rows(); start += 64) {
    ASSERT_TRUE(writer->Write(*batch->Slice(start, 64)).ok());
    ASSERT_LE(context_.memory->used(), static_cast<int64_t>(kBudget));
  }
  EXPECT_GT(context_.memory->peak(), static_cast<int64_t>(kBudget / 4));
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(context_.memory->used(), 0);
  EXPECT_TRUE(ReadAll()->Equals(*batch));
}

TEST_F(FileWriterTest, ATightMemoryLimitMakesSmallerPagesNotAnError) {
  const auto batch = NumberBatch(8, 10'000);
  context_.memory = MemoryBudget::Make(100 * 1024);
  const auto writer = Open(*batch->schema());
  for (int64_t start = 0; start < batch->num_rows(); start += 500) {
    ASSERT_TRUE(writer->Write(*batch->Slice(start, 500)).ok());
  }
  ASSERT_TRUE(writer->Finish().ok());
  context_.memory = MemoryBudget::Make(1 << 30);
  EXPECT_TRUE(ReadAll()->Equals(*batch));
}

TEST_F(FileWriterTest, ALargeValueIsAPageOfItsOwn) {
  arrow::LargeBinaryBuilder builder;
  ASSERT_TRUE(builder.Append("small").ok());
  ASSERT_TRUE(builder.Append(std::string(3 << 20, 'x')).ok());
  ASSERT_TRUE(builder.Append("after").ok());
  const auto batch =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("b", arrow::large_binary())}), 3,
                               {builder.Finish().ValueOrDie()});
  const auto writer = Open(*batch->schema(), {.target_page_bytes = 1 << 20});
  ASSERT_TRUE(writer->Write(*batch).ok());
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(ReadAll()->Equals(*batch));
}

TEST_F(FileWriterTest, CancellationStopsIt) {
  const auto batch = NumberBatch(1, 10);
  context_.deadline = 0;
  auto writer =
      FileWriter::Open(context_, store_, "f.lance", SchemaFromArrow(*batch->schema()).ValueOrDie());
  const Status status = writer.ok() ? (*writer)->Write(*batch) : writer.status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace lake::format
