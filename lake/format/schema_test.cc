#include "lake/format/schema.h"

#include <limits>
#include <numeric>

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
      {"null", arrow::null()},
      {"halffloat", arrow::float16()},
      {"decimal:256:50:2", arrow::decimal256(50, 2)},
      {"fixed_size_binary:1", arrow::fixed_size_binary(1)},
      {"fixed_size_binary:268435455", arrow::fixed_size_binary(268435455)},
      {"fixed_size_list:halffloat:4", arrow::fixed_size_list(arrow::float16(), 4)},
      {"fixed_size_list:bool:12", arrow::fixed_size_list(arrow::boolean(), 12)},
      {"fixed_size_list:decimal:128:5:1:2", arrow::fixed_size_list(arrow::decimal128(5, 1), 2)},
      {"fixed_size_list:timestamp:us:+01:00:2",
       arrow::fixed_size_list(arrow::timestamp(TimeUnit::MICRO, "+01:00"), 2)},
      {"fixed_size_list:fixed_size_list:int8:2:3",
       arrow::fixed_size_list(arrow::fixed_size_list(arrow::int8(), 2), 3)},
      {"dict:string:int8:false", arrow::dictionary(arrow::int8(), arrow::utf8())},
      {"dict:decimal:128:5:1:uint16:false",
       arrow::dictionary(arrow::uint16(), arrow::decimal128(5, 1))},
      {"dict:timestamp:us:+01:00:int64:false",
       arrow::dictionary(arrow::int64(), arrow::timestamp(TimeUnit::MICRO, "+01:00"))},
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

// Types with fields of their own: logical type, fields in pre-order.
TEST(SchemaTest, NestedTypesConvertBothWays) {
  struct Case {
    std::shared_ptr<arrow::DataType> type;
    std::vector<std::pair<std::string, std::string>> fields;
    std::vector<int32_t> leaves;
  };
  const auto item = [](std::shared_ptr<arrow::DataType> type) {
    return arrow::field("item", std::move(type));
  };
  const auto point = arrow::struct_({arrow::field("x", arrow::int8(), false),
                                     arrow::field("tags", arrow::list(item(arrow::utf8())))});
  const std::vector<Case> cases{
      {arrow::list(arrow::field("element", arrow::int32(), false)),
       {{"c", "list"}, {"element", "int32"}},
       {1}},
      {arrow::large_list(item(arrow::list(item(arrow::boolean())))),
       {{"c", "large_list"}, {"item", "list"}, {"item", "bool"}},
       {2}},
      {arrow::list(item(point)),
       {{"c", "list.struct"},
        {"item", "struct"},
        {"x", "int8"},
        {"tags", "list"},
        {"item", "string"}},
       {2, 4}},
      {arrow::large_list(item(point)),
       {{"c", "large_list.struct"},
        {"item", "struct"},
        {"x", "int8"},
        {"tags", "list"},
        {"item", "string"}},
       {2, 4}},
      {arrow::map(arrow::utf8(), arrow::struct_({arrow::field("n", arrow::null())})),
       {{"c", "map"}, {"entries", "struct"}, {"key", "string"}, {"value", "struct"}, {"n", "null"}},
       {2, 4}},
      {arrow::fixed_size_list(item(point), 3),
       {{"c", "fixed_size_list:struct:3"},
        {"item", "struct"},
        {"x", "int8"},
        {"tags", "list"},
        {"item", "string"}},
       {2, 4}},
      {arrow::list(item(arrow::fixed_size_list(arrow::float32(), 4))),
       {{"c", "list"}, {"item", "fixed_size_list:float:4"}},
       {1}},
      {arrow::struct_({arrow::field("a", arrow::struct_({arrow::field("b", point)})),
                       arrow::field("e", arrow::struct_({}))}),
       {{"c", "struct"},
        {"a", "struct"},
        {"b", "struct"},
        {"x", "int8"},
        {"tags", "list"},
        {"item", "string"},
        {"e", "struct"}},
       {3, 5, 6}},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.type->ToString());
    const auto arrow_schema = arrow::schema({arrow::field("c", test.type)});
    const auto schema = SchemaFromArrow(*arrow_schema);
    ASSERT_TRUE(schema.ok()) << schema.status();
    EXPECT_EQ(Schema::LeafIds(schema->fields[0]), test.leaves);
    std::vector<int32_t> all(test.fields.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(Schema::ColumnIds(schema->fields[0], FileVersion{2, 0}), all);
    EXPECT_EQ(Schema::ColumnIds(schema->fields[0], kFileVersion21), test.leaves);
    pb::Schema message;
    SchemaToMessage(*schema, &message);
    ASSERT_EQ(message.fields_size(), static_cast<int>(test.fields.size()));
    for (int i = 0; i < message.fields_size(); ++i) {
      EXPECT_EQ(message.fields(i).name(), test.fields[i].first);
      EXPECT_EQ(message.fields(i).logical_type(), test.fields[i].second);
    }
    const auto back = SchemaFromMessage(message, "file 'f'");
    ASSERT_TRUE(back.ok()) << back.status();
    const auto arrow_back = ToArrow(*back);
    ASSERT_TRUE(arrow_back.ok()) << arrow_back.status();
    EXPECT_TRUE((*arrow_back)->Equals(*arrow_schema, true)) << (*arrow_back)->ToString();
  }
}

