#include "lake/format/inspect.h"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/file_writer.h"
#include "lake/format/testing/fixture_check.h"
#include "lake/format/testing/fixtures.h"
#include "lake/storage/memory_store.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class InspectTest : public ::testing::Test {
 protected:
  // 300 rows: numbers, few texts, lists wide enough for a full-zip page, a struct with nulls.
  void SetUp() override {
    const auto point = arrow::struct_({arrow::field("x", arrow::int32(), false)});
    const auto schema = arrow::schema(
        {arrow::field("id", arrow::int64(), false), arrow::field("text", arrow::utf8()),
         arrow::field("vector", arrow::fixed_size_list(arrow::float32(), 64)),
         arrow::field("point", point), arrow::field("same", arrow::int8())});
    std::string rows = "[";
    for (int i = 0; i < 300; ++i) {
      std::string vector;
      for (int item = 0; item < 64; ++item) vector += fmt::format("{}{}", item ? "," : "", i);
      rows += fmt::format(R"({}{{"id": {}, "text": "text number {}", "vector": [{}], "point": {},
                              "same": 7}})",
                          i ? "," : "", i * i, i % 5, vector,
                          i % 2 ? "null" : fmt::format(R"({{"x": {}}})", i));
    }
    const auto array =
        arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), rows + "]").ValueOrDie();
    auto writer =
        FileWriter::Open(context_, store_, "data/f.lance", SchemaFromArrow(*schema).ValueOrDie())
            .ValueOrDie();
    ASSERT_TRUE(writer->Write(*arrow::RecordBatch::FromStructArray(array).ValueOrDie()).ok());
    ASSERT_TRUE(writer->Finish().ok());
  }

  Context context_;
  std::shared_ptr<storage::ObjectStore> store_ = storage::MakeMemoryStore();
};

TEST_F(InspectTest, DescribesColumnsDownToPagesAndEncodings) {
  const auto file = InspectFile(context_, store_.get(), "data/f.lance");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->version, kFileVersion22);
  EXPECT_EQ(file->num_rows, 300);
  EXPECT_EQ(file->file_size, store_->Head(context_, "data/f.lance")->size);
  ASSERT_EQ(file->columns.size(), 5);
  const auto page = [&](size_t column) {
    EXPECT_EQ(file->columns[column].pages.size(), 1);
    return file->columns[column].pages.at(0);
  };
  EXPECT_EQ(page(0).layout, "mini-block");
  EXPECT_EQ(page(0).encoding, "inline_bitpacking(64)");
  EXPECT_EQ(page(0).num_chunks, 1);
  EXPECT_THAT(page(0).layers, ElementsAre("item"));
  EXPECT_EQ(page(1).encoding, "inline_bitpacking(32)");
  EXPECT_THAT(page(1).dictionary, HasSubstr("variable(flat(32))"));
  EXPECT_EQ(page(1).num_dictionary_items, 5);
  EXPECT_EQ(page(1).buffers.back().role, "dictionary");
  EXPECT_EQ(page(2).layout, "full-zip");
  EXPECT_EQ(page(2).encoding, "fixed_size_list(64 x flat(32))");
  EXPECT_EQ(page(2).num_bytes(), 300 * 64 * 4);
  EXPECT_EQ(file->columns[3].field, "point.x");
  EXPECT_THAT(page(3).layers, ElementsAre("item", "nullable item"));
  EXPECT_FALSE(page(3).definition.empty());
  EXPECT_EQ(page(4).layout, "constant");
  EXPECT_EQ(page(4).encoding, "inline value of 1 bytes");
}

