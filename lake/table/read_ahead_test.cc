// Reading ahead as a scan does it, over a store with latency.

#include <atomic>
#include <thread>

#include <arrow/compute/expression.h>
#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "lake/base/mutex.h"
#include "lake/storage/testing/intercepted_store.h"
#include "lake/table/read_ahead_internal.h"
#include "lake/table/testing/table_fixture_internal.h"

namespace lake::table {
namespace {

/// Counts reads of rows. Each takes 2 ms on the clock of its context.
class CountingStore : public storage::InterceptedStore {
 public:
  using InterceptedStore::InterceptedStore;

  Status Around(const Context& context, const storage::StoreCall& call,
                const std::function<Status()>& effect) override LAKE_EXCLUDES(mutex_) {
    if (call.operation != storage::StoreOperation::kGetMany) return effect();
    context.clock->SleepFor(std::chrono::milliseconds(2));
    const Status status = effect();
    MutexLock lock(&mutex_);
    ++reads_;
    changed_.SignalAll();
    return status;
  }

  int reads() LAKE_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    return reads_;
  }

  /// Returns once there were `count` reads.
  void WaitFor(int count) LAKE_EXCLUDES(mutex_) {
    MutexLock lock(&mutex_);
    while (reads_ < count) changed_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int reads_ LAKE_GUARDED_BY(mutex_) = 0;
};

class ReadAheadTest : public TableFixture {
 protected:
  void SetUp() override {
    Create(10'000, 10'000);
    counting_ = std::make_shared<CountingStore>(store_);
  }

  /// A scan in 20 morsels.
  std::shared_ptr<Scanner> ScanOf(Prefetch prefetch, int64_t memory_limit = INT64_MAX) {
    limited_ = context();
    limited_.memory = MemoryBudget::Make(memory_limit);
    ScanOptions options;
    options.morsel_rows = 500;
    options.prefetch = prefetch;
    return Dataset::Open(limited_, counting_).ValueOrDie()->Scan(limited_, options).ValueOrDie();
  }

  void ReadMorsel(Scanner* scanner, size_t morsel) {
    const auto batch = scanner->Read(limited_, morsel).ValueOrDie();
    const auto rows = static_cast<int64_t>(scanner->morsel_rows(0));
    const int64_t first = static_cast<int64_t>(morsel) * rows;
    EXPECT_EQ(Ids(*batch), Range(first, first + rows));
  }

  /// Reads that one morsel takes at most: where its rows lie, and the rows.
  static constexpr int kMost = 2;

  std::shared_ptr<CountingStore> counting_;
  Context limited_;
};

TEST_F(ReadAheadTest, ReadsWhatComesNextWhileOneMorselIsUsed) {
  auto scanner = ScanOf(Prefetch::kAlways);
  ReadMorsel(scanner.get(), 0);
  counting_->WaitFor(kMost + 10);
  for (size_t morsel = 1; morsel < scanner->num_morsels(); ++morsel) {
    ReadMorsel(scanner.get(), morsel);
  }
}

TEST_F(ReadAheadTest, BeginsByItselfWhereReadsWait) {
  auto scanner = ScanOf(Prefetch::kAuto);
  ReadMorsel(scanner.get(), 0);
  EXPECT_LE(counting_->reads(), kMost) << "nothing was known of the store before";
  ReadMorsel(scanner.get(), 1);
  counting_->WaitFor(2 * kMost + 10);
}

TEST_F(ReadAheadTest, CanBeSwitchedOff) {
  auto scanner = ScanOf(Prefetch::kNever);
  for (int morsel = 0; morsel < 5; ++morsel) {
    ReadMorsel(scanner.get(), morsel);
    EXPECT_LE(counting_->reads(), (morsel + 1) * kMost);
  }
}

TEST_F(ReadAheadTest, StaysWithinTheBudget) {
  // A morsel takes a sixteenth of it, what is read ahead an eighth.
  constexpr int64_t kLimit = 256 << 10;
  auto scanner = ScanOf(Prefetch::kAlways, kLimit);
  ASSERT_LE(scanner->morsel_bytes(), kLimit / 16);
  const auto most_ahead = static_cast<int>(kLimit / 8 / scanner->morsel_bytes());
  ASSERT_LT(most_ahead + 5, static_cast<int>(scanner->num_morsels()));
  for (int morsel = 0; morsel < 5; ++morsel) {
    ReadMorsel(scanner.get(), morsel);
    EXPECT_LE(counting_->reads(), (morsel + 1 + most_ahead) * kMost);
  }
}

TEST_F(ReadAheadTest, AnErrorAheadComesWithItsOwnMorsel) {
  store_ = storage::MakeMemoryStore();
  Create(2000, 1000);
  Foreign([](pb::Manifest* manifest, pb::Transaction*) {
    manifest->mutable_fragments(1)->mutable_files(0)->set_path("absent.lance");
  });
  counting_ = std::make_shared<CountingStore>(store_);
  auto scanner = ScanOf(Prefetch::kAlways);
  ReadMorsel(scanner.get(), 0);
  ReadMorsel(scanner.get(), 1);
  EXPECT_EQ(CodeOf(scanner->Read(limited_, 2).status()), ErrorCode::kNotFound);
}

TEST_F(ReadAheadTest, MorselsMayBeReadInAnyOrderAndAgain) {
  auto scanner = ScanOf(Prefetch::kAlways);
  for (const size_t morsel : {5, 3, 19, 5, 0, 6, 6}) ReadMorsel(scanner.get(), morsel);
}

TEST_F(ReadAheadTest, NothingIsKeptOnceItStopped) {
  std::atomic<int> fetches{0};
  auto read_ahead = std::make_shared<ReadAhead>(
      2,
      [&](const Context&, size_t morsel) -> Result<ReadAhead::Fetched> {
        if (morsel == 1) ++fetches;
        return std::make_unique<FetchedFragment>();
      },
      Prefetch::kAlways, /*max_bytes=*/10, /*morsel_bytes=*/1);
  ASSERT_TRUE(read_ahead->Take(context(), 0).ok());
  while (fetches == 0) std::this_thread::yield();
  read_ahead->Stop();
  ASSERT_TRUE(read_ahead->Take(context(), 1).ok());
  EXPECT_EQ(fetches, 2) << "what was fetched ahead is gone";
}

TEST_F(ReadAheadTest, FiltersReadTheirOwnColumnsAhead) {
  limited_ = context();
  ScanOptions options;
  options.morsel_rows = 500;
  options.prefetch = Prefetch::kAlways;
  options.filter = arrow::compute::greater_equal(arrow::compute::field_ref("id"),
                                                 arrow::compute::literal(int64_t{9990}));
  auto scanner =
      Dataset::Open(limited_, counting_).ValueOrDie()->Scan(limited_, options).ValueOrDie();
  std::vector<int64_t> ids;
  for (size_t morsel = 0; morsel < scanner->num_morsels(); ++morsel) {
    const std::vector<int64_t> some = Ids(*scanner->Read(limited_, morsel).ValueOrDie());
    ids.insert(ids.end(), some.begin(), some.end());
  }
  EXPECT_EQ(ids, Range(9990, 10'000));
}

}  // namespace
}  // namespace lake::table
