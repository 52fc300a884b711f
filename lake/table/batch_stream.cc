#include "lake/table/batch_stream.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include <arrow/record_batch.h>

#include "lake/base/mutex.h"
#include "lake/base/thread_pool.h"

namespace lake::table {

namespace {

constexpr uint64_t kMaxBufferedBytes = 256ull << 20;
constexpr int64_t kBudgetShare = 8;

/// What the stream shares with its tasks, which may begin after it is gone.
class StreamState : public std::enable_shared_from_this<StreamState> {
 public:
  StreamState(const Context& context, std::shared_ptr<Scanner> scanner, bool ordered, size_t window)
      : context_(context),
        ordered_(ordered),
        window_(window),
        num_morsels_(scanner->num_morsels()),
        scanner_(std::move(scanner)) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Next() LAKE_EXCLUDES(mutex_);
  /// No morsel begins any more; returns when none is being read, and lets go of batches and
  /// scanner: tasks that have not begun keep this object.
  void Stop() LAKE_EXCLUDES(mutex_);

 private:
  struct Ready {
    size_t morsel;
    std::shared_ptr<arrow::RecordBatch> batch;
  };

  bool MayBegin() const LAKE_REQUIRES(mutex_) {
    return !stopped_ && error_.ok() && next_ < num_morsels_ && unfinished_ < window_;
  }
  /// Reads the next morsel. The mutex is released meanwhile.
  void ReadOne() LAKE_REQUIRES(mutex_);
  void StartTasks() LAKE_REQUIRES(mutex_);
  void RunTask() LAKE_EXCLUDES(mutex_);
  /// Where the batch to hand out stands in ready_; its end if it is not there.
  std::vector<Ready>::iterator FindNext() LAKE_REQUIRES(mutex_);

  const Context context_;
  const bool ordered_;
  /// Morsels that may be begun and not handed out.
  const size_t window_;
  const size_t num_morsels_;

  Mutex mutex_;
  CondVar changed_;
  /// Null once stopped.
  std::shared_ptr<Scanner> scanner_ LAKE_GUARDED_BY(mutex_);
  /// The next morsel to begin, and in order the next to hand out.
  size_t next_ LAKE_GUARDED_BY(mutex_) = 0;
  size_t handed_out_ LAKE_GUARDED_BY(mutex_) = 0;
  size_t unfinished_ LAKE_GUARDED_BY(mutex_) = 0;
  size_t reading_ LAKE_GUARDED_BY(mutex_) = 0;
  size_t tasks_ LAKE_GUARDED_BY(mutex_) = 0;
  bool stopped_ LAKE_GUARDED_BY(mutex_) = false;
  Status error_ LAKE_GUARDED_BY(mutex_);
  std::vector<Ready> ready_ LAKE_GUARDED_BY(mutex_);
};

void StreamState::ReadOne() {
  const size_t morsel = next_++;
  ++unfinished_;
  ++reading_;
  // Stop waits for what is being read.
  Scanner* const scanner = scanner_.get();
  mutex_.Unlock();
  Result<std::shared_ptr<arrow::RecordBatch>> batch = scanner->Read(context_, morsel);
  mutex_.Lock();
  --reading_;
  if (batch.ok()) {
    ready_.push_back({morsel, *std::move(batch)});
  } else if (error_.ok()) {
    error_ = batch.status();
  }
  changed_.SignalAll();
}

void StreamState::RunTask() {
  MutexLock lock(&mutex_);
  while (MayBegin()) ReadOne();
  --tasks_;
}

void StreamState::StartTasks() {
  // The consumer is a thread, too, but it has something else to do.
  const size_t threads = ScanThreadPool()->num_threads();
  const size_t left = std::min(num_morsels_ - next_, window_ - std::min(window_, unfinished_));
  while (MayBegin() && tasks_ < std::min(threads, left)) {
    ++tasks_;
    ScanThreadPool()->Submit([self = shared_from_this()] { self->RunTask(); });
  }
}

std::vector<StreamState::Ready>::iterator StreamState::FindNext() {
  if (!ordered_) return ready_.begin();
  const size_t wanted = handed_out_;
  return std::find_if(ready_.begin(), ready_.end(),
                      [wanted](const Ready& ready) { return ready.morsel == wanted; });
}

Result<std::shared_ptr<arrow::RecordBatch>> StreamState::Next() {
  MutexLock lock(&mutex_);
  while (true) {
    ARROW_RETURN_NOT_OK(error_);
    if (handed_out_ == num_morsels_) return nullptr;
    const auto found = FindNext();
    if (found != ready_.end()) {
      std::shared_ptr<arrow::RecordBatch> batch = std::move(found->batch);
      ready_.erase(found);
      ++handed_out_;
      --unfinished_;
      StartTasks();
      if (batch != nullptr && batch->num_rows() > 0) return batch;
      continue;
    }
    StartTasks();
    // Whoever waits can as well work: a busy pool then delays nothing.
    if (MayBegin() && (!ordered_ || next_ == handed_out_)) {
      ReadOne();
    } else {
      changed_.Wait(&mutex_);
    }
  }
}

void StreamState::Stop() {
  // Goes away behind the lock: it waits for its own tasks.
  std::shared_ptr<Scanner> scanner;
  MutexLock lock(&mutex_);
  stopped_ = true;
  while (reading_ > 0) changed_.Wait(&mutex_);
  ready_.clear();
  scanner = std::move(scanner_);
}

class BatchStreamImpl final : public BatchStream {
 public:
  explicit BatchStreamImpl(std::shared_ptr<StreamState> state) : state_(std::move(state)) {}
  ~BatchStreamImpl() override { state_->Stop(); }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override { return state_->Next(); }

