#include "lake/query/engine.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/base/testing/test_folder.h"
#include "lake/base/uuid.h"
#include "lake/commit/testing/test_lakehouse.h"
#include "lake/query/testing/sql_harness.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"

namespace lake::query {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

using Lines = std::vector<std::string>;

/// A query that runs for minutes if nobody stops it.
constexpr char kEndless[] =
    "SELECT count(*) FROM range(1000000) a(x), range(1000000) b(y) WHERE (x * y) % 7 = 3";

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    lakehouse_ = OpenLakehouse();
    sql_ = SqlHarness::Open(lakehouse_).ValueOrDie();
  }

  std::shared_ptr<commit::Lakehouse> OpenLakehouse() {
    return commit::Lakehouse::Open(context_, {folder_ / "data"}).ValueOrDie();
  }

  Status StatusOf(const std::string& sql, const std::vector<Parameter>& values = {}) {
    return sql_->Rows(sql, values).status();
  }

  const Context context_;
  const TestFolder folder_{FastTestParent()};
  std::shared_ptr<commit::Lakehouse> lakehouse_;
  std::unique_ptr<SqlHarness> sql_;
};

TEST_F(EngineTest, LibraryIsTheOneThatTheHeadersAreOf) { EXPECT_EQ(DuckDbVersion(), "v1.4.5"); }

TEST_F(EngineTest, SplitsTextIntoStatements) {
  const auto statements = sql_->session()->Split(
      "SELECT 1; -- a comment; with a semicolon\n SELECT ';' AS s;\n\nCREATE TABLE t (x INTEGER)");
  ASSERT_TRUE(statements.ok()) << statements.status();
  EXPECT_THAT(*statements, ElementsAre(HasSubstr("SELECT 1"), HasSubstr("SELECT ';' AS s"),
                                       "CREATE TABLE t (x INTEGER)"));
  EXPECT_TRUE(sql_->session()->Split("").ValueOrDie().empty());
  EXPECT_EQ(CodeOf(sql_->session()->Split("SELECT FROM WHERE").status()),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(sql_->session()->Prepare(context_, "SELECT 1; SELECT 2").status()),
            ErrorCode::kInvalidArgument);
}

TEST_F(EngineTest, StreamsAResultBatchByBatch) {
  auto statement =
      sql_->session()->Prepare(context_, "SELECT i FROM range(1000000) r(i)").ValueOrDie();
  EXPECT_TRUE(statement->returns_rows());
  auto result = statement->Execute(context_, {}).ValueOrDie();
  EXPECT_EQ(result->schema()->ToString(), "i: int64");
  EXPECT_EQ(result->rows_changed(), -1);
  int64_t rows = 0;
  int batches = 0;
  while (auto batch = result->Next().ValueOrDie()) {
    rows += batch->num_rows();
    ++batches;
  }
  EXPECT_EQ(rows, 1000000);
  EXPECT_GT(batches, 10);
  EXPECT_EQ(result->progress(), 100.0);
}

TEST_F(EngineTest, BatchesAreBoundedByBytesWhateverTheType) {
  // 8 KB a row, 64 MB in all.
  for (const char* value :
       {"range(1000 + i % 2)", "(SELECT range(1000)::BIGINT[1000])",
        "{'a': 1, 'b': repeat('x', 8000)}", "map([1], [repeat('x', 8000 + i % 2)])",
        "[[repeat('x', 4000 + i % 2), repeat('y', 4000)]]", "repeat('x', 8000 + i % 2)"}) {
    const std::string sql = fmt::format("SELECT {} AS v FROM range(8000) r(i)", value);
    auto statement = sql_->session()->Prepare(context_, sql).ValueOrDie();
    auto result = statement->Execute(context_, {}).ValueOrDie();
    int64_t rows = 0;
    while (auto batch = result->Next().ValueOrDie()) {
      rows += batch->num_rows();
      // What is full, and one of DuckDB's chunks.
      EXPECT_LT(arrow::util::TotalBufferSize(*batch), 40 << 20) << value;
    }
    EXPECT_EQ(rows, 8000) << value;
  }
}

