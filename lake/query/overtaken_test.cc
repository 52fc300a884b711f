// Statements that another commit overtakes between what they read and what they commit.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/commit/testing/test_lakehouse.h"
#include "lake/query/testing/sql_harness.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/intercepted_store.h"

namespace lake::query {
namespace {

using ::testing::ElementsAre;

using Lines = std::vector<std::string>;

/// Does something once, behind the next listing of a table's versions.
class OvertakingStore : public storage::InterceptedStore {
 public:
  using InterceptedStore::InterceptedStore;

  /// The listing itself has happened; an error of `meddle` is what its caller sees.
  void Arm(std::function<Status()> meddle) { meddle_ = std::move(meddle); }

  Status Around(const Context&, const storage::StoreCall& call,
                const std::function<Status()>& effect) override {
    ARROW_RETURN_NOT_OK(effect());
    const bool lists = call.operation == storage::StoreOperation::kList &&
                       call.key.find("_versions/") != std::string::npos;
    return lists && meddle_ ? std::exchange(meddle_, nullptr)() : Status::OK();
  }

 private:
  std::function<Status()> meddle_;
};

class OvertakenTest : public ::testing::Test {
 protected:
  OvertakenTest()
      : store_(std::make_shared<OvertakingStore>(storage::MakeMemoryStore())),
        lakehouse_(store_),
        sql_(SqlHarness::Open(
                 std::shared_ptr<commit::Lakehouse>(std::shared_ptr<void>(), lakehouse_.get()))
                 .ValueOrDie()),
        other_(sql_->Second().ValueOrDie()) {}

  void Run(const std::string& sql) {
    const Status status = sql_->Run(sql).status();
    ASSERT_TRUE(status.ok()) << sql << ": " << status;
  }

  /// Runs `sql`. When it has seen which version of its table is the newest, `other` commits.
  Status RunOvertaken(const std::string& sql, const std::string& other) {
    const Context context;
    ARROW_ASSIGN_OR_RAISE(auto statement, sql_->session()->Prepare(context, sql));
    bool overtaken = false;
    store_->Arm([&] {
      overtaken = true;
      return other_->Run(other).status();
    });
    const Status status = statement->Execute(context, {}).status();
    EXPECT_TRUE(overtaken);
    return status;
  }

  Lines Rows(const std::string& sql) {
    auto rows = sql_->Rows(sql);
    EXPECT_TRUE(rows.ok()) << sql << ": " << rows.status();
    return rows.ok() ? *rows : Lines();
  }

