#include "lake/format/packed_rows.h"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/file_reader.h"
#include "lake/format/file_writer.h"
#include "lake/storage/memory_store.h"

namespace lake::format {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<arrow::Field> Packed(const std::string& name, arrow::FieldVector fields) {
  return arrow::field(name, arrow::struct_(std::move(fields)))
      ->WithMetadata(arrow::key_value_metadata({"lance-encoding:packed"}, {"true"}));
}

std::shared_ptr<arrow::Array> FromJson(const std::shared_ptr<arrow::DataType>& type,
                                       const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

Field FieldOf(const std::shared_ptr<arrow::Field>& field) {
  return SchemaFromArrow(*arrow::schema({field})).ValueOrDie().fields[0];
}

std::shared_ptr<arrow::Array> Pack(const std::shared_ptr<arrow::Field>& field,
                                   const std::shared_ptr<arrow::Array>& structs) {
  const auto fields = PackedFieldsOf(FieldOf(field), field->name()).ValueOrDie();
  return PackRows(fields, static_cast<const arrow::StructArray&>(*structs),
                  arrow::default_memory_pool())
      .ValueOrDie();
}

TEST(PackedRowsTest, FieldsOfFixedWidthStandOneBehindTheOther) {
  const auto field =
      Packed("p", {arrow::field("a", arrow::int16()), arrow::field("b", arrow::uint8())});
  const auto structs =
      FromJson(field->type(), R"([{"a": 9, "b": 9}, {"a": 258, "b": 3}, null, {"a": -1, "b": 4}])");
  const auto rows = Pack(field, structs->Slice(1));
  ASSERT_EQ(rows->type_id(), arrow::Type::FIXED_SIZE_BINARY);
  ASSERT_EQ(rows->length(), 3);
  const auto& bytes = static_cast<const arrow::FixedSizeBinaryArray&>(*rows);
  EXPECT_EQ(bytes.GetView(0), std::string("\x02\x01\x03", 3));
  EXPECT_TRUE(rows->IsNull(1));
  EXPECT_EQ(bytes.GetView(2), std::string("\xff\xff\x04", 3));
}

TEST(PackedRowsTest, StringsHaveTheirLengthAndItemsTheirValidityInFront) {
  const auto field =
      Packed("p", {arrow::field("s", arrow::utf8()), arrow::field("l", arrow::large_binary()),
                   arrow::field("v", arrow::fixed_size_list(arrow::int8(), 3))});
  const auto structs = FromJson(field->type(), R"([{"s": "ab", "l": "c", "v": [1, null, 3]}, null,
                         {"s": "", "l": "", "v": [4, 5, 6]}])");
  const auto rows = Pack(field, structs);
  ASSERT_EQ(rows->type_id(), arrow::Type::LARGE_BINARY);
  const auto& bytes = static_cast<const arrow::LargeBinaryArray&>(*rows);
  EXPECT_EQ(bytes.GetView(0), std::string("\2\0\0\0ab\1\0\0\0\0\0\0\0c\5\1\0\3", 19));
  EXPECT_EQ(bytes.GetView(1), "");
  EXPECT_TRUE(rows->IsNull(1));
  EXPECT_EQ(bytes.GetView(2), std::string("\0\0\0\0\0\0\0\0\0\0\0\0\7\4\5\6", 16));
}

TEST(PackedRowsTest, TypesThatAreNotPackedAreRefusedByName) {
  for (const auto& type : {arrow::boolean(), arrow::null(), arrow::list(arrow::int8()),
                           arrow::struct_({arrow::field("x", arrow::int8())}),
                           arrow::fixed_size_list(arrow::boolean(), 8),
                           arrow::dictionary(arrow::int8(), arrow::utf8()),
                           arrow::map(arrow::utf8(), arrow::int8())}) {
    const auto field = Packed("p", {arrow::field("a", arrow::int8()), arrow::field("b", type)});
    const Status refused = PackedFieldsOf(FieldOf(field), "p").status();
    EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported) << type->ToString();
    EXPECT_THAT(refused.message(), HasSubstr("'p.b'"));
  }
}

