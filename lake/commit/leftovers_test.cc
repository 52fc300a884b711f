#include "lake/commit/leftovers.h"

#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lake/commit/testing/status_matchers.h"
#include "lake/commit/testing/test_lakehouse.h"
#include "lake/storage/memory_store.h"

namespace lake::commit {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kFolder[] = "tables/main/x/018f0000-0000-7000-8000-000000000001.lance";

class LeftoversTest : public ::testing::Test {
 protected:
  void Put(const std::string& key, const std::string& bytes = "xyz") {
    ASSERT_TRUE(store_->Put(context_, key, bytes, storage::PutCondition::kNone).ok());
  }
  LeftoverReport Find(const Context& context) {
    return FindLeftoverFiles(context, store_.get()).ValueOrDie();
  }

  Context context_;
  std::shared_ptr<storage::ObjectStore> store_ = storage::MakeMemoryStore();
  TestLakehouse lakehouse_{store_};
};

TEST_F(LeftoversTest, NamedFilesAreNone) {
  ASSERT_OK(CreateNumbers(context_, lakehouse_.get(), "t", {1}));
  ASSERT_OK(AppendNumbers(context_, lakehouse_.get(), "t", {2}));
  EXPECT_THAT(Find(context_).leftovers, IsEmpty());
}

TEST_F(LeftoversTest, UnnamedFilesAreListedWithSizeAndAge) {
  ASSERT_OK(CreateNumbers(context_, lakehouse_.get(), "t", {1}));
  // One in a live table, one in a folder that never became a table.
  std::string live = NewTableLocation({"main", "t"}, Uuid{});
  Put(live + "/data/orphan.lance");
  Put(std::string(kFolder) + "/data/orphan2.lance", "12345");
  // Not data files.
  Put(std::string(kFolder) + "/_transactions/1.txn");
  Put("tables/readme");

  LeftoverReport report = Find(context_);
  ASSERT_THAT(report.leftovers, SizeIs(2));
  EXPECT_EQ(report.leftovers[1].key, std::string(kFolder) + "/data/orphan2.lance");
  EXPECT_EQ(report.leftovers[1].size, 5u);
  EXPECT_TRUE(report.leftovers[1].possibly_in_use);

  auto lines = lakehouse_->FindLeftovers(context_).ValueOrDie();
  EXPECT_THAT(lines[1], HasSubstr("orphan2.lance (5 bytes, possibly in use)"));
}

TEST_F(LeftoversTest, AnHourOldFileIsNotInUse) {
  class LaterClock : public Clock {
    int64_t UnixNanos() const override {
      return SystemClock()->UnixNanos() + int64_t{3601} * 1'000'000'000;
    }
    int64_t MonotonicNanos() const override { return 0; }
    void SleepFor(std::chrono::nanoseconds) const override {}
  };
  Put(std::string(kFolder) + "/data/orphan.lance");
  LaterClock clock;
  Context later;
  later.clock = &clock;
  LeftoverReport report = Find(later);
  ASSERT_THAT(report.leftovers, SizeIs(1));
  EXPECT_FALSE(report.leftovers[0].possibly_in_use);
}

TEST_F(LeftoversTest, ATableThatCannotBeReadIsNotJudged) {
  Put(std::string(kFolder) + "/data/orphan.lance");
  Put(std::string(kFolder) + "/_versions/18446744073709551614.manifest", "damaged");
  LeftoverReport report = Find(context_);
  EXPECT_THAT(report.leftovers, IsEmpty());
  ASSERT_THAT(report.unreadable, SizeIs(1));
  EXPECT_THAT(report.unreadable[0], HasSubstr(kFolder));
}

TEST_F(LeftoversTest, AnAttemptThatNeverBecameAVersionNamesNothing) {
  Put(std::string(kFolder) + "/data/orphan.lance");
  Put(std::string(kFolder) + "/_versions/1.manifest-018f0000-0000-7000-8000-000000000002",
      "staged");
  EXPECT_THAT(Find(context_).leftovers, SizeIs(1));
}

}  // namespace
}  // namespace lake::commit