  std::shared_ptr<OvertakingStore> store_;
  commit::TestLakehouse lakehouse_;
  std::unique_ptr<SqlHarness> sql_;
  std::unique_ptr<SqlHarness> other_;
};

TEST_F(OvertakenTest, TwoMergesThatInsertOneKeyInsertItOnce) {
  Run("CREATE TABLE t (id BIGINT, who VARCHAR)");
  Run("INSERT INTO t VALUES (1, 'nobody')");
  auto merge = [](const std::string& who) {
    return "MERGE INTO t USING (SELECT 7 AS id) n ON t.id = n.id WHEN NOT MATCHED THEN INSERT "
           "VALUES (n.id, '" +
           who + "')";
  };
  const Status merged = RunOvertaken(merge("mine"), merge("theirs"));
  EXPECT_TRUE(merged.ok()) << merged;
  EXPECT_THAT(Rows("SELECT * FROM t ORDER BY id"), ElementsAre("1, nobody", "7, theirs"));
}

TEST_F(OvertakenTest, AnUpsertSeesTheRowThatAnotherInserted) {
  Run("CREATE TABLE t (id BIGINT, n BIGINT)");
  Run("INSERT INTO t VALUES (1, 1)");
  const std::string upsert =
      "MERGE INTO t USING (SELECT 7 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = n + 1 "
      "WHEN NOT MATCHED THEN INSERT VALUES (s.id, 1)";
  const Status merged = RunOvertaken(upsert, upsert);
  EXPECT_TRUE(merged.ok()) << merged;
  EXPECT_THAT(Rows("SELECT * FROM t ORDER BY id"), ElementsAre("1, 1", "7, 2"));
}

TEST_F(OvertakenTest, ColumnsThatDifferByCaseOnlyAreNotAddedSideBySide) {
  Run("CREATE TABLE t (id BIGINT)");
  Run("INSERT INTO t VALUES (1)");
  const Status added =
      RunOvertaken("ALTER TABLE t ADD COLUMN Foo INTEGER", "ALTER TABLE t ADD COLUMN foo INTEGER");
  EXPECT_EQ(CodeOf(added), ErrorCode::kInvalidArgument) << added;
  EXPECT_THAT(Rows("SELECT * FROM t"), ElementsAre("1, NULL"));

  const Status again = RunOvertaken("ALTER TABLE t ADD COLUMN IF NOT EXISTS bar INTEGER",
                                    "ALTER TABLE t ADD COLUMN BAR INTEGER");
  EXPECT_TRUE(again.ok()) << again;
  EXPECT_THAT(Rows("SELECT * FROM t"), ElementsAre("1, NULL, NULL"));

  const Status dropped =
      RunOvertaken("ALTER TABLE t DROP COLUMN IF EXISTS bar", "ALTER TABLE t DROP COLUMN bar");
  EXPECT_TRUE(dropped.ok()) << dropped;
  EXPECT_THAT(Rows("SELECT * FROM t"), ElementsAre("1, NULL"));
}

TEST_F(OvertakenTest, ColumnsAreNotRenamedToNamesThatDifferByCaseOnly) {
  Run("CREATE TABLE t (a BIGINT, b BIGINT)");
  Run("INSERT INTO t VALUES (1, 2)");
  const Status renamed =
      RunOvertaken("ALTER TABLE t RENAME COLUMN a TO X", "ALTER TABLE t RENAME COLUMN b TO x");
  EXPECT_EQ(CodeOf(renamed), ErrorCode::kInvalidArgument) << renamed;
  EXPECT_THAT(Rows("SELECT a, x FROM t"), ElementsAre("1, 2"));
}

TEST_F(OvertakenTest, ATableThatIsReplacedByItselfLosesNoRow) {
  const std::pair<std::string, Lines> cases[] = {
      {"SELECT * FROM t", {"1", "2"}},
      {"SELECT count(*) AS id FROM t", {"2"}},
      {"WITH x AS MATERIALIZED (SELECT id FROM t) SELECT id FROM u WHERE id IN (SELECT id FROM x)",
       {"1", "2"}},
      // The version that it names, whatever comes behind it.
      {"SELECT * FROM t AT (VERSION => 2)", {"1"}},
  };
  Run("CREATE TABLE u AS SELECT i AS id FROM range(9) r(i)");
  for (const auto& [query, rows] : cases) {
    Run("CREATE TABLE t (id BIGINT)");
    Run("INSERT INTO t VALUES (1)");
    const Status replaced =
        RunOvertaken("CREATE OR REPLACE TABLE t AS " + query, "INSERT INTO t VALUES (2)");
    EXPECT_TRUE(replaced.ok()) << query << ": " << replaced;
    EXPECT_EQ(Rows("SELECT id FROM t ORDER BY id"), rows) << query;
    Run("DROP TABLE t");
  }
}

TEST_F(OvertakenTest, ATableThatIsReplacedByOthersDoesNotAskWhatCameBetween) {
  Run("CREATE TABLE t (id BIGINT)");
  Run("CREATE TABLE u AS SELECT 5 AS id");
  const Status replaced =
      RunOvertaken("CREATE OR REPLACE TABLE t AS SELECT * FROM u", "INSERT INTO t VALUES (2)");
  EXPECT_TRUE(replaced.ok()) << replaced;
  EXPECT_THAT(Rows("SELECT id FROM t"), ElementsAre("5"));
  EXPECT_THAT(Rows("SELECT version, operation FROM lake_versions('t') ORDER BY version"),
              ElementsAre("1, overwrite", "2, append", "3, overwrite"));
}

TEST_F(OvertakenTest, AListingOfTablesEndsWhenItIsCancelled) {
  Run("CREATE TABLE t (id BIGINT)");
  Run("CREATE TABLE u (id BIGINT)");
  for (const ErrorCode code : {ErrorCode::kCancelled, ErrorCode::kDeadlineExceeded}) {
    store_->Arm([code] { return MakeError(code, "the caller gave up"); });
    EXPECT_EQ(CodeOf(sql_->Rows("SELECT column_name FROM duckdb_columns()").status()), code);
  }
  // One that cannot be read hides no other.
  store_->Arm([] { return MakeError(ErrorCode::kIo, "the disk is broken"); });
  EXPECT_EQ(Rows("SELECT column_name FROM duckdb_columns() WHERE NOT internal").size(), 1u);
}

}  // namespace
}  // namespace lake::query
