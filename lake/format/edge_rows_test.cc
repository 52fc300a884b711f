// Rows at the edges of what a file can hold, written and read back.

#include <memory>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <arrow/util/bit_util.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/file_reader.h"
#include "lake/format/file_writer.h"
#include "lake/storage/memory_store.h"

namespace lake::format {
namespace {

using ::testing::HasSubstr;
using Array = std::shared_ptr<arrow::Array>;
using Type = std::shared_ptr<arrow::DataType>;

Array Parse(const Type& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

std::shared_ptr<arrow::Field> JsonField(const std::string& name) {
  return arrow::field(name, arrow::utf8(), true,
                      arrow::key_value_metadata({"ARROW:extension:name"}, {"arrow.json"}));
}

// `array` with nulls where the bits of `validity` are 0, whatever lies below.
Array WithValidity(const Array& array, uint8_t validity) {
  auto data = array->data()->Copy();
  data->buffers[0] = arrow::Buffer::FromString(std::string(1, static_cast<char>(validity)));
  data->null_count = arrow::kUnknownNullCount;
  return arrow::MakeArray(data);
}

class EdgeRowsTest : public ::testing::Test {
 protected:
  Status Write(const Array& column, FileVersion version = kFileVersion22) {
    const auto schema = arrow::schema({arrow::field("c", column->type())});
    FileWriterOptions options;
    options.version = version;
    key_ = fmt::format("{}.lance", ++files_);
    ARROW_ASSIGN_OR_RAISE(const Schema fields, SchemaFromArrow(*schema));
    ARROW_ASSIGN_OR_RAISE(const auto writer,
                          FileWriter::Open(context_, store_, key_, fields, options));
    ARROW_RETURN_NOT_OK(
        writer->Write(*arrow::RecordBatch::Make(schema, column->length(), {column})));
    return writer->Finish().status();
  }

  Array ReadBack() {
    const auto reader = FileReader::Open(context_, store_, key_).ValueOrDie();
    const auto columns = reader->AllColumns().ValueOrDie();
    const auto batch = reader->Read(context_, columns, RowSelection(0, reader->num_rows()));
    EXPECT_TRUE(batch.ok()) << batch.status();
    return batch.ok() ? (*batch)->column(0) : nullptr;
  }

  void ExpectRoundTrip(const Array& column, const Array& expected) {
    for (const FileVersion version : {kFileVersion21, kFileVersion22}) {
      SCOPED_TRACE(version.ToString());
      const Status written = Write(column, version);
      ASSERT_TRUE(written.ok()) << written;
      const Array actual = ReadBack();
      ASSERT_NE(actual, nullptr);
      EXPECT_TRUE(actual->ValidateFull().ok()) << actual->ValidateFull();
      EXPECT_TRUE(actual->Equals(*expected)) << actual->ToString();
    }
  }

  const Context context_;
  const std::shared_ptr<storage::ObjectStore> store_ = storage::MakeMemoryStore();
  std::string key_;
  int files_ = 0;
};

// Upstream would read them as valid.
TEST_F(EdgeRowsTest, NullsAroundAStructWithoutFieldsAreRefused) {
  const auto empty = arrow::field("e", arrow::struct_(arrow::FieldVector{}));
  for (const auto& type :
       {arrow::struct_({empty}), arrow::struct_({empty, arrow::field("a", arrow::int32())}),
        arrow::struct_({arrow::field("s", arrow::struct_({empty}))})}) {
    SCOPED_TRACE(type->ToString());
    const std::string row = type->field(0)->name() == "s" ? R"({"s": {"e": {}}})" : R"({"e": {}})";
    const auto valid = Parse(type, "[" + row + ", " + row + "]");
    ExpectRoundTrip(valid, valid);
    for (const char* null : {"null", R"({"e": null})"}) {
      if (type->field(0)->name() == "s" && null[0] == '{') continue;
      const Status status = Write(Parse(type, "[" + row + ", " + null + ", " + row + "]"));
      EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported) << status;
      EXPECT_THAT(ErrorText(status), HasSubstr("row 1"));
    }
  }
}

// A struct builder gives its fields an empty value where it appends a null.
TEST_F(EdgeRowsTest, JsonUnderANullStructMayBeAnything) {
  const auto type = arrow::struct_({JsonField("j"), arrow::field("a", arrow::int32())});
  const auto column =
      WithValidity(Parse(type, R"([{"j": "{\"a\":1}", "a": 1}, {"j": "", "a": 2}])"), 0b01);
  ExpectRoundTrip(column, Parse(type, R"([{"j": "{\"a\":1}", "a": 1}, null])"));
}

TEST_F(EdgeRowsTest, JsonOutsideOfASliceMayBeAnything) {
  const auto structs = arrow::struct_({JsonField("j")});
  ExpectRoundTrip(Parse(structs, R"([{"j": "{"}, {"j": "[1]"}, null, {"j": "}"}])")->Slice(1, 2),
                  Parse(structs, R"([{"j": "[1]"}, null])"));
  for (const Type& type :
       std::vector<Type>{arrow::list(JsonField("item")), arrow::large_list(JsonField("item"))}) {
    ExpectRoundTrip(Parse(type, R"([["{"], ["1", null], null, [], ["2"], ["}"]])")->Slice(1, 4),
                    Parse(type, R"([["1", null], null, [], ["2"]])"));
  }
}

TEST_F(EdgeRowsTest, ItemsUnderNullListsMayBeAnything) {
  const auto lists = arrow::list(JsonField("item"));
  ExpectRoundTrip(WithValidity(Parse(lists, R"([["1"], ["{", "}"], ["2", "3"]])"), 0b101),
                  Parse(lists, R"([["1"], null, ["2", "3"]])"));

  // Indices behind the end of the dictionary, under a null list and under a null struct in a list.
  const auto keyed = arrow::dictionary(arrow::int8(), arrow::utf8());
  const auto words = Parse(arrow::utf8(), R"(["a", "b"])");
  auto data = Parse(arrow::int8(), "[1, 100, 0, 100]")->data()->Copy();
  data->type = keyed;
  data->dictionary = words->data();
  const Array items = arrow::MakeArray(data);
  const std::vector<int32_t> ends = {0, 1, 2, 4};
  const auto around = arrow::struct_({arrow::field("k", keyed)});
  const auto structs = arrow::ArrayData::Make(
      around, 4, {arrow::Buffer::FromString(std::string(1, 0b0111))}, {items->data()});
  const auto column = arrow::MakeArray(arrow::ArrayData::Make(
      arrow::list(around), 3,
      {arrow::Buffer::FromString(std::string(1, 0b101)), arrow::Buffer::Wrap(ends)}, {structs}));
  ExpectRoundTrip(column,
                  Parse(arrow::list(around), R"([[{"k": "b"}], null, [{"k": "a"}, null]])"));
}

TEST_F(EdgeRowsTest, ViewsInMapsAndFixedSizeListsOfStructs) {
  const auto map = arrow::map(arrow::utf8_view(), arrow::utf8_view());
  const auto read_map = arrow::map(arrow::utf8(), arrow::utf8());
  const auto maps = Parse(map, R"([[["a", "b"]], [["c", null], ["d", "e"]], [], [["f", "g"]]])");
  ASSERT_TRUE(Write(WithValidity(maps, 0b1101)->Slice(1)).ok());
  EXPECT_TRUE(ReadBack()->Equals(*Parse(read_map, R"([null, [], [["f", "g"]]])")));

  const auto list_of = [](const Type& type) {
    return arrow::fixed_size_list(arrow::struct_({arrow::field("x", type)}), 2);
  };
  const auto lists =
      Parse(list_of(arrow::binary_view()),
            R"([[{"x": "a"}, null], [{"x": "b"}, {"x": "c"}], [{"x": null}, {"x": "d"}], null])");
  ASSERT_TRUE(Write(WithValidity(lists, 0b0101)->Slice(1)).ok());
  EXPECT_TRUE(ReadBack()->Equals(
      *Parse(list_of(arrow::binary()), R"([null, [{"x": null}, {"x": "d"}], null])")));
}

TEST_F(EdgeRowsTest, ADictionaryMapKeyThatNamesANullIsRefused) {
  const auto keyed = arrow::dictionary(arrow::int8(), arrow::utf8());
  const auto keys = arrow::DictionaryArray::FromArrays(keyed, Parse(arrow::int8(), "[0, 1]"),
                                                       Parse(arrow::utf8(), R"(["a", null])"))
                        .ValueOrDie();
  const auto column = arrow::MapArray::FromArrays(Parse(arrow::int32(), "[0, 1, 2]"), keys,
                                                  Parse(arrow::int32(), "[5, 6]"))
                          .ValueOrDie();
  const Status status = Write(column);
  EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr("row 1"));
}

TEST_F(EdgeRowsTest, ListsThatPointOutsideTheirItemsAreRefusedBeforeTheyAreConverted) {
  const auto type = arrow::list(JsonField("item"));
  for (const auto& ends : std::vector<std::vector<int32_t>>{{0, 9, 2}, {0, -1, 2}, {0, 2, 1}}) {
    auto data = Parse(type, R"([["1"], ["2"]])")->data()->Copy();
    data->buffers[1] = arrow::Buffer::Wrap(ends);
    const Status status = Write(arrow::MakeArray(data));
    EXPECT_EQ(CodeOf(status), ErrorCode::kInvalidArgument) << status;
    EXPECT_THAT(ErrorText(status), HasSubstr("'c'"));
  }
}

TEST_F(EdgeRowsTest, ListsInsideFixedSizeListsOfStructsAreRefused) {
  for (const Type& inner :
       std::vector<Type>{arrow::list(arrow::int32()), arrow::map(arrow::utf8(), arrow::int32())}) {
    for (const int32_t size : {1, 2}) {
      const auto type = arrow::fixed_size_list(arrow::struct_({arrow::field("l", inner)}), size);
      const auto schema = SchemaFromArrow(*arrow::schema({arrow::field("c", type)}));
      ASSERT_TRUE(schema.ok()) << schema.status();
      const Status status = CheckWritable(*schema, kFileVersion22);
      EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported) << status;
      EXPECT_THAT(ErrorText(status), HasSubstr("'c.item.l'"));
    }
  }
}

