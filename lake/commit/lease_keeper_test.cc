#include "lake/commit/lease_keeper.h"

#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "lake/base/testing/fake_clock.h"
#include "lake/base/testing/test_folder.h"
#include "lake/commit/testing/status_matchers.h"

namespace lake::commit {
namespace {

class LeaseKeeperTest : public ::testing::Test {
 protected:
  LeaseKeeperTest() {
    context_.clock = &clock_;
    metastore_ = catalog::OpenSqliteMetastore(context_, folder_ / "metastore.db").ValueOrDie();
    catalog::Entry entry;
    entry.incarnation = Uuid::NewV7(context_);
    entry.name = {catalog::kMainNamespace, "t"};
    entry.location = "tables/main/t/x.lance";
    entry_ = metastore_->BeginCreate(context_, entry, LeaseKeeper::kLeaseNanos).ValueOrDie();
  }
  catalog::Entry Row() {
    return metastore_->FindIncarnation(context_, entry_.incarnation).ValueOrDie().entry;
  }

  TestFolder folder_{FastTestParent()};
  FakeClock clock_;
  Context context_;
  std::shared_ptr<catalog::Metastore> metastore_;
  catalog::Entry entry_;
};

TEST_F(LeaseKeeperTest, RenewsByItself) {
  clock_.Advance(std::chrono::seconds(20));
  LeaseKeeper keeper(context_, metastore_, entry_, std::chrono::milliseconds(1));
  while (Row().lease_epoch < 3) std::this_thread::yield();
  EXPECT_EQ(Row().lease_expires_nanos, clock_.UnixNanos() + LeaseKeeper::kLeaseNanos);
  catalog::Entry last = keeper.Release();
  EXPECT_EQ(last.lease_epoch, Row().lease_epoch);
  ASSERT_OK(metastore_->AbandonCreate(context_, last));
}

TEST_F(LeaseKeeperTest, RenewsBeforeACommitOnlyWhenTheLeaseIsLow) {
  LeaseKeeper keeper(context_, metastore_, entry_);
  ASSERT_OK(keeper.EnsureHeld());
  EXPECT_EQ(Row().lease_epoch, 1);
  clock_.Advance(std::chrono::seconds(16));
  ASSERT_OK(keeper.EnsureHeld());
  EXPECT_EQ(Row().lease_epoch, 2);
}

TEST_F(LeaseKeeperTest, ALostRowStaysLost) {
  LeaseKeeper keeper(context_, metastore_, entry_);
  ASSERT_OK(metastore_->AbandonCreate(context_, entry_));
  clock_.Advance(std::chrono::seconds(16));
  EXPECT_CODE(ErrorCode::kConflict, keeper.EnsureHeld());
  EXPECT_CODE(ErrorCode::kConflict, keeper.EnsureHeld());
}

}  // namespace
}  // namespace lake::commit
