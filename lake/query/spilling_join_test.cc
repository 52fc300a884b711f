// Joins of statements that change rows, in parts on disk.

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/commit/testing/test_lakehouse.h"
#include "lake/query/testing/sql_harness.h"
#include "lake/storage/memory_store.h"

namespace lake::query {
namespace {

using ::testing::HasSubstr;

using Lines = std::vector<std::string>;

class SpillingJoinTest : public ::testing::Test {
 protected:
  SpillingJoinTest() { Open(SqlHarness::DefaultOptions()); }

  void Open(const EngineOptions& options) {
    sql_ = SqlHarness::Open({std::shared_ptr<void>(), lakehouse_.get()}, options).ValueOrDie();
  }

  void Run(const std::string& sql) {
    const Status status = sql_->Run(sql).status();
    ASSERT_TRUE(status.ok()) << sql << ": " << status;
  }

  Lines Rows(const std::string& sql) {
    auto rows = sql_->Rows(sql);
    EXPECT_TRUE(rows.ok()) << sql << ": " << rows.status();
    return rows.ok() ? *rows : Lines();
  }

  std::string Explain(const std::string& sql) {
    std::string text;
    for (const std::string& row : Rows("EXPLAIN " + sql)) text += row;
    return text;
  }

  /// Tables t and s, some rows of which meet, by one key or two; with keys that are null, and on
  /// the side of s some that come twice, which meet none.
  void MakeTables(int num_rows) {
    const std::string n = std::to_string(num_rows);
    for (const char* table : {"t", "s"}) {
      Run(std::string("DROP TABLE IF EXISTS ") + table);
      Run(std::string("CREATE TABLE ") + table +
          " (id BIGINT, key VARCHAR, x DOUBLE, list INTEGER[], part STRUCT(a INTEGER, b VARCHAR))");
    }
    const std::string columns =
        "'key ' || i % 7, i / 4, CASE WHEN i % 5 > 0 THEN [i, NULL, i % 9] END, "
        "CASE WHEN i % 3 > 0 THEN {'a': i, 'b': md5(i::VARCHAR)} END";
    Run("INSERT INTO t SELECT CASE WHEN i % 10 > 0 THEN i END, " + columns + " FROM range(" + n +
        ") r(i)");
    Run("INSERT INTO s SELECT CASE WHEN i % 11 > 0 THEN i END, " + columns + " FROM range(" + n +
        " // 2, " + n + " * 3 // 2) r(i) UNION ALL SELECT -(1 + i % 100), " + columns +
        " FROM range(" + n + " // 10) r(i)");
  }

  /// What `change` makes of the tables.
  Lines RowsAfter(const std::string& change, bool in_parts, int num_rows) {
    MakeTables(num_rows);
    EXPECT_THAT(Explain(change), HasSubstr("LAKE_JOIN"));
    Run(std::string("SET debug_force_external = ") + (in_parts ? "true" : "false"));
    const auto changed = sql_->Run(change);
    if (!changed.ok()) {
      ADD_FAILURE() << changed.status();
      return {};
    }
    EXPECT_GT(*changed, 0);
    return Rows("FROM t ORDER BY ALL");
  }

  void ExpectSame(const std::string& change, int num_rows = 6000) {
    SCOPED_TRACE(change);
    const Lines whole = RowsAfter(change, /*in_parts=*/false, num_rows);
    // Not EXPECT_EQ: it would print both.
    EXPECT_TRUE(RowsAfter(change, /*in_parts=*/true, num_rows) == whole);
  }

