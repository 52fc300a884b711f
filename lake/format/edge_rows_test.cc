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

TEST_F(EdgeRowsTest, NullsAroundAStructWithoutFieldsAreKept) {
  const auto empty = arrow::field("e", arrow::struct_(arrow::FieldVector{}));
  for (const auto& type :
       {arrow::struct_({empty}), arrow::struct_({empty, arrow::field("a", arrow::int32())}),
        arrow::struct_({arrow::field("s", arrow::struct_({empty}))})}) {
    SCOPED_TRACE(type->ToString());
    const std::string row = type->field(0)->name() == "s" ? R"({"s": {"e": {}}})" : R"({"e": {}})";
    for (const std::string& rows :
         {"[" + row + ", null, " + row + "]", "[" + row + "]", std::string("[null, null]")}) {
      const auto column = Parse(type, rows);
      ExpectRoundTrip(column, column);
    }
  }
}

}  // namespace
}  // namespace lake::format