TEST_F(EngineTest, DroppedResultLeavesTheSessionUsable) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t AS SELECT i FROM range(300000) r(i)").ok());
  for (int i = 0; i < 3; ++i) {
    auto statement = sql_->session()->Prepare(context_, "SELECT * FROM t").ValueOrDie();
    auto result = statement->Execute(context_, {}).ValueOrDie();
    ASSERT_TRUE(result->Next().ok());
    result.reset();
    EXPECT_EQ(sql_->Rows("SELECT count(*) FROM t").ValueOrDie(), Lines{"300000"});
  }
}

TEST_F(EngineTest, ParametersTellTheirTypes) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t (id BIGINT, video FILE)").ok());
  auto statement = sql_->session()->Prepare(context_, "INSERT INTO t VALUES (?, ?)").ValueOrDie();
  EXPECT_FALSE(statement->returns_rows());
  ASSERT_EQ(statement->parameters().size(), 2u);
  EXPECT_FALSE(statement->parameters()[0].is_file);
  EXPECT_EQ(statement->parameters()[0].sql_type, "BIGINT");
  EXPECT_TRUE(statement->parameters()[1].is_file);
  EXPECT_EQ(statement->parameters()[1].sql_type, "FILE");

  EXPECT_EQ(CodeOf(statement->Execute(context_, {}).status()), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf(statement->Execute(context_, {std::string("x"), std::monostate{}}).status()),
            ErrorCode::kInvalidArgument);
  EXPECT_TRUE(statement->Execute(context_, {std::string("7"), std::monostate{}}).ok());
  EXPECT_TRUE(statement->Execute(context_, {std::string("8"), std::monostate{}}).ok());
  EXPECT_EQ(sql_->Rows("SELECT id FROM t WHERE id IN (?, ?) ORDER BY id",
                       {std::string("8"), std::string("7")})
                .ValueOrDie(),
            (Lines{"7", "8"}));
  EXPECT_EQ(sql_->Rows("SELECT ? || 'x'", {std::string("a")}).ValueOrDie(), Lines{"ax"});
}

TEST_F(EngineTest, ErrorsKeepTheirCode) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t (id BIGINT NOT NULL)").ok());
  const std::vector<std::pair<std::string, ErrorCode>> cases = {
      {"SELECT * FROM nothing", ErrorCode::kNotFound},
      {"SELECT * FROM t AT (VERSION => 7)", ErrorCode::kNotFound},
      {"DROP TABLE nothing", ErrorCode::kNotFound},
      {"CALL undrop('nothing')", ErrorCode::kNotFound},
      {"CREATE TABLE t (id BIGINT)", ErrorCode::kAlreadyExists},
      {"CREATE SCHEMA main", ErrorCode::kAlreadyExists},
      {"INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", ErrorCode::kUnsupported},
      {"CREATE TABLE u (id INTERVAL)", ErrorCode::kUnsupported},
      {"INSERT INTO t VALUES (NULL)", ErrorCode::kInvalidArgument},
      {"SELECT 1 +", ErrorCode::kInvalidArgument},
      {"SELECT CAST('x' AS INTEGER)", ErrorCode::kInvalidArgument},
      {"SELECT * FROM read_csv('/nowhere/at/all.csv')", ErrorCode::kIo},
  };
  for (const auto& [sql, code] : cases) {
    const Status status = StatusOf(sql);
    ASSERT_FALSE(status.ok()) << sql;
    EXPECT_EQ(CodeOf(status), code) << sql << ": " << status.ToString();
    EXPECT_EQ(ErrorText(status).find('\n'), std::string::npos) << ErrorText(status);
  }
}

