#include "lake/format/schema.h"

#include <arrow/extension/uuid.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/format/schema_internal.h"

namespace lake::format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct TypeCase {
  const char* logical;
  std::shared_ptr<arrow::DataType> type;
};

std::vector<TypeCase> SupportedTypes() {
  using arrow::TimeUnit;
  return {
      {"bool", arrow::boolean()},
      {"int8", arrow::int8()},
      {"uint8", arrow::uint8()},
      {"int16", arrow::int16()},
      {"uint16", arrow::uint16()},
      {"int32", arrow::int32()},
      {"uint32", arrow::uint32()},
      {"int64", arrow::int64()},
      {"uint64", arrow::uint64()},
      {"float", arrow::float32()},
      {"double", arrow::float64()},
      {"decimal:128:38:10", arrow::decimal128(38, 10)},
      {"decimal:128:5:-3", arrow::decimal128(5, -3)},
      {"string", arrow::utf8()},
      {"large_string", arrow::large_utf8()},
      {"binary", arrow::binary()},
      {"large_binary", arrow::large_binary()},
      {"fixed_size_binary:16", arrow::fixed_size_binary(16)},
      {"date32:day", arrow::date32()},
      {"date64:ms", arrow::date64()},
      {"time32:s", arrow::time32(TimeUnit::SECOND)},
      {"time32:ms", arrow::time32(TimeUnit::MILLI)},
      {"time64:us", arrow::time64(TimeUnit::MICRO)},
      {"time64:ns", arrow::time64(TimeUnit::NANO)},
      {"timestamp:s:-", arrow::timestamp(TimeUnit::SECOND)},
      {"timestamp:ms:-", arrow::timestamp(TimeUnit::MILLI)},
      {"timestamp:us:UTC", arrow::timestamp(TimeUnit::MICRO, "UTC")},
      {"timestamp:ns:+01:00", arrow::timestamp(TimeUnit::NANO, "+01:00")},
      {"timestamp:us:Europe/Berlin", arrow::timestamp(TimeUnit::MICRO, "Europe/Berlin")},
      {"duration:s", arrow::duration(TimeUnit::SECOND)},
      {"duration:ms", arrow::duration(TimeUnit::MILLI)},
      {"duration:us", arrow::duration(TimeUnit::MICRO)},
      {"duration:ns", arrow::duration(TimeUnit::NANO)},
      {"fixed_size_list:float:16", arrow::fixed_size_list(arrow::float32(), 16)},
      {"fixed_size_list:uint8:3", arrow::fixed_size_list(arrow::uint8(), 3)},
  };
}

TEST(SchemaTest, EveryTypeOfTheScopeConvertsBothWays) {
  for (const TypeCase& test : SupportedTypes()) {
    SCOPED_TRACE(test.logical);
    for (const bool nullable : {true, false}) {
      const auto arrow_schema = arrow::schema({arrow::field("c", test.type, nullable)});
      const auto schema = SchemaFromArrow(*arrow_schema);
      ASSERT_TRUE(schema.ok()) << schema.status();
      ASSERT_EQ(schema->fields.size(), 1);
      EXPECT_EQ(schema->fields[0].logical_type, test.logical);
      EXPECT_TRUE(schema->fields[0].children.empty());
      const auto back = ToArrow(*schema);
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_TRUE((*back)->Equals(*arrow_schema)) << (*back)->ToString();
    }
  }
}

