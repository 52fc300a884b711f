// What goes down into a scan, and what comes up.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/commit/testing/test_lakehouse.h"
#include "lake/objects/data_location.h"
#include "lake/query/testing/sql_harness.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/recording_store.h"

namespace lake::query {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Lines = std::vector<std::string>;

/// The lakehouse of a test, shared without being owned.
std::shared_ptr<commit::Lakehouse> Borrow(commit::TestLakehouse* lakehouse) {
  return {std::shared_ptr<void>(), lakehouse->get()};
}

class ScanTest : public ::testing::Test {
 protected:
  ScanTest()
      : store_(std::make_shared<storage::RecordingStore>(storage::MakeMemoryStore())),
        lakehouse_(store_),
        sql_(SqlHarness::Open(Borrow(&lakehouse_)).ValueOrDie()) {}

  /// Bytes of data files that a query read.
  uint64_t BytesRead(const std::string& query) {
    store_->Clear();
    const auto rows = sql_->Rows(query);
    EXPECT_TRUE(rows.ok()) << rows.status();
    uint64_t bytes = 0;
    for (const storage::StoreCall& call : store_->calls()) {
      if (call.key.find("/data/") == std::string::npos) continue;
      for (const storage::ByteRange& range : call.ranges) bytes += range.length;
    }
    return bytes;
  }

  std::string Explain(const std::string& query) {
    const auto rows = sql_->Rows("EXPLAIN " + query);
    EXPECT_TRUE(rows.ok()) << rows.status();
    std::string text;
    for (const std::string& row : *rows) text += row;
    return text;
  }

  /// A table that SQL could not make, with one column `x`.
  void Create(const std::string& name, const std::shared_ptr<arrow::DataType>& type,
              const std::vector<int64_t>& values) {
    arrow::Int64Builder builder;
    ASSERT_TRUE(builder.AppendNull().ok());
    ASSERT_TRUE(builder.AppendValues(values).ok());
    auto column = builder.Finish().ValueOrDie()->View(type).ValueOrDie();
    auto schema = arrow::schema({arrow::field("x", type)});
    auto write = lakehouse_->Create(context_, {}, {"main", name}, *schema, {}, {}).ValueOrDie();
    const auto batch = arrow::RecordBatch::Make(schema, column->length(), {column});
    ASSERT_TRUE(write->Write(*batch).ok());
    ASSERT_TRUE(write->Commit(context_).ok());
  }

  const Context context_;
  std::shared_ptr<storage::RecordingStore> store_;
  commit::TestLakehouse lakehouse_;
  std::unique_ptr<SqlHarness> sql_;
};

TEST_F(ScanTest, ProjectionReadsOnlyItsColumns) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t AS SELECT i AS id, md5(i::VARCHAR) AS a, "
                        "md5((i + 1)::VARCHAR) AS b FROM range(50000) r(i)")
                  .ok());
  const uint64_t all = BytesRead("SELECT max(id), max(a), max(b) FROM t");
  const uint64_t one = BytesRead("SELECT max(id) FROM t");
  EXPECT_GT(one, 0u);
  EXPECT_LT(one, all / 3);
}

TEST_F(ScanTest, CountReadsNoData) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t AS SELECT i FROM range(50000) r(i)").ok());
  EXPECT_EQ(BytesRead("SELECT count(*) FROM t"), 0u);
  EXPECT_EQ(sql_->Rows("SELECT count(*) FROM t").ValueOrDie(), Lines{"50000"});
  EXPECT_EQ(sql_->Rows("SELECT count(*) FROM t WHERE i >= 0").ValueOrDie(), Lines{"50000"});
}

TEST_F(ScanTest, FilterReadsOtherColumnsOnlyWhereItHolds) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t AS SELECT i AS id, repeat(md5(i::VARCHAR), 20) AS wide "
                        "FROM range(50000) r(i)")
                  .ok());
  EXPECT_THAT(Explain("SELECT wide FROM t WHERE id = 77"), HasSubstr("Pushed filter"));
  EXPECT_THAT(Explain("SELECT wide FROM t WHERE id = 77"), Not(HasSubstr("FILTER")));
  const uint64_t all = BytesRead("SELECT sum(length(wide)) FROM t");
  const uint64_t none = BytesRead("SELECT sum(length(wide)) FROM t WHERE id < 0");
  const uint64_t few = BytesRead("SELECT sum(length(wide)) FROM t WHERE id = 77");
  EXPECT_LT(none, all / 10);
  EXPECT_LT(few, all / 4);
  EXPECT_EQ(sql_->Rows("SELECT length(wide) FROM t WHERE id = 77").ValueOrDie(), Lines{"640"});
}