TEST_F(EngineTest, MemoryThatIsUsedUpNamesTheSetting) {
  EngineOptions options = SqlHarness::DefaultOptions();
  options.memory_limit = 48 << 20;
  const auto small = SqlHarness::Open(lakehouse_, options).ValueOrDie();
  const Status status =
      small->Rows("SELECT len(list(md5(i::VARCHAR))) FROM range(3000000) r(i)").status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kOutOfMemory) << status;
  EXPECT_THAT(ErrorText(status), EndsWith("; raise memory_limit"));
}

TEST_F(EngineTest, DeadlineAndCancelStopARunningQuery) {
  Context limited;
  limited.deadline = limited.clock->MonotonicNanos() + 50'000'000;
  EXPECT_EQ(CodeOf(sql_->Rows(limited, kEndless).status()), ErrorCode::kDeadlineExceeded);

  Context cancelled;
  std::thread canceller([&] { cancelled.cancel.Cancel(); });
  EXPECT_EQ(CodeOf(sql_->Rows(cancelled, kEndless).status()), ErrorCode::kCancelled);
  canceller.join();

  std::atomic<bool> done{false};
  std::thread interrupter([&] {
    while (!done) {
      sql_->session()->Cancel();
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(CodeOf(StatusOf(kEndless)), ErrorCode::kCancelled);
  done = true;
  interrupter.join();

  EXPECT_EQ(sql_->Rows("SELECT 42").ValueOrDie(), Lines{"42"});
}

TEST_F(EngineTest, CancelledInsertChangesNothing) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t (id BIGINT)").ok());
  Context limited;
  limited.deadline = limited.clock->MonotonicNanos() + 50'000'000;
  const Status status =
      sql_->Rows(limited, "INSERT INTO t SELECT i FROM range(100000000000) r(i)").status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kDeadlineExceeded) << status;
  EXPECT_EQ(sql_->Rows("SELECT count(*) FROM t").ValueOrDie(), Lines{"0"});
  EXPECT_TRUE(lakehouse_->FindLeftovers(context_).ValueOrDie().empty());
}

TEST_F(EngineTest, TwoEnginesOnOneFolderSeeEachOther) {
  auto other_lakehouse = OpenLakehouse();
  auto other = SqlHarness::Open(other_lakehouse).ValueOrDie();
  ASSERT_TRUE(sql_->Run("CREATE TABLE t (id BIGINT)").ok());
  auto prepared = other->session()->Prepare(context_, "SELECT count(*) FROM t").ValueOrDie();
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(sql_->Run("INSERT INTO t VALUES (1)").ValueOrDie(), 1);
    EXPECT_EQ(other->Rows("SELECT count(*) FROM t").ValueOrDie(), Lines{std::to_string(i)});
    // A prepared statement binds again: names and versions are those of now.
    auto result = prepared->Execute(context_, {}).ValueOrDie();
    EXPECT_EQ((*result->Next().ValueOrDie()->column(0)->GetScalar(0))->ToString(),
              std::to_string(i));
  }
  ASSERT_TRUE(other->Run("DROP TABLE t").ok());
  EXPECT_EQ(CodeOf(StatusOf("SELECT * FROM t")), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(prepared->Execute(context_, {}).status()), ErrorCode::kNotFound);
}