TEST_F(EdgeRowsTest, AsManyFixedSizeListsInsideEachOtherAsAreWritten) {
  Type type = arrow::boolean();
  std::string valid = "true";
  std::string nulls = "null";
  for (int i = 0; i < 8; ++i) {
    type = arrow::fixed_size_list(type, 2);
    valid = "[" + valid + ", " + valid + "]";
    // A null of each level: all levels have a validity of their own.
    nulls = "[" + nulls + ", null]";
  }
  const auto column = Parse(type, "[" + valid + ", " + nulls + ", null, " + valid + "]");
  ExpectRoundTrip(column, column);
  const auto deeper =
      SchemaFromArrow(*arrow::schema({arrow::field("c", arrow::fixed_size_list(type, 2))}));
  EXPECT_EQ(CodeOf(CheckWritable(*deeper, kFileVersion22)), ErrorCode::kUnsupported);
}

TEST_F(EdgeRowsTest, ARowOfMoreEmptyListsThanAChunkOfVersion21Holds) {
  const auto type = arrow::list(arrow::list(arrow::int32()));
  std::string row = "[";
  for (int i = 0; i < 65'000; ++i) row += i % 3 == 0 ? "null, " : "[], ";
  const auto column = Parse(type, "[" + row + "[1, null, 3]], [[4]]]");
  ExpectRoundTrip(column, column);
}

TEST_F(EdgeRowsTest, BooleansOfMoreThanAChunkOfVersion21AreRefused) {
  constexpr int kItems = 200'000;
  arrow::BooleanBuilder items;
  for (int i = 0; i < 2 * kItems; ++i) ASSERT_TRUE(items.Append(i % 3 == 0).ok());
  const Array column =
      arrow::FixedSizeListArray::FromArrays(items.Finish().ValueOrDie(), kItems).ValueOrDie();
  const Status status = Write(column, kFileVersion21);
  EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr("'c'"));
  ASSERT_TRUE(Write(column).ok());
  EXPECT_TRUE(ReadBack()->Equals(*column));
}

TEST_F(EdgeRowsTest, EmptyListsWithoutOffsetsAreWritten) {
  const auto inner_type = arrow::list(arrow::int32());
  const auto middle_type = arrow::list(inner_type);
  const auto nothing = std::make_shared<arrow::Buffer>(nullptr, 0);
  const auto inner = arrow::ArrayData::Make(inner_type, 0, {nullptr, nothing},
                                            {Parse(arrow::int32(), "[]")->data()});
  const auto middle = arrow::ArrayData::Make(middle_type, 0, {nullptr, nothing}, {inner});
  const std::vector<int32_t> ends(4, 0);
  const auto column = arrow::MakeArray(arrow::ArrayData::Make(
      arrow::list(middle_type), 3,
      {arrow::Buffer::FromString(std::string(1, 0b101)), arrow::Buffer::Wrap(ends)}, {middle}));
  ExpectRoundTrip(column, Parse(arrow::list(middle_type), "[[], null, []]"));
}

}  // namespace
}  // namespace lake::format
