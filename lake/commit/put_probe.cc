#include "lake/commit/put_probe.h"

#include <atomic>
#include <thread>
#include <vector>

#include <arrow/buffer.h>

#include "lake/base/uuid.h"

namespace lake::commit {
namespace {

constexpr int kRacers = 8;

}  // namespace

Status ProbeConditionalPut(const Context& context, storage::ObjectStore* store,
                           const std::string& prefix) {
  const std::string key = prefix + "/put-probe-" + Uuid::NewV4(context).ToString();
  std::vector<Status> outcomes(kRacers);
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kRacers; ++i) {
    threads.emplace_back([&, i] {
      // All start together: a race that is not one proves nothing.
      ++ready;
      while (ready.load() < kRacers) std::this_thread::yield();
      outcomes[i] = store->Put(context, key, std::to_string(i), storage::PutCondition::kIfAbsent);
    });
  }
  for (std::thread& thread : threads) thread.join();

  Result<std::shared_ptr<arrow::Buffer>> stands = store->GetAll(context, key, kRacers);
  Status removed = store->Delete(context, key);
  int winner = -1;
  int winners = 0;
  for (int i = 0; i < kRacers; ++i) {
    if (outcomes[i].ok()) {
      winner = i;
      ++winners;
    } else if (CodeOf(outcomes[i]) != ErrorCode::kPreconditionFailed) {
      return WithContext(outcomes[i], "storage cannot be probed for conditional puts");
    }
  }
  if (winners != 1) {
    return Error(ErrorCode::kUnsupported,
                 "storage has no conditional put, writes are refused: of {} racing puts {} won, "
                 "exactly one must: {}",
                 kRacers, winners, store->description());
  }
  if (!stands.ok()) {
    return WithContext(stands.status(), "storage cannot be probed for conditional puts");
  }
  if ((*stands)->ToString() != std::to_string(winner)) {
    return Error(ErrorCode::kUnsupported,
                 "storage has no conditional put, writes are refused: a losing put replaced the "
                 "winner's bytes: {}",
                 store->description());
  }
  return removed;
}

}  // namespace lake::commit
