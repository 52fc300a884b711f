#include "lake/table/batch_stream.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <mutex>
#include <vector>

#include <arrow/compute/expression.h>
#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include "lake/base/thread_pool.h"
#include "lake/storage/testing/recording_store.h"
#include "lake/table/testing/table_fixture_internal.h"

namespace lake::table {
namespace {

namespace cp = arrow::compute;

class BatchStreamTest : public TableFixture {
 protected:
  std::shared_ptr<Scanner> ScanOf(uint64_t morsel_rows,
                                  std::optional<cp::Expression> filter = std::nullopt) {
    ScanOptions options;
    options.morsel_rows = morsel_rows;
    options.filter = std::move(filter);
    return Open()->Scan(context(), options).ValueOrDie();
  }

  std::vector<int64_t> Drain(BatchStream* stream) {
    std::vector<int64_t> ids;
    while (true) {
      auto batch = stream->Next().ValueOrDie();
      if (batch == nullptr) return ids;
      EXPECT_GT(batch->num_rows(), 0);
      const std::vector<int64_t> some = Ids(*batch);
      ids.insert(ids.end(), some.begin(), some.end());
    }
  }
};

TEST_F(BatchStreamTest, GivesAllRowsInOrder) {
  Create(20'000, 3000);
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{0}, uint64_t{1} << 40}) {
    auto stream =
        BatchStream::Open(context(), ScanOf(250), {.ordered = true, .max_buffered_bytes = bytes});
    EXPECT_EQ(Drain(stream.get()), Range(0, 20'000)) << bytes;
    EXPECT_EQ(stream->Next().ValueOrDie(), nullptr) << "the end stays the end";
  }
}

TEST_F(BatchStreamTest, GivesAllRowsInAnyOrder) {
  Create(20'000, 3000);
  auto stream = BatchStream::Open(context(), ScanOf(250), {.ordered = false});
  std::vector<int64_t> ids = Drain(stream.get());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids, Range(0, 20'000));
}

TEST_F(BatchStreamTest, TasksThatNeverBeganKeepNothing) {
  Create(2000, 1000);
  std::weak_ptr<Scanner> watched;
  // No thread of the pool is free: the stream's tasks stay in its queue.
  const size_t threads = ScanThreadPool()->num_threads();
  auto begun = std::make_shared<std::latch>(static_cast<std::ptrdiff_t>(threads));
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  for (size_t i = 0; i < threads; ++i) {
    ScanThreadPool()->Submit([begun, released] {
      begun->count_down();
      released.wait();
    });
  }
  begun->wait();
  {
    std::shared_ptr<Scanner> scanner = ScanOf(100);
    watched = scanner;
    auto stream = BatchStream::Open(context(), std::move(scanner));
    EXPECT_NE(stream->Next().ValueOrDie(), nullptr);
  }
  EXPECT_TRUE(watched.expired());
  release.set_value();
}

TEST_F(BatchStreamTest, LeavesOutBatchesWithoutRows) {
  Create(5000, 1000);
  auto stream = BatchStream::Open(
      context(), ScanOf(100, cp::greater_equal(cp::field_ref("id"), cp::literal(int64_t{4950}))));
  EXPECT_EQ(Drain(stream.get()), Range(4950, 5000));
}

TEST_F(BatchStreamTest, EmptyTableIsAnEmptyStream) {
  Create(0, 1000);
  EXPECT_EQ(BatchStream::Open(context(), ScanOf(100))->Next().ValueOrDie(), nullptr);
}

TEST_F(BatchStreamTest, DecodesNoFurtherAheadThanItsBytes) {
  Create(50'000, 50'000);
  auto recording = std::make_shared<storage::RecordingStore>(store_);
  auto dataset = Dataset::Open(context(), recording).ValueOrDie();
  ScanOptions options;
  options.morsel_rows = 1000;
  options.prefetch = Prefetch::kNever;
  std::shared_ptr<Scanner> scanner = dataset->Scan(context(), options).ValueOrDie();
  const uint64_t budget = 2 * scanner->morsel_bytes();
  auto stream = BatchStream::Open(context(), scanner, {.max_buffered_bytes = budget});
  ASSERT_NE(stream->Next().ValueOrDie(), nullptr);
  stream.reset();  // waits for what was begun
  uint64_t reads = 0;
  for (const auto& call : recording->calls()) {
    reads += call.operation == storage::StoreOperation::kGetMany;
  }
  // One morsel was handed out and two may be ahead, each with two rounds of requests.
  EXPECT_LE(reads, 2u * 3u);
}

TEST_F(BatchStreamTest, AnErrorEndsTheStreamAndStays) {
  Create(2000, 1000);
  Foreign([](pb::Manifest* manifest, pb::Transaction*) {
    manifest->mutable_fragments(1)->mutable_files(0)->set_path("absent.lance");
  });
  auto stream = BatchStream::Open(context(), ScanOf(100));
  Status failed;
  while (failed.ok()) {
    auto batch = stream->Next();
    ASSERT_TRUE(!batch.ok() || *batch != nullptr) << "the scan ended without its error";
    failed = batch.status();
  }
  EXPECT_EQ(CodeOf(failed), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf(stream->Next().status()), ErrorCode::kNotFound);
}

TEST_F(BatchStreamTest, ACancelledContextEndsTheStream) {
  Create(20'000, 5000);
  Context cancelled = context();
  cancelled.cancel = CancelToken();
  auto stream = BatchStream::Open(cancelled, ScanOf(100), {.max_buffered_bytes = 1});
  ASSERT_NE(stream->Next().ValueOrDie(), nullptr);
  cancelled.cancel.Cancel();
  Status status;
  while (status.ok()) {
    auto batch = stream->Next();
    status = batch.status();
    ASSERT_TRUE(!batch.ok() || *batch != nullptr) << "it went on to the end";
  }
  EXPECT_EQ(CodeOf(status), ErrorCode::kCancelled);
}

TEST_F(BatchStreamTest, ForEachBatchHandsEachRowOutOnce) {
  Create(20'000, 3000);
  std::mutex mutex;
  std::vector<int64_t> ids;
  ASSERT_TRUE(
      ForEachBatch(context(), ScanOf(250).get(), [&](std::shared_ptr<arrow::RecordBatch> batch) {
        const std::vector<int64_t> some = Ids(*batch);
        std::lock_guard lock(mutex);
        ids.insert(ids.end(), some.begin(), some.end());
        return Status::OK();
      }).ok());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(ids, Range(0, 20'000));
}

TEST_F(BatchStreamTest, ForEachBatchStopsAtTheConsumersError) {
  Create(20'000, 3000);
  std::atomic<int> batches{0};
  const Status status = ForEachBatch(context(), ScanOf(100).get(),
                                     [&](std::shared_ptr<arrow::RecordBatch>) -> Status {
                                       ++batches;
                                       return Error(ErrorCode::kIo, "the consumer is full");
                                     });
  EXPECT_EQ(CodeOf(status), ErrorCode::kIo);
  EXPECT_LT(batches, 100);
}

}  // namespace
}  // namespace lake::table