TEST_F(InspectTest, TextNamesEveryColumnAndPage) {
  const std::string text = ToText(InspectFile(context_, store_.get(), "data/f.lance").ValueOrDie());
  EXPECT_THAT(text, StartsWith("data/f.lance: Lance file of version 2.2\n"
                               "  300 rows, 5 columns, "));
  for (const char* part :
       {"  0  id: int64, not null\n", "    4  x: int32, not null\n",
        "  3  point.x: int32, 1 page, ",
        "page 0: rows 0 to 300, full-zip: fixed_size_list(64 x flat(32)), item\n",
        "      values: 76800 bytes at ", "item in nullable item", "  0  descriptor: "}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(InspectTest, JsonHasTheSame) {
  const auto json = ToJson(InspectFile(context_, store_.get(), "data/f.lance").ValueOrDie());
  EXPECT_EQ(json.at("kind").as_string(), "file");
  EXPECT_EQ(json.at("file_version").as_string(), "2.2");
  EXPECT_EQ(boost::json::value_to<uint64_t>(json.at("num_rows")), 300);
  const auto& columns = json.at("columns").as_array();
  ASSERT_EQ(columns.size(), 5);
  EXPECT_EQ(columns[3].at("field").as_string(), "point.x");
  const auto& page = columns[1].at("pages").at(0).as_object();
  EXPECT_EQ(page.at("layout").as_string(), "mini-block");
  EXPECT_EQ(boost::json::value_to<uint64_t>(page.at("num_dictionary_items")), 5);
  EXPECT_EQ(json.at("fields").at(3).at("children").at(0).at("name").as_string(), "x");
}

TEST_F(InspectTest, MetadataThatIsNotTextIsHex) {
  FileDescription file;
  file.schema.metadata = {{"text", "\u00e9"}, {"bytes", std::string("\xff\x00", 2)}};
  const auto json = ToJson(file);
  EXPECT_EQ(json.at("metadata").at("text").as_string(), "\u00e9");
  EXPECT_EQ(json.at("metadata").at("bytes").as_string(), "hex:ff00");
}

TEST_F(InspectTest, DamagedFilesAreErrors) {
  const auto bytes = store_->GetAll(context_, "data/f.lance", 1 << 20).ValueOrDie();
  const std::string whole(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  for (const size_t size : {size_t{0}, size_t{10}, size_t{40}, whole.size() / 2}) {
    const std::string part = whole.substr(whole.size() - size);
    ASSERT_TRUE(store_->Put(context_, "cut", part, storage::PutCondition::kNone).ok());
    const auto file = InspectFile(context_, store_.get(), "cut");
    ASSERT_FALSE(file.ok()) << size;
    EXPECT_EQ(CodeOf(file.status()), ErrorCode::kCorrupt) << file.status();
    EXPECT_THAT(ErrorText(file.status()), HasSubstr("cut"));
  }
  EXPECT_EQ(CodeOf(InspectFile(context_, store_.get(), "missing").status()), ErrorCode::kNotFound);
}

TEST_F(InspectTest, EveryFlippedByteOfTheMetadataIsAnErrorOrADescription) {
  const auto bytes = store_->GetAll(context_, "data/f.lance", 1 << 20).ValueOrDie();
  const std::string whole(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const auto good = InspectFile(context_, store_.get(), "data/f.lance").ValueOrDie();
  for (size_t at = good.global_buffers[0].offset; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 + at % 255));
    ASSERT_TRUE(store_->Put(context_, "damaged", damaged, storage::PutCondition::kNone).ok());
    const auto file = InspectFile(context_, store_.get(), "damaged");
    if (file.ok()) {
      EXPECT_FALSE(ToText(*file).empty());
    } else {
      EXPECT_THAT(ErrorText(file.status()), HasSubstr("damaged")) << at;
    }
  }
}

TEST(InspectFixtureTest, DescribesFilesOfVersion20) {
  const Fixture& fixture = FindFixture("nested_valid-2.0");
  const auto store = StoreWith("f", fixture.bytes);
  const auto file = InspectFile(Context(), store.get(), "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->version, kFileVersion20);
  std::vector<std::string> owners;
  for (const ColumnDescription& column : file->columns) owners.push_back(column.field);
  EXPECT_THAT(owners, ElementsAre("sl", "sl.a", "sl.b", "sl.b.item", "sl.c", "sl.c.d", "lsl",
                                  "lsl.item", "lsl.item.a", "lsl.item.b", "lsl.item.b.item",
                                  "lsl.item.c", "lsl.item.c.d"));
  EXPECT_EQ(file->columns[0].pages.at(0).encoding, "struct");
  EXPECT_EQ(file->columns[1].pages.at(0).encoding, "nullable(flat(1), flat(32))");
  EXPECT_EQ(file->columns[1].pages[0].layout, "array");
  EXPECT_EQ(file->columns[1].pages[0].buffers.at(0).role, "validity");
  EXPECT_EQ(file->columns[1].pages[0].buffers.at(1).role, "values");
  EXPECT_THAT(file->columns[2].pages.at(0).encoding, StartsWith("list(flat(64); "));
  EXPECT_THAT(ToText(*file), HasSubstr("version 2.0"));
}

// Every file that upstream writes is explained, whether or not it is read.
TEST(InspectFixtureTest, ExplainsEveryFile) {
  for (const Fixture& fixture : Fixtures()) {
    SCOPED_TRACE(fixture.name);
    const auto store = StoreWith("f", fixture.bytes);
    const auto file = InspectFile(Context(), store.get(), "f");
    if (!file.ok() && FindNotRead(fixture.name, fixture.rows->column_name(0)) != nullptr) continue;
    ASSERT_TRUE(file.ok()) << file.status();
    for (const ColumnDescription& column : file->columns) {
      EXPECT_EQ(column.problem, "") << column.field;
      EXPECT_NE(column.field, "");
    }
    const std::string text = ToText(*file);
    EXPECT_EQ(text.find("unknown"), std::string::npos) << text;
  }
}

// What upstream wrote for us: no column without a field, no page of an unknown kind, no buffer
// without a role, and as many rows in the pages as the file has.
TEST(InspectFixtureTest, EveryPageIsExplained) {
  const auto explained = [](const std::string& text) {
    return !text.empty() && text.find("unknown") == std::string::npos;
  };
  for (const Fixture& fixture : Fixtures()) {
    SCOPED_TRACE(fixture.name);
    const auto store = StoreWith("f.lance", fixture.bytes);
    const auto file = InspectFile(Context(), store.get(), "f.lance");
    // Other versions are described by readers of their own.
    if (CodeOf(file.status()) == ErrorCode::kUnsupported) continue;
    ASSERT_TRUE(file.ok()) << file.status();
    if (file->version < kFileVersion21) continue;
    for (const ColumnDescription& column : file->columns) {
      SCOPED_TRACE(column.field);
      EXPECT_FALSE(column.field.empty());
      EXPECT_EQ(column.problem, "");
      for (const PageDescription& page : column.pages) {
        EXPECT_TRUE(explained(page.layout)) << page.layout;
        EXPECT_TRUE(explained(page.encoding)) << page.encoding;
        EXPECT_FALSE(page.layers.empty());
        for (const std::string& layer : page.layers) EXPECT_TRUE(explained(layer)) << layer;
        for (const BufferDescription& buffer : page.buffers) {
          EXPECT_TRUE(explained(buffer.role)) << page.layout;
          EXPECT_FALSE(buffer.role.starts_with("buffer ")) << page.layout << ": " << buffer.role;
        }
      }
    }
    EXPECT_FALSE(ToText(*file).empty());
  }
}

}  // namespace
}  // namespace lake::format