class PackedFileTest : public ::testing::TestWithParam<bool> {
 protected:
  /// Writes batches of `field` and reads them back.
  Result<std::shared_ptr<arrow::Array>> RoundTrip(const std::shared_ptr<arrow::Field>& field,
                                                  const arrow::ArrayVector& batches) {
    const auto schema = arrow::schema({field});
    ARROW_ASSIGN_OR_RAISE(Schema stored, SchemaFromArrow(*schema));
    ARROW_ASSIGN_OR_RAISE(
        auto writer, FileWriter::Open(context_, store_, "f.lance", stored,
                                      {.version = GetParam() ? kFileVersion22 : kFileVersion21}));
    for (const auto& batch : batches) {
      ARROW_RETURN_NOT_OK(
          writer->Write(*arrow::RecordBatch::Make(schema, batch->length(), {batch})));
    }
    ARROW_ASSIGN_OR_RAISE(const WrittenFile written, writer->Finish());
    EXPECT_EQ(written.field_ids, std::vector<int32_t>{0});
    ARROW_ASSIGN_OR_RAISE(auto reader, FileReader::Open(context_, store_, "f.lance"));
    ColumnRequest column{reader->schema().fields[0], {0}};
    ARROW_ASSIGN_OR_RAISE(auto rows,
                          reader->Read(context_, {&column, 1}, RowSelection(0, written.num_rows)));
    return rows->column(0);
  }

  Context context_;
  std::shared_ptr<storage::ObjectStore> store_ = storage::MakeMemoryStore();
};

TEST_P(PackedFileTest, RowsComeBack) {
  const auto field =
      Packed("p", {arrow::field("a", arrow::int32()), arrow::field("b", arrow::float64())});
  const auto rows =
      FromJson(field->type(), R"([null, {"a": 1, "b": 0.5}, {"a": 2, "b": -1}, null])");
  const auto back = RoundTrip(field, {rows, rows->Slice(1, 2)});
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(
      (*back)->Equals(FromJson(field->type(), R"([null, {"a": 1, "b": 0.5}, {"a": 2, "b": -1}, null,
                                  {"a": 1, "b": 0.5}, {"a": 2, "b": -1}])")))
      << (*back)->ToString();
}

TEST_P(PackedFileTest, NullsOfFieldsAreRefusedByRow) {
  const auto field = Packed("p", {arrow::field("a", arrow::int32())});
  const auto good = FromJson(field->type(), R"([{"a": 1}])");
  const auto bad = FromJson(field->type(), R"([null, {"a": null}])");
  const Status refused = RoundTrip(field, {good, bad}).status();
  EXPECT_EQ(CodeOf(refused), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("column 'p.a', row 2"));
}

TEST_P(PackedFileTest, ColumnsOfAnyWidthNeedVersion22) {
  const auto field = Packed(
      "p",
      {arrow::field("s", arrow::utf8()),
       arrow::field("v", arrow::fixed_size_list(arrow::fixed_size_list(arrow::int8(), 2), 2))});
  const auto rows =
      FromJson(field->type(),
               R"([{"s": "a", "v": [[1, 2], null]}, null, {"s": "", "v": [[null, 4], [5, 6]]}])");
  const auto back = RoundTrip(field, {rows, rows});
  if (!GetParam()) {
    EXPECT_EQ(CodeOf(back.status()), ErrorCode::kUnsupported);
    EXPECT_THAT(back.status().message(), HasSubstr("2.1"));
    return;
  }
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE((*back)->Slice(0, 3)->Equals(rows)) << (*back)->ToString();
  EXPECT_TRUE((*back)->Slice(3)->Equals(rows)) << (*back)->ToString();
}

INSTANTIATE_TEST_SUITE_P(Versions, PackedFileTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "v22" : "v21"; });

}  // namespace
}  // namespace lake::format