TEST(SchemaTest, OtherTypesAreRefusedByNameWithTheColumnsPath) {
  const std::vector<TypeCase> cases{
      {"halffloat", arrow::float16()},
      {"null", arrow::null()},
      {"decimal256", arrow::decimal256(50, 2)},
      {"string_view", arrow::utf8_view()},
      {"binary_view", arrow::binary_view()},
      {"list<item: int32>", arrow::list(arrow::int32())},
      {"large_list", arrow::large_list(arrow::int32())},
      {"map", arrow::map(arrow::utf8(), arrow::int32())},
      {"dictionary", arrow::dictionary(arrow::int8(), arrow::utf8())},
      {"month_interval", arrow::month_interval()},
      {"fixed_size_binary[0]", arrow::fixed_size_binary(0)},
      {"fixed_size_list<item: halffloat>", arrow::fixed_size_list(arrow::float16(), 4)},
      {"fixed_size_list<item: bool>", arrow::fixed_size_list(arrow::boolean(), 4)},
      {"fixed_size_list<item: int32>[0]", arrow::fixed_size_list(arrow::int32(), 0)},
      {"struct<>", arrow::struct_({})},
      {"struct", arrow::struct_({arrow::field("deep", arrow::int8())})},
  };
  for (const TypeCase& test : cases) {
    SCOPED_TRACE(test.logical);
    const auto outer = arrow::struct_({arrow::field("inner", test.type)});
    const auto schema = SchemaFromArrow(*arrow::schema({arrow::field("outer", outer)}));
    ASSERT_FALSE(schema.ok());
    EXPECT_EQ(CodeOf(schema.status()), ErrorCode::kUnsupported);
    EXPECT_THAT(ErrorText(schema.status()), HasSubstr("outer.inner"));
    EXPECT_THAT(ErrorText(schema.status()), HasSubstr(test.logical));
  }
}

TEST(SchemaTest, LogicalTypesThatAreNotReadAreRefusedOrCorrupt) {
  struct Case {
    const char* logical;
    ErrorCode code;
  };
  const std::vector<Case> cases{
      {"halffloat", ErrorCode::kUnsupported},
      {"null", ErrorCode::kUnsupported},
      {"list", ErrorCode::kUnsupported},
      {"list.struct", ErrorCode::kUnsupported},
      {"map", ErrorCode::kUnsupported},
      {"json", ErrorCode::kUnsupported},
      {"decimal:256:50:2", ErrorCode::kUnsupported},
      {"dict:string:int8:false", ErrorCode::kUnsupported},
      {"fixed_size_list:lance.bfloat16:8", ErrorCode::kUnsupported},
      {"fixed_size_list:struct:3", ErrorCode::kUnsupported},
      {"fixed_size_list:bool:3", ErrorCode::kUnsupported},
      {"fixed_size_list:float:0", ErrorCode::kUnsupported},
      {"what is this", ErrorCode::kUnsupported},
      {"decimal:128:39:0", ErrorCode::kCorrupt},
      {"decimal:128:0:0", ErrorCode::kCorrupt},
      {"decimal:128:10", ErrorCode::kCorrupt},
      {"decimal:128:10:x", ErrorCode::kCorrupt},
      {"timestamp:us", ErrorCode::kCorrupt},
      {"timestamp:xs:-", ErrorCode::kCorrupt},
      {"fixed_size_binary:-1", ErrorCode::kCorrupt},
      {"fixed_size_binary:99999999999", ErrorCode::kCorrupt},
      {"fixed_size_list:float", ErrorCode::kCorrupt},
      {"fixed_size_list:float:-4", ErrorCode::kCorrupt},
      {"fixed_size_list:", ErrorCode::kCorrupt},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.logical);
    Field field;
    field.name = "col";
    field.logical_type = test.logical;
    const auto converted = ToArrow(field);
    ASSERT_FALSE(converted.ok());
    EXPECT_EQ(CodeOf(converted.status()), test.code);
    EXPECT_THAT(ErrorText(converted.status()), HasSubstr("col"));
    EXPECT_THAT(ErrorText(converted.status()), HasSubstr(test.logical));
  }
}

