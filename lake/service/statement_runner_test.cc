#include "lake/service/statement_runner.h"

#include <regex>
#include <string>

#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "lake/commit/testing/test_lakehouse.h"
#include "lake/storage/memory_store.h"
#include "lake/storage/testing/faulty_store.h"

namespace lake::service {
namespace {

/// Counts what it is told.
class CountingObserver : public SqlObserver {
 public:
  Status BeginRows(const std::shared_ptr<arrow::Schema>&) override { return Status::OK(); }
  Status Rows(const arrow::RecordBatch& batch) override {
    rows += batch.num_rows();
    return Status::OK();
  }
  Status EndRows() override { return Status::OK(); }
  Status Done(int64_t rows_changed, bool was_replayed) override {
    changed += rows_changed;
    replayed |= was_replayed;
    return Status::OK();
  }
  void Uploading(uint64_t, uint64_t) override {}
  void Progress(double) override {}

  int64_t rows = 0;
  int64_t changed = 0;
  bool replayed = false;
};

class StatementRunnerTest : public testing::Test {
 protected:
  StatementRunnerTest()
      : store_(std::make_shared<storage::FaultyStore>(storage::MakeMemoryStore())),
        lakehouse_(store_),
        workspace_(Workspace::Over(
            {}, std::shared_ptr<commit::Lakehouse>(std::shared_ptr<void>(), lakehouse_.get()))) {}

  Status Run(const std::string& text, std::optional<std::string> operation_id = {}) {
    if (session_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(session_, workspace_->Connect(context_));
    }
    observer_ = {};
    return RunSql(context_, workspace_.get(), session_.get(),
                  {.text = text, .operation_id = std::move(operation_id)}, &observer_);
  }

  Context context_;
  std::shared_ptr<storage::FaultyStore> store_;
  commit::TestLakehouse lakehouse_;
  std::unique_ptr<Workspace> workspace_;
  std::unique_ptr<query::Session> session_;
  CountingObserver observer_;
};

TEST_F(StatementRunnerTest, AnUnknownOutcomeNamesTheIdThatResolvesIt) {
  ASSERT_TRUE(Run("CREATE TABLE t (x BIGINT)").ok());
  store_->FailMatching(
      [](const storage::StoreCall& call) {
        return call.operation == storage::StoreOperation::kPublish &&
               call.key.find("_versions/") != std::string::npos;
      },
      storage::Fault::kEffectThenCrash);
  Status unknown = Run("INSERT INTO t VALUES (1), (2)");
  ASSERT_TRUE(IsCommitStateUnknown(unknown)) << unknown;
  store_->Reset();

  std::smatch found;
  std::string text = ErrorText(unknown);
  ASSERT_TRUE(std::regex_search(text, found, std::regex("operation id ([0-9a-f-]{36})"))) << text;
  ASSERT_TRUE(Run("INSERT INTO t VALUES (1), (2)", found[1]).ok());
  EXPECT_TRUE(observer_.replayed);
  EXPECT_EQ(observer_.changed, 2);
  ASSERT_TRUE(Run("SELECT * FROM t").ok());
  EXPECT_EQ(observer_.rows, 2);
}

TEST_F(StatementRunnerTest, OtherErrorsNameNoId) {
  Status failed = Run("SELECT nonsense");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(ErrorText(failed).find("operation id"), std::string::npos) << failed;
}

}  // namespace
}  // namespace lake::service
