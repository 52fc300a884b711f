#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/objects/data_location.h"
#include "lake/query/types_internal.h"

namespace lake::query {
namespace {

using ::testing::HasSubstr;

class SqlTypesTest : public ::testing::Test {
 protected:
  Result<std::shared_ptr<const SqlTable>> Derive(const arrow::Schema& schema) {
    return SqlTableFromArrow(*connection_.context, "main.t", schema);
  }

  duckdb::DuckDB database_{nullptr};
  duckdb::Connection connection_{database_};
};

TEST_F(SqlTypesTest, EachStoredTypeHasOneSqlType) {
  using arrow::TimeUnit;
  const std::vector<std::pair<std::shared_ptr<arrow::DataType>, std::string>> cases = {
      {arrow::boolean(), "BOOLEAN"},
      {arrow::int8(), "TINYINT"},
      {arrow::int16(), "SMALLINT"},
      {arrow::int32(), "INTEGER"},
      {arrow::int64(), "BIGINT"},
      {arrow::uint8(), "UTINYINT"},
      {arrow::uint16(), "USMALLINT"},
      {arrow::uint32(), "UINTEGER"},
      {arrow::uint64(), "UBIGINT"},
      {arrow::float32(), "FLOAT"},
      {arrow::float64(), "DOUBLE"},
      {arrow::decimal128(38, 9), "DECIMAL(38,9)"},
      {arrow::utf8(), "VARCHAR"},
      {arrow::large_utf8(), "VARCHAR"},
      {arrow::binary(), "BLOB"},
      {arrow::large_binary(), "BLOB"},
      {arrow::fixed_size_binary(3), "BLOB"},
      {arrow::date32(), "DATE"},
      {arrow::date64(), "DATE"},
      {arrow::time32(TimeUnit::SECOND), "TIME"},
      {arrow::time32(TimeUnit::MILLI), "TIME"},
      {arrow::time64(TimeUnit::MICRO), "TIME"},
      {arrow::time64(TimeUnit::NANO), "TIME"},
      {arrow::timestamp(TimeUnit::SECOND), "TIMESTAMP_S"},
      {arrow::timestamp(TimeUnit::MILLI), "TIMESTAMP_MS"},
      {arrow::timestamp(TimeUnit::MICRO), "TIMESTAMP"},
      {arrow::timestamp(TimeUnit::NANO), "TIMESTAMP_NS"},
      {arrow::timestamp(TimeUnit::SECOND, "UTC"), "TIMESTAMP WITH TIME ZONE"},
      {arrow::timestamp(TimeUnit::NANO, "Europe/Berlin"), "TIMESTAMP WITH TIME ZONE"},
      {arrow::duration(TimeUnit::MILLI), "INTERVAL"},
      {arrow::fixed_size_list(arrow::float32(), 4), "FLOAT[4]"},
      {arrow::struct_({arrow::field("a", arrow::int32())}), "STRUCT(a INTEGER)"},
      {objects::DataLocationType(), "FILE"},
      {arrow::float16(), "FLOAT"},
      {arrow::decimal256(38, 2), "DECIMAL(38,2)"},
      {arrow::dictionary(arrow::int16(), arrow::utf8()), "VARCHAR"},
      {arrow::list(arrow::int32()), "INTEGER[]"},
      {arrow::large_list(arrow::list(arrow::utf8())), "VARCHAR[][]"},
      {arrow::fixed_size_list(arrow::fixed_size_list(arrow::float16(), 2), 3), "FLOAT[2][3]"},
      {arrow::map(arrow::utf8(), arrow::dictionary(arrow::int8(), arrow::utf8())),
       "MAP(VARCHAR, VARCHAR)"},
      {arrow::list(arrow::struct_({arrow::field("a", arrow::date64())})), "STRUCT(a DATE)[]"},
  };
  for (const auto& [type, sql] : cases) {
    const auto table = Derive(*arrow::schema({arrow::field("x", type, false)}));
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ((*table)->columns[0].type.ToString(), sql) << type->ToString();
    EXPECT_TRUE((*table)->columns[0].not_null);
  }
}

TEST_F(SqlTypesTest, WhatCreateTableStoresComesBackAsTheSameType) {
  for (const char* sql : {"BOOLEAN",
                          "TINYINT",
                          "SMALLINT",
                          "INTEGER",
                          "BIGINT",
                          "UTINYINT",
                          "USMALLINT",
                          "UINTEGER",
                          "UBIGINT",
                          "FLOAT",
                          "DOUBLE",
                          "DECIMAL(1,0)",
                          "DECIMAL(38,38)",
                          "VARCHAR",
                          "BLOB",
                          "DATE",
                          "TIME",
                          "TIMESTAMP_S",
                          "TIMESTAMP_MS",
                          "TIMESTAMP",
                          "TIMESTAMP_NS",
                          "TIMESTAMPTZ",
                          "DOUBLE[7]",
                          "UTINYINT[1]",
                          "UUID",
                          "JSON",
                          "VARCHAR[]",
                          "UUID[]",
                          "JSON[3]",
                          "FLOAT[2][2]",
                          "STRUCT(a INTEGER, b STRUCT(c UUID)[])",
                          "MAP(INTEGER, VARCHAR[])"}) {
    const auto type = connection_.Query("SELECT NULL::" + std::string(sql))->types[0];
    const auto stored = FieldForCreate("x", type, /*nullable=*/true);
    ASSERT_TRUE(stored.ok()) << stored.status();
    const auto table = Derive(*arrow::schema({*stored}));
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ((*table)->columns[0].type, type) << sql;
    EXPECT_FALSE((*table)->columns[0].needs_check) << sql;
  }
}

TEST_F(SqlTypesTest, FileIsKnownByItsShapeAlone) {
  const auto table = Derive(*arrow::schema({
      arrow::field("video", objects::DataLocationType(), true,
                   arrow::key_value_metadata({"note"}, {"foreign"})),
  }));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE(IsFileSqlType((*table)->columns[0].type));

  const auto plain = connection_.Query(
      "SELECT NULL::STRUCT(uri VARCHAR, content_type VARCHAR, size_bytes UBIGINT, sha256 VARCHAR)");
  EXPECT_FALSE(IsFileSqlType(plain->types[0]));
}

TEST_F(SqlTypesTest, RefusedByName) {
  const auto nested = Derive(*arrow::schema(
      {arrow::field("files", arrow::fixed_size_list(objects::DataLocationType(), 2))}));
  EXPECT_EQ(CodeOf(nested.status()), ErrorCode::kUnsupported);
  EXPECT_THAT(ErrorText(nested.status()), HasSubstr("'files'"));

  const auto twice = Derive(
      *arrow::schema({arrow::field("a", arrow::int64()), arrow::field("A", arrow::int64())}));
  EXPECT_EQ(CodeOf(twice.status()), ErrorCode::kUnsupported);
  EXPECT_THAT(ErrorText(twice.status()), HasSubstr("table 'main.t', columns 'a' and 'A'"));
}

std::shared_ptr<arrow::Field> WithExtension(const std::string& name,
                                            std::shared_ptr<arrow::DataType> type,
                                            const char* extension) {
  return arrow::field(name, std::move(type), true,
                      arrow::key_value_metadata(
                          {"ARROW:extension:name", "ARROW:extension:metadata"}, {extension, ""}));
}

TEST_F(SqlTypesTest, OnlyExtensionTypesThatSqlHasChangeAType) {
  const auto table = Derive(*arrow::schema({
      WithExtension("u", arrow::fixed_size_binary(16), "arrow.uuid"),
      WithExtension("j", arrow::utf8(), "arrow.json"),
      WithExtension("h", arrow::fixed_size_binary(2), "lance.bfloat16"),
      WithExtension("other", arrow::fixed_size_binary(16), "somebody.else"),
      WithExtension("short", arrow::fixed_size_binary(15), "arrow.uuid"),
  }));
  ASSERT_TRUE(table.ok()) << table.status();
  std::vector<std::string> types;
  for (const SqlColumn& column : (*table)->columns) types.push_back(column.type.ToString());
  EXPECT_EQ(types, (std::vector<std::string>{"UUID", "JSON", "FLOAT", "BLOB", "BLOB"}));
}

}  // namespace
}  // namespace lake::query