TEST_F(ScanTest, FilterThatIsNotExactlyTheSameStaysAbove) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t (id BIGINT, d DOUBLE)").ok());
  EXPECT_THAT(Explain("SELECT * FROM t WHERE id % 7 = 3"), Not(HasSubstr("Pushed filter")));
  EXPECT_THAT(Explain("SELECT * FROM t WHERE d = 'nan'::DOUBLE"), Not(HasSubstr("Pushed filter")));
  EXPECT_THAT(Explain("SELECT * FROM t WHERE d > 1 AND id % 7 = 3"), HasSubstr("Pushed filter"));
}

TEST_F(ScanTest, LimitEndsTheScanEarly) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t AS SELECT i AS id FROM range(600000) r(i)").ok());
  EXPECT_THAT(Explain("SELECT id FROM t LIMIT 3"), HasSubstr("Pushed limit"));
  EXPECT_THAT(Explain("SELECT id + 1 FROM t LIMIT 3 OFFSET 4"), HasSubstr("Pushed limit"));
  EXPECT_THAT(Explain("SELECT id FROM t WHERE id % 7 = 3 LIMIT 3"), Not(HasSubstr("Pushed limit")));
  EXPECT_THAT(Explain("SELECT id FROM t ORDER BY id LIMIT 3"), Not(HasSubstr("Pushed limit")));
  EXPECT_LT(BytesRead("SELECT id FROM t LIMIT 3"), BytesRead("SELECT max(id) FROM t") / 2);
  EXPECT_EQ(sql_->Rows("SELECT count(*) FROM (SELECT id FROM t LIMIT 500000)").ValueOrDie(),
            Lines{"500000"});
}

TEST_F(ScanTest, RowsKeepTheirOrder) {
  ASSERT_TRUE(sql_->Run("CREATE TABLE t AS SELECT i AS id FROM range(600000) r(i)").ok());
  const auto rows = sql_->Rows("SELECT id FROM t").ValueOrDie();
  ASSERT_EQ(rows.size(), 600000u);
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], std::to_string(i));
}

/// Holds the first read of a data file until another data file is read: only scans that read
/// morsels at the same time get on.
class MeetingStore : public storage::InterceptedStore {
 public:
  using InterceptedStore::InterceptedStore;

  Status Around(const Context&, const storage::StoreCall& call,
                const std::function<Status()>& effect) override {
    const bool read = call.operation == storage::StoreOperation::kGet ||
                      call.operation == storage::StoreOperation::kGetMany;
    if (armed_ && read && call.key.find("/data/") != std::string::npos) {
      std::unique_lock lock(mutex_);
      files_.insert(call.key);
      met_.notify_all();
      together_ = met_.wait_for(lock, std::chrono::seconds(60), [&] { return files_.size() > 1; });
    }
    return effect();
  }

  void Arm() { armed_ = true; }
  bool together() const { return together_; }

 private:
  std::atomic<bool> armed_{false};
  std::atomic<bool> together_{false};
  std::mutex mutex_;
  std::condition_variable met_;
  std::set<std::string> files_;
};

TEST(ParallelScanTest, MorselsAreReadAtTheSameTime) {
  auto store = std::make_shared<MeetingStore>(storage::MakeMemoryStore());
  commit::TestLakehouse lakehouse(store);
  auto sql = SqlHarness::Open(Borrow(&lakehouse)).ValueOrDie();
  ASSERT_TRUE(sql->Run("CREATE TABLE t AS SELECT i FROM range(1000) r(i)").ok());
  ASSERT_TRUE(sql->Run("INSERT INTO t SELECT i FROM range(1000, 2000) r(i)").ok());
  store->Arm();
  EXPECT_EQ(sql->Rows("SELECT sum(i) FROM t").ValueOrDie(), Lines{"1999000"});
  EXPECT_TRUE(store->together());
}