 private:
  const std::shared_ptr<StreamState> state_;
};

}  // namespace

std::unique_ptr<BatchStream> BatchStream::Open(const Context& context,
                                               std::shared_ptr<Scanner> scanner,
                                               const StreamOptions& options) {
  uint64_t bytes = options.max_buffered_bytes;
  if (bytes == 0) {
    bytes =
        std::min(kMaxBufferedBytes, static_cast<uint64_t>(context.memory->limit() / kBudgetShare));
  }
  const size_t threads = ScanThreadPool()->num_threads();
  const size_t window =
      std::clamp<uint64_t>(bytes / std::max<uint64_t>(scanner->morsel_bytes(), 1), 1, 4 * threads);
  return std::make_unique<BatchStreamImpl>(
      std::make_shared<StreamState>(context, std::move(scanner), options.ordered, window));
}

size_t MorselsAtOnce(const Context& context, const Scanner& scanner) {
  const auto bytes = static_cast<uint64_t>(context.memory->limit() / kBudgetShare);
  return std::clamp<uint64_t>(bytes / std::max<uint64_t>(scanner.morsel_bytes(), 1), 1,
                              ScanThreadPool()->num_threads() + 1);
}

Status ForEachBatch(const Context& context, Scanner* scanner,
                    const std::function<Status(std::shared_ptr<arrow::RecordBatch>)>& consume) {
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  // One task for each thread, which takes morsels until there are none: fewer hand-overs than a
  // task for each morsel.
  const size_t threads = std::min(scanner->num_morsels(), MorselsAtOnce(context, *scanner));
  return ParallelFor(ScanThreadPool(), threads, [&](size_t) -> Status {
    auto read_all = [&]() -> Status {
      for (size_t morsel; (morsel = next.fetch_add(1)) < scanner->num_morsels();) {
        if (failed.load(std::memory_order_relaxed)) return Status::OK();
        ARROW_ASSIGN_OR_RAISE(auto batch, scanner->Read(context, morsel));
        if (batch != nullptr && batch->num_rows() > 0) {
          ARROW_RETURN_NOT_OK(consume(std::move(batch)));
        }
      }
      return Status::OK();
    };
    Status status = read_all();
    if (!status.ok()) failed.store(true, std::memory_order_relaxed);
    return status;
  });
}

}  // namespace lake::table