TEST_F(EngineTest, SessionsWriteAndReadAtTheSameTime) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t (id BIGINT)").ok());
  constexpr int kThreads = 4;
  constexpr int kInserts = 8;
  std::vector<std::thread> threads;
  std::atomic<int> inserted{0};
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      auto mine = sql_->Second().ValueOrDie();
      for (int i = 0; i < kInserts; ++i) {
        const auto changed =
            mine->Run("INSERT INTO t VALUES (" + std::to_string(thread * 100 + i) + ")");
        if (changed.ok()) {
          ++inserted;
        } else {
          // Losing every race of a commit is an outcome; nothing else is.
          EXPECT_EQ(CodeOf(changed.status()), ErrorCode::kConflict) << changed.status();
        }
        EXPECT_TRUE(mine->Rows("SELECT count(*), max(id) FROM t").ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(inserted.load(), kInserts);
  EXPECT_EQ(sql_->Rows("SELECT count(*), count(DISTINCT id) FROM t").ValueOrDie(),
            Lines{std::to_string(inserted) + ", " + std::to_string(inserted)});
}

TEST_F(EngineTest, OperationIdMakesAnInsertIdempotent) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t (id BIGINT)").ok());
  const commit::OperationKey key{Uuid::NewV7(context_).ToString(), std::string(64, 'a')};
  for (int i = 0; i < 2; ++i) {
    sql_->session()->SetOperation(key);
    ASSERT_TRUE(sql_->Run("INSERT INTO t VALUES (1), (2)").ok());
  }
  EXPECT_EQ(sql_->Rows("SELECT count(*) FROM t").ValueOrDie(), Lines{"2"});
  // The key belonged to one statement.
  ASSERT_TRUE(sql_->Run("INSERT INTO t VALUES (3)").ok());
  EXPECT_EQ(sql_->Rows("SELECT count(*) FROM t").ValueOrDie(), Lines{"3"});
}

TEST_F(EngineTest, WithoutLocalFilesNothingOutsideIsRead) {
  EngineOptions options = SqlHarness::DefaultOptions();
  options.allow_local_files = false;
  auto closed = SqlHarness::Open(lakehouse_, options).ValueOrDie();
  ASSERT_TRUE(closed->Run("CREATE TABLE t AS SELECT i FROM range(10) r(i)").ok());
  EXPECT_EQ(closed->Rows("SELECT count(*) FROM t").ValueOrDie(), Lines{"10"});
  for (const std::string sql :
       {"SELECT * FROM lance_scan('/tmp')", "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM glob('/etc/*')",
        "COPY t TO '/tmp/lake-test-forbidden.csv'", "ATTACH '/tmp/lake-test-forbidden.db'",
        "SET enable_external_access = true", "SET memory_limit = '100GB'"}) {
    EXPECT_FALSE(closed->Rows(sql).ok()) << sql;
  }
}

TEST_F(EngineTest, LanceScanReadsAFolder) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t (id BIGINT, video FILE)").ok());
  ASSERT_TRUE(sql_->Run("INSERT INTO t (id) SELECT i FROM range(5) r(i)").ok());
  const auto entry = lakehouse_->metastore().ViewFor({})->Find(context_, {"main", "t"},
                                                               catalog::NameMatch::kExact);
  const std::string path = lakehouse_->data_dir() + "/" + entry.ValueOrDie().location;
  EXPECT_EQ(sql_->Rows("SELECT sum(id) FROM lance_scan('" + path + "') WHERE id > 1").ValueOrDie(),
            Lines{"9"});
  // It shows FILE values, but proves nothing about them.
  const Status forged =
      sql_->Run("INSERT INTO t SELECT id, video FROM lance_scan('" + path + "')").status();
  EXPECT_EQ(CodeOf(forged), ErrorCode::kInvalidArgument);
  EXPECT_THAT(ErrorText(forged), HasSubstr("the table function lance_scan"));
}

TEST_F(EngineTest, TableThatCannotBeOpenedHidesNoOther) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE broken (id BIGINT)").ok());
  ASSERT_TRUE(sql_->Run("CREATE TABLE whole (id BIGINT)").ok());
  const auto entry = lakehouse_->metastore().ViewFor({})->Find(context_, {"main", "broken"},
                                                               catalog::NameMatch::kExact);
  const std::string folder = lakehouse_->data_dir() + "/" + entry.ValueOrDie().location;
  std::filesystem::remove_all(folder + "/_versions");

  EXPECT_EQ(sql_->Rows("SHOW TABLES").ValueOrDie(), (Lines{"broken", "whole"}));
  EXPECT_EQ(
      sql_->Rows("SELECT table_name, column_name FROM information_schema.columns").ValueOrDie(),
      Lines{"whole, id"});
  EXPECT_EQ(sql_->Rows("SELECT count(*) FROM whole").ValueOrDie(), Lines{"0"});
  EXPECT_FALSE(sql_->Rows("SELECT * FROM broken").ok());
}