TEST(SchemaTest, IdsArePreOrderAndLeavesOwnTheColumns) {
  const auto point = arrow::struct_(
      {arrow::field("x", arrow::float64(), false), arrow::field("tag", arrow::utf8())});
  const auto schema = SchemaFromArrow(
      *arrow::schema({arrow::field("a", arrow::int32()), arrow::field("p", point),
                      arrow::field("v", arrow::fixed_size_list(arrow::float32(), 8))}),
      10);
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->fields[0].id, 10);
  EXPECT_EQ(schema->fields[1].id, 11);
  EXPECT_EQ(schema->fields[1].children[0].id, 12);
  EXPECT_EQ(schema->fields[1].children[1].id, 13);
  EXPECT_EQ(schema->fields[2].id, 14);
  EXPECT_EQ(schema->MaxFieldId(), 14);
  EXPECT_THAT(Schema::LeafIds(schema->fields[1]), ElementsAre(12, 13));
  EXPECT_THAT(Schema::LeafIds(schema->fields[2]), ElementsAre(14));
  ASSERT_NE(schema->Find("v"), nullptr);
  EXPECT_EQ(schema->Find("v")->id, 14);
  EXPECT_EQ(schema->Find("V"), nullptr);
  EXPECT_EQ(Schema{}.MaxFieldId(), -1);
}

TEST(SchemaTest, DuplicateNamesAreRefused) {
  const auto twice =
      arrow::schema({arrow::field("a", arrow::int8()), arrow::field("a", arrow::int8())});
  EXPECT_EQ(CodeOf(SchemaFromArrow(*twice).status()), ErrorCode::kInvalidArgument);
  const auto inside = arrow::schema({arrow::field("s", arrow::struct_(twice->fields()))});
  EXPECT_EQ(CodeOf(SchemaFromArrow(*inside).status()), ErrorCode::kInvalidArgument);
}

TEST(SchemaTest, MetadataAndExtensionTypesAreKept) {
  const auto metadata =
      arrow::key_value_metadata({"unit", "bytes"}, {"m", std::string("\x00\xff", 2)});
  const auto arrow_schema = arrow::schema({arrow::field("a", arrow::int32(), true, metadata),
                                           arrow::field("id", arrow::extension::uuid())},
                                          arrow::key_value_metadata({"owner"}, {"me"}));
  const auto schema = SchemaFromArrow(*arrow_schema);
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->metadata.at("owner"), "me");
  EXPECT_EQ(schema->fields[0].metadata.at("bytes"), std::string("\x00\xff", 2));
  EXPECT_EQ(schema->fields[1].logical_type, "fixed_size_binary:16");
  EXPECT_EQ(schema->fields[1].metadata.at("ARROW:extension:name"), "arrow.uuid");
  EXPECT_EQ(schema->fields[1].metadata.count("ARROW:extension:metadata"), 1);
  const auto back = ToArrow(*schema);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ((*back)->metadata()->Get("owner").ValueOrDie(), "me");
  EXPECT_EQ((*back)->field(1)->metadata()->Get("ARROW:extension:name").ValueOrDie(), "arrow.uuid");
}

TEST(SchemaTest, StorageChangingMetadataIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"lance-encoding:packed", "true"},         {"packed", "true"},
      {"lance-encoding:blob", "true"},           {"ARROW:extension:name", "lance.bfloat16"},
      {"ARROW:extension:name", "lance.blob.v2"},
  };
  for (const auto& [key, value] : cases) {
    SCOPED_TRACE(key + "=" + value);
    const auto schema = SchemaFromArrow(*arrow::schema({arrow::field(
        "c", arrow::large_binary(), true, arrow::key_value_metadata({key}, {value}))}));
    EXPECT_EQ(CodeOf(schema.status()), ErrorCode::kUnsupported);
    Field field;
    field.name = "c";
    field.logical_type = "large_binary";
    field.metadata = {{key, value}};
    EXPECT_EQ(CodeOf(ToArrow(field).status()), ErrorCode::kUnsupported);
  }
}