TEST(SchemaTest, ViewsBecomePlain) {
  const auto schema = SchemaFromArrow(*arrow::schema(
      {arrow::field("s", arrow::utf8_view()), arrow::field("b", arrow::binary_view())}));
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->fields[0].logical_type, "string");
  EXPECT_EQ(schema->fields[1].logical_type, "binary");
}

TEST(SchemaTest, JsonIsStoredAsLanceNamesIt) {
  const auto metadata = arrow::key_value_metadata({"ARROW:extension:name"}, {"arrow.json"});
  const auto schema =
      SchemaFromArrow(*arrow::schema({arrow::field("j", arrow::utf8(), true, metadata)}));
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->fields[0].logical_type, "json");
  EXPECT_EQ(schema->fields[0].metadata.at("ARROW:extension:name"), "lance.json");
  const auto back = ToArrow(schema->fields[0]);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE((*back)->type()->Equals(arrow::utf8()));
  EXPECT_EQ((*back)->metadata()->Get("ARROW:extension:name").ValueOrDie(), "arrow.json");
}

TEST(SchemaTest, PackedStructsAndBlobsOwnOneColumn) {
  const auto parts = arrow::struct_(
      {arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8())});
  const auto with = [](const char* key, const char* value) {
    return arrow::key_value_metadata({key}, {value});
  };
  auto schema = SchemaFromArrow(*arrow::schema(
      {arrow::field("packed", parts, true, with("lance-encoding:packed", "true")),
       arrow::field("old", parts, true, with("packed", "true")),
       arrow::field("bytes", arrow::large_binary(), true, with("lance-encoding:blob", "true")),
       arrow::field("v2", parts, true, with("ARROW:extension:name", "lance.blob.v2"))}));
  ASSERT_TRUE(schema.ok()) << schema.status();
  // Bytes that ask to be a blob are written as one of version 2, as upstream does.
  EXPECT_TRUE(schema->fields[2].is_blob_v2());
  EXPECT_EQ(schema->fields[2].metadata,
            (std::map<std::string, std::string>{{"ARROW:extension:name", "lance.blob.v2"}}));
  EXPECT_EQ(schema->fields[2].children.size(), 2u);
  EXPECT_EQ(schema->fields[3].id, schema->fields[2].id + 3);
  Field v1 = schema->fields[2];
  v1.name = "v1";
  v1.logical_type = "large_binary";
  v1.metadata = {{"lance-encoding:blob", "true"}};
  v1.children.clear();
  schema->fields[2] = v1;
  for (const Field& field : schema->fields) {
    EXPECT_THAT(Schema::LeafIds(field), ElementsAre(field.id)) << field.name;
    EXPECT_THAT(Schema::ColumnIds(field, FileVersion{2, 0}), ElementsAre(field.id)) << field.name;
  }
  EXPECT_TRUE(schema->fields[0].is_packed());
  EXPECT_TRUE(schema->fields[1].is_packed());
  EXPECT_TRUE(schema->fields[2].is_blob_v1());
  EXPECT_TRUE(schema->fields[3].is_blob_v2());
  const auto rows = ToArrow(*schema);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_TRUE((*rows)->field(0)->type()->Equals(parts));
  EXPECT_EQ((*rows)->field(2)->type()->ToString(), "struct<position: uint64, size: uint64>");
  EXPECT_EQ((*rows)->field(3)->type()->ToString(),
            "struct<kind: uint8 not null, position: uint64 not null, size: uint64 not null, "
            "blob_id: uint32 not null, blob_uri: string not null>");
}

