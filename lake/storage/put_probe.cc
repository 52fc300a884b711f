#include "lake/storage/put_probe.h"

#include <barrier>
#include <thread>
#include <utility>

#include <arrow/buffer.h>

#include "lake/base/uuid.h"

namespace lake::storage {
namespace {

constexpr size_t kRacers = 8;
constexpr uint64_t kMaxProbeBytes = 1024;

std::string BytesOf(size_t racer) { return fmt::format("racer {}", racer); }

std::vector<Status> Race(const Context& context, ObjectStore* store, const std::string& key) {
  std::vector<Status> outcomes(kRacers);
  std::barrier start(kRacers);
  std::vector<std::thread> racers;
  racers.reserve(kRacers);
  for (size_t i = 0; i < kRacers; ++i) {
    racers.emplace_back([&, i] {
      start.arrive_and_wait();
      outcomes[i] = store->Put(context, key, BytesOf(i), PutCondition::kIfAbsent);
    });
  }
  for (std::thread& racer : racers) racer.join();
  return outcomes;
}

Status Judge(const Context& context, ObjectStore* store, const std::string& key,
             const std::vector<Status>& outcomes) {
  size_t num_winners = 0;
  size_t winner = 0;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].ok()) {
      ++num_winners;
      winner = i;
    } else if (CodeOf(outcomes[i]) != ErrorCode::kPreconditionFailed) {
      return WithContext(outcomes[i], "cannot probe conditional writes");
    }
  }
  if (num_winners == 1) {
    ARROW_ASSIGN_OR_RAISE(auto bytes, store->GetAll(context, key, kMaxProbeBytes));
    if (bytes->ToString() == BytesOf(winner)) return Status::OK();
  }
  return Error(ErrorCode::kUnsupported,
               "the storage does not honour conditional writes, so commits would overwrite each "
               "other: {} of {} racing writers won; use another storage: {}",
               num_winners, kRacers, store->description());
}

}  // namespace

Status ProbeConditionalPut(const Context& context, ObjectStore* store, const std::string& prefix) {
  const std::string key = prefix + "/lake-probe-" + Uuid::NewV4(context).ToString();
  const std::vector<Status> outcomes = Race(context, store, key);
  Status verdict = Judge(context, store, key, outcomes);
  Status removed = store->Delete(context, key);
  return verdict.ok() ? WithContext(std::move(removed), "cannot remove the probe") : verdict;
}

}  // namespace lake::storage