Schema NestedSchema() {
  const auto point = arrow::struct_(
      {arrow::field("x", arrow::float64(), false), arrow::field("tag", arrow::utf8())});
  return SchemaFromArrow(
             *arrow::schema(
                 {arrow::field("a", arrow::binary(), true, arrow::key_value_metadata({"k"}, {"v"})),
                  arrow::field("p", point), arrow::field("z", arrow::int64())},
                 arrow::key_value_metadata({"m"}, {"n"})))
      .ValueOrDie();
}

TEST(SchemaMessageTest, IsAFlatPreOrderList) {
  pb::Schema message;
  SchemaToMessage(NestedSchema(), &message);
  ASSERT_EQ(message.fields_size(), 5);
  const std::vector<std::tuple<std::string, int, int, int>> expected{
      {"a", 0, -1, 2}, {"p", 1, -1, 0}, {"x", 2, 1, 1}, {"tag", 3, 1, 2}, {"z", 4, -1, 1}};
  for (int i = 0; i < message.fields_size(); ++i) {
    const pb::Field& field = message.fields(i);
    EXPECT_EQ(std::make_tuple(field.name(), field.id(), field.parent_id(), field.encoding()),
              expected[i]);
  }
  EXPECT_EQ(message.fields(0).metadata().at("k"), "v");
  EXPECT_EQ(message.metadata().at("m"), "n");
}

TEST(SchemaMessageTest, ComesBackAsItWas) {
  pb::Schema message;
  SchemaToMessage(NestedSchema(), &message);
  const auto back = SchemaFromMessage(message, "file 'f'");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE((*ToArrow(*back))->Equals(**ToArrow(NestedSchema()), true));
  EXPECT_EQ(back->fields[1].children[1].id, 3);
}

TEST(SchemaMessageTest, PartsOfABlobBelongToTheFieldBeforeThem) {
  pb::Schema message;
  for (const auto& [name, id] : std::vector<std::pair<std::string, int>>{
           {"blob", 0}, {"kind", -1}, {"data", -1}, {"after", 1}}) {
    pb::Field* field = message.add_fields();
    field->set_name(name);
    field->set_id(id);
    field->set_parent_id(-1);
    field->set_logical_type("struct");
  }
  const auto schema = SchemaFromMessage(message, "file 'f'");
  ASSERT_TRUE(schema.ok()) << schema.status();
  ASSERT_EQ(schema->fields.size(), 2);
  EXPECT_EQ(schema->fields[0].children.size(), 2);
  pb::Schema again;
  SchemaToMessage(*schema, &again);
  EXPECT_EQ(again.fields(1).parent_id(), -1);
}

TEST(SchemaMessageTest, DamagedTreesAreRefused) {
  struct Case {
    const char* what;
    std::vector<std::tuple<std::string, int, int>> fields;
  };
  std::vector<Case> cases{
      {"parent", {{"a", 0, 7}}},
      {"parent", {{"a", 0, 0}}},
      {"parent", {{"a", 0, 1}, {"b", 1, -1}}},
      {"same id", {{"a", 0, -1}, {"b", 0, -1}}},
      {"same name", {{"a", 0, -1}, {"a", 1, -1}}},
      {"same name", {{"s", 0, -1}, {"a", 1, 0}, {"a", 2, 0}}},
      {"too deep", {}},
  };
  for (int i = 0; i < 100; ++i) cases.back().fields.emplace_back(fmt::format("f{}", i), i, i - 1);
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    pb::Schema message;
    for (const auto& [name, id, parent] : test.fields) {
      pb::Field* field = message.add_fields();
      field->set_name(name);
      field->set_id(id);
      field->set_parent_id(parent);
      field->set_logical_type("struct");
    }
    const auto schema = SchemaFromMessage(message, "file 'data/f.lance'");
    ASSERT_FALSE(schema.ok());
    EXPECT_EQ(CodeOf(schema.status()), ErrorCode::kCorrupt);
    EXPECT_THAT(ErrorText(schema.status()), HasSubstr(test.what));
    EXPECT_THAT(ErrorText(schema.status()), HasSubstr("data/f.lance"));
  }
}

}  // namespace
}  // namespace lake::format