TEST_F(EngineTest, TransactionFlagFollowsTheStatements) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t (id BIGINT)").ok());
  EXPECT_FALSE(sql_->session()->in_transaction());
  ASSERT_TRUE(sql_->Run("BEGIN").ok());
  EXPECT_TRUE(sql_->session()->in_transaction());
  ASSERT_TRUE(sql_->Run("COMMIT").ok());
  EXPECT_FALSE(sql_->session()->in_transaction());
}

/// Over a store that fails on command.
class EngineFaultTest : public ::testing::Test {
 protected:
  EngineFaultTest()
      : store_(std::make_shared<storage::FaultyStore>(storage::MakeMemoryStore())),
        lakehouse_(store_),
        sql_(SqlHarness::Open(
                 std::shared_ptr<commit::Lakehouse>(std::shared_ptr<void>(), lakehouse_.get()))
                 .ValueOrDie()) {}

  /// From the next publishing of a manifest on, nothing works, though it happened.
  void LoseTheNextCommit() {
    store_->FailMatching(
        [](const storage::StoreCall& call) {
          return call.operation == storage::StoreOperation::kPublish &&
                 call.key.find("_versions/") != std::string::npos;
        },
        storage::Fault::kEffectThenCrash);
  }

  std::shared_ptr<storage::FaultyStore> store_;
  commit::TestLakehouse lakehouse_;
  std::unique_ptr<SqlHarness> sql_;
};

TEST_F(EngineFaultTest, UnknownOutcomeOfACommitKeepsItsCode) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t (id BIGINT)").ok());

  LoseTheNextCommit();
  const Status insert = sql_->Run("INSERT INTO t VALUES (1)").status();
  EXPECT_TRUE(IsCommitStateUnknown(insert)) << insert;
  store_->Reset();

  ASSERT_TRUE(sql_->Run("BEGIN").ok());
  ASSERT_TRUE(sql_->Run("INSERT INTO t VALUES (2)").ok());
  LoseTheNextCommit();
  const Status commit = sql_->Run("COMMIT").status();
  EXPECT_TRUE(IsCommitStateUnknown(commit)) << commit;
  EXPECT_FALSE(sql_->session()->in_transaction());
  store_->Reset();

  LoseTheNextCommit();
  const Status create = sql_->Run("CREATE TABLE u AS SELECT 1 AS x").status();
  EXPECT_TRUE(IsCommitStateUnknown(create)) << create;
  store_->Reset();

  EXPECT_EQ(sql_->Rows("SELECT count(*) FROM t").ValueOrDie(), Lines{"2"});
}

TEST_F(EngineFaultTest, ErrorOfTheStoreDuringAScanKeepsItsCode) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t AS SELECT i FROM range(1000) r(i)").ok());
  store_->FailMatching(
      [](const storage::StoreCall& call) {
        return call.key.find("data/") != std::string::npos &&
               (call.operation == storage::StoreOperation::kGet ||
                call.operation == storage::StoreOperation::kGetMany);
      },
      storage::Fault::kError);
  const Status status = sql_->Rows("SELECT sum(i) FROM t").status();
  EXPECT_EQ(CodeOf(status), ErrorCode::kIo) << status;
  EXPECT_TRUE(IsRetryable(status));
  store_->Reset();
  EXPECT_EQ(sql_->Rows("SELECT sum(i) FROM t").ValueOrDie(), Lines{"499500"});
}

}  // namespace
}  // namespace lake::query