  commit::TestLakehouse lakehouse_{storage::MakeMemoryStore()};
  std::unique_ptr<SqlHarness> sql_;
};

constexpr char kUpdate[] = " WHEN MATCHED THEN UPDATE SET x = s.x + 0.5, part = s.part";
constexpr char kInsert[] =
    " WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.key, s.x, s.list, s.part)";
constexpr char kDelete[] = " WHEN NOT MATCHED BY SOURCE AND t.id % 2 = 0 THEN DELETE";

TEST_F(SpillingJoinTest, MergesOfEachKindGiveTheSameInParts) {
  const std::string merge = "MERGE INTO t USING s ON t.id = s.id";
  ExpectSame(merge + kUpdate);
  ExpectSame(merge + kUpdate + kInsert);
  ExpectSame(merge + kInsert);
  ExpectSame(merge + kUpdate + kDelete);
  ExpectSame(merge + kUpdate + kInsert + kDelete);
}

TEST_F(SpillingJoinTest, MergesByOtherConditionsGiveTheSameInParts) {
  const std::string merge = "MERGE INTO t USING s ON ";
  ExpectSame(merge + "t.id = s.id AND t.key = s.key" + kUpdate + kInsert);
  ExpectSame(merge + "t.id = s.id AND t.x < s.x + s.id % 2 AND t.key <> 'key 3'" + kUpdate +
             kInsert);
  ExpectSame(merge + "t.id IS NOT DISTINCT FROM s.id AND t.part = s.part" + kUpdate + kInsert);
  ExpectSame("MERGE INTO t USING (SELECT * FROM s WHERE id < 0) s ON t.id = s.id" +
             std::string(kInsert) + kDelete);
  ExpectSame(merge + "t.id - 1 = s.id" + kUpdate + kInsert);
}

TEST_F(SpillingJoinTest, UpdatesAndDeletionsByAnotherTableGiveTheSameInParts) {
  ExpectSame("UPDATE t SET x = s.x * 2, list = s.list FROM s WHERE t.id = s.id");
  ExpectSame("DELETE FROM t USING s WHERE t.id = s.id AND s.key = 'key 5'");
  const std::string self = "SELECT a.id, a.key, b.x, b.list, b.part FROM s a JOIN s b";
  ExpectSame("MERGE INTO t USING (" + self + " ON a.id = b.id WHERE a.id > 0) s ON t.id = s.id" +
             kUpdate + kInsert);
}

TEST_F(SpillingJoinTest, MergesGiveWhatJoinsOfDuckDbGive) {
  constexpr char kExpected[] =
      "SELECT t.id, t.key, s.x + 0.5 AS x, t.list, s.part FROM t JOIN s ON t.id = s.id "
      "UNION ALL FROM s WHERE NOT EXISTS (FROM t WHERE t.id = s.id) "
      "UNION ALL FROM t WHERE NOT EXISTS (FROM s WHERE t.id = s.id) "
      "AND (t.id % 2 = 0) IS NOT TRUE ORDER BY ALL";
  for (const char* in_parts : {"false", "true"}) {
    MakeTables(6000);
    const Lines expected = Rows(kExpected);
    Run(std::string("SET debug_force_external = ") + in_parts);
    Run(std::string("MERGE INTO t USING s ON t.id = s.id") + kUpdate + kInsert + kDelete);
    EXPECT_TRUE(Rows("FROM t ORDER BY ALL") == expected) << in_parts;
  }
}

TEST_F(SpillingJoinTest, PartsThatAreTooLargeAreSplitAgain) {
  ExpectSame("MERGE INTO t USING s ON t.id = s.id" + std::string(kUpdate) + kInsert + kDelete,
             26'000);
}

class JoinOfOneKeyTest : public SpillingJoinTest {
 protected:
  /// The smallest memory that there is for DuckDB, and more than twice that in rows of `key`.
  JoinOfOneKeyTest() {
    EngineOptions options = SqlHarness::DefaultOptions();
    options.memory_limit = 48 << 20;
    Open(options);
    Run("CREATE TABLE t AS SELECT i AS id, md5(i::VARCHAR) AS s FROM range(900000) r(i)");
  }

  Status Merge(const std::string& key) {
    Run("CREATE TABLE s AS SELECT " + key +
        " AS id, repeat(md5(i::VARCHAR), 6) AS s FROM range(300000) r(i)");
    return sql_
        ->Run(
            "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = s.s "
            "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.s)")
        .status();
  }
};

TEST_F(JoinOfOneKeyTest, RowsThatDoNotFitAreNamedAsTheReason) {
  const Status status = Merge("7");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(CodeOf(status), ErrorCode::kOutOfMemory) << status;
  EXPECT_THAT(status.message(), HasSubstr("rows of one key"));
  EXPECT_THAT(status.message(), HasSubstr("raise memory_limit"));
}

TEST_F(JoinOfOneKeyTest, NullsNeedNotFit) {
  const Status status = Merge("NULL::BIGINT");
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Rows("SELECT count(*), count(id) FROM t"), Lines{"1200000, 900000"});
}

}  // namespace
}  // namespace lake::query