TEST_F(ScanTest, InsertReachesTypesThatSqlCannotMake) {
  using arrow::TimeUnit;
  struct Case {
    std::string name;
    std::shared_ptr<arrow::DataType> type;
    std::string good;
    std::string good_text;
    std::string bad;
  };
  const std::vector<Case> cases = {
      {"zoned", arrow::timestamp(TimeUnit::NANO, "UTC"),
       "TIMESTAMPTZ '2026-01-02 03:04:05.000001+00'", "2026-01-02 03:04:05.000001+00",
       "TIMESTAMPTZ '9999-01-01 00:00:00+00'"},
      {"clock", arrow::time64(TimeUnit::NANO), "TIME '01:02:03.000004'", "01:02:03.000004", ""},
      {"second", arrow::time32(TimeUnit::SECOND), "TIME '01:02:03'", "01:02:03",
       "TIME '01:02:03.5'"},
      {"days", arrow::date64(), "DATE '2026-01-02'", "2026-01-02", ""},
      {"large", arrow::large_utf8(), "'text'", "text", ""},
      {"three", arrow::fixed_size_binary(3), "'abc'::BLOB", "abc", "'abcd'::BLOB"},
      {"span", arrow::duration(TimeUnit::MICRO), "", "", "INTERVAL '1 second'"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto schema = arrow::schema({arrow::field("x", c.type)});
    auto write = lakehouse_->Create(context_, {}, {"main", c.name}, *schema, {}, {}).ValueOrDie();
    ASSERT_TRUE(write->Commit(context_).ok());
    Lines expected;
    if (!c.good.empty()) {
      const auto inserted = sql_->Run("INSERT INTO " + c.name + " VALUES (NULL), (" + c.good + ")");
      ASSERT_TRUE(inserted.ok()) << inserted.status();
      expected = {"NULL", c.good_text};
    }
    if (!c.bad.empty()) {
      const Status status = sql_->Run("INSERT INTO " + c.name + " VALUES (" + c.bad + ")").status();
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(ErrorText(status), HasSubstr("column 'x'"));
    }
    EXPECT_EQ(sql_->Rows("SELECT x::VARCHAR FROM " + c.name).ValueOrDie(), expected);
  }
}

TEST_F(ScanTest, ForeignFileColumnTakesFileValues) {
  // Other writers declare the parts of a FILE nullable.
  arrow::FieldVector parts;
  for (const auto& part : objects::DataLocationType()->fields()) {
    parts.push_back(part->WithNullable(true));
  }
  const auto schema = arrow::schema({arrow::field("video", arrow::struct_(parts))});
  auto write = lakehouse_->Create(context_, {}, {"main", "t"}, *schema, {}, {}).ValueOrDie();
  ASSERT_TRUE(write->Commit(context_).ok());
  const auto inserted = sql_->Run("INSERT INTO t SELECT * FROM t UNION ALL SELECT NULL");
  ASSERT_TRUE(inserted.ok()) << inserted.status();
  EXPECT_EQ(sql_->Rows("SELECT video FROM t").ValueOrDie(), Lines{"NULL"});
  // A struct of the same shape is shown as it is.
  EXPECT_TRUE(sql_->Rows("SELECT {'uri': NULL::VARCHAR, 'content_type': 'x', 'size_bytes': "
                         "1::UBIGINT, 'sha256': 'y'}")
                  .ok());
}

TEST_F(ScanTest, ValueThatDuckDbCannotHoldIsAnErrorThatNamesIt) {
  struct Case {
    std::string name;
    std::shared_ptr<arrow::DataType> type;
    int64_t good;
    std::string good_text;
    int64_t bad;
  };
  const std::vector<Case> cases = {
      {"zoned", arrow::timestamp(arrow::TimeUnit::NANO, "UTC"), 1'000,
       "1970-01-01 00:00:00.000001+00", 1'001},
      {"clock", arrow::time64(arrow::TimeUnit::NANO), 2'000, "00:00:00.000002", 2'500},
      {"span", arrow::duration(arrow::TimeUnit::NANO), 3'000, "00:00:00.000003", 3'999},
      {"days", arrow::date64(), 86'400'000, "1970-01-02", 86'400'001},
      {"seconds", arrow::timestamp(arrow::TimeUnit::SECOND, "UTC"), 1, "1970-01-01 00:00:01+00",
       9'223'372'036'855},
      {"long_span", arrow::duration(arrow::TimeUnit::SECOND), 1, "00:00:01", 9'223'372'036'855},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Create(c.name, c.type, {c.good});
    Create(c.name + "_bad", c.type, {c.good, c.bad});
    EXPECT_EQ(sql_->Rows("SELECT x::VARCHAR FROM " + c.name).ValueOrDie(),
              (Lines{"NULL", c.good_text}));
    const Status status = sql_->Rows("SELECT x FROM " + c.name + "_bad").status();
    EXPECT_EQ(CodeOf(status), ErrorCode::kUnsupported) << status;
    EXPECT_THAT(ErrorText(status), HasSubstr("column 'x'"));
    EXPECT_THAT(ErrorText(status), HasSubstr("value "));
    // Not asked for, not an error.
    EXPECT_EQ(sql_->Rows("SELECT count(*) FROM " + c.name + "_bad").ValueOrDie(), Lines{"3"});
  }
}

}  // namespace
}  // namespace lake::query