TEST(SchemaTest, ABlobOfVersion1HasNoFields) {
  Field field;
  field.name = "b";
  field.logical_type = "large_binary";
  field.metadata = {{"lance-encoding:blob", "true"}};
  ASSERT_TRUE(ToArrow(field).ok());
  Field child;
  child.name = "c";
  child.logical_type = "uint64";
  field.children = {child, child, child};
  const auto converted = ToArrow(field);
  ASSERT_FALSE(converted.ok());
  EXPECT_EQ(CodeOf(converted.status()), ErrorCode::kCorrupt);
  EXPECT_THAT(ErrorText(converted.status()), HasSubstr("'b'"));
}

TEST(SchemaTest, OtherTypesAreRefusedByNameWithTheColumnsPath) {
  const auto item = [](std::shared_ptr<arrow::DataType> type) {
    return arrow::fixed_size_list(std::move(type), 2);
  };
  const std::vector<TypeCase> cases{
      {"month_interval", arrow::month_interval()},
      {"decimal32", arrow::smallest_decimal(5, 2)},
      {"dense_union", arrow::dense_union(arrow::FieldVector{})},
      {"list_view", arrow::list_view(arrow::int8())},
      {"run_end_encoded", arrow::run_end_encoded(arrow::int32(), arrow::utf8())},
      {"fixed_size_list<item: int32>[0]", arrow::fixed_size_list(arrow::int32(), 0)},
      {"fixed_size_binary[0]", arrow::fixed_size_binary(0)},
      {"fixed_size_binary[268435456]", arrow::fixed_size_binary(268435456)},
      {"fixed_size_list<item: string>", item(arrow::utf8())},
      {"fixed_size_list<item: list<item: int8>>", item(arrow::list(arrow::int8()))},
      {"fixed_size_list", item(item(arrow::struct_({arrow::field("a", arrow::int8())})))},
      {"map", std::make_shared<arrow::MapType>(arrow::utf8(), arrow::int8(), true)},
      {"dictionary", arrow::dictionary(arrow::int8(), arrow::list(arrow::int8()))},
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

TEST(SchemaTest, NestingHasAnEnd) {
  std::shared_ptr<arrow::DataType> lists = arrow::int8();
  std::shared_ptr<arrow::DataType> fixed = arrow::int8();
  for (int i = 0; i < 100; ++i) {
    lists = arrow::list(lists);
    fixed = arrow::fixed_size_list(fixed, 1);
  }
  for (const auto& type : {lists, fixed}) {
    const auto schema = SchemaFromArrow(*arrow::schema({arrow::field("c", type)}));
    EXPECT_EQ(CodeOf(schema.status()), ErrorCode::kUnsupported);
  }
  Field field;
  field.name = "c";
  for (int i = 0; i < 100'000; ++i) field.logical_type += "fixed_size_list:";
  field.logical_type += "int8";
  for (int i = 0; i < 100'000; ++i) field.logical_type += ":1";
  const auto converted = ToArrow(field);
  EXPECT_EQ(CodeOf(converted.status()), ErrorCode::kCorrupt);
  EXPECT_LT(ErrorText(converted.status()).size(), 1000);
  Field nested;
  nested.logical_type = "int8";
  for (int i = 0; i < 100; ++i) {
    Field parent;
    parent.name = "p";
    parent.logical_type = "list";
    parent.children.push_back(std::move(nested));
    nested = std::move(parent);
  }
  EXPECT_EQ(CodeOf(ToArrow(nested).status()), ErrorCode::kUnsupported);
}

TEST(SchemaTest, LogicalTypesThatAreNotReadAreRefusedOrCorrupt) {
  struct Case {
    const char* logical;
    ErrorCode code;
  };
  const std::vector<Case> cases{
      {"list", ErrorCode::kCorrupt},
      {"list.struct", ErrorCode::kCorrupt},
      {"map", ErrorCode::kCorrupt},
      {"fixed_size_list:struct:3", ErrorCode::kCorrupt},
      {"fixed_size_list:struct:x", ErrorCode::kCorrupt},
      {"blob", ErrorCode::kUnsupported},
      {"fixed_size_list:string:3", ErrorCode::kUnsupported},
      {"fixed_size_list:list:3", ErrorCode::kUnsupported},
      {"dict:list:int8:false", ErrorCode::kUnsupported},
      {"dict:string:int8:maybe", ErrorCode::kCorrupt},
      {"dict:string:float:false", ErrorCode::kCorrupt},
      {"dict:string", ErrorCode::kCorrupt},
      {"dict:", ErrorCode::kCorrupt},
      {"decimal:256:77:0", ErrorCode::kCorrupt},
      {"fixed_size_list:float:0", ErrorCode::kUnsupported},
      {"what is this", ErrorCode::kUnsupported},
      {"decimal:128:39:0", ErrorCode::kCorrupt},
      {"decimal:128:0:0", ErrorCode::kCorrupt},
      {"decimal:128:10", ErrorCode::kCorrupt},
      {"decimal:128:10:x", ErrorCode::kCorrupt},
      {"timestamp:us", ErrorCode::kCorrupt},
      {"timestamp:xs:-", ErrorCode::kCorrupt},
      {"fixed_size_binary:-1", ErrorCode::kCorrupt},
      {"fixed_size_binary:0", ErrorCode::kUnsupported},
      // Eight times these are 2^31, 0 and 8 to an int.
      {"fixed_size_binary:268435456", ErrorCode::kUnsupported},
      {"fixed_size_binary:536870912", ErrorCode::kUnsupported},
      {"fixed_size_binary:536870913", ErrorCode::kUnsupported},
      {"fixed_size_list:fixed_size_binary:536870913:2", ErrorCode::kUnsupported},
      {"dict:fixed_size_binary:536870913:int8:false", ErrorCode::kUnsupported},
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

TEST(SchemaTest, UnknownExtensionTypesOfLanceAreRefused) {
  const auto metadata = arrow::key_value_metadata({"ARROW:extension:name"}, {"lance.future"});
  const auto schema =
      SchemaFromArrow(*arrow::schema({arrow::field("c", arrow::binary(), true, metadata)}));
  EXPECT_EQ(CodeOf(schema.status()), ErrorCode::kUnsupported);
  Field field;
  field.name = "c";
  field.logical_type = "binary";
  field.metadata = {{"ARROW:extension:name", "lance.future"}};
  EXPECT_EQ(CodeOf(ToArrow(field).status()), ErrorCode::kUnsupported);
}

TEST(SchemaTest, ListsOfBfloat16KeepTheirName) {
  Field field;
  field.name = "v";
  field.logical_type = "fixed_size_list:lance.bfloat16:8";
  const auto arrow_field = ToArrow(field);
  ASSERT_TRUE(arrow_field.ok()) << arrow_field.status();
  const auto schema = SchemaFromArrow(*arrow::schema({*arrow_field}));
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->fields[0].logical_type, field.logical_type);
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

TEST(SchemaTest, FieldIdsEndAtTheirLastNumber) {
  const arrow::Schema two({arrow::field("a", arrow::int32()), arrow::field("b", arrow::int32())});
  constexpr int64_t kLast = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(SchemaFromArrow(two, kLast - 1).ValueOrDie().fields[1].id, kLast);
  for (const int64_t first : {kLast, kLast + 1}) {
    const Status refused = SchemaFromArrow(two, first).status();
    EXPECT_EQ(CodeOf(refused), ErrorCode::kUnsupported) << refused;
  }
}

}  // namespace
}  // namespace lake::format
