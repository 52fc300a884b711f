#include "lake/storage/testing/faulty_store.h"

#include <utility>

namespace lake::storage {
namespace {

bool Happens(Fault fault) {
  return fault == Fault::kEffectThenError || fault == Fault::kEffectThenCrash;
}

bool IsCrash(Fault fault) { return fault == Fault::kCrash || fault == Fault::kEffectThenCrash; }

Status CrashError(const StoreCall& call) {
  return Error(ErrorCode::kIo, "injected crash: {}", call.ToString());
}

}  // namespace

std::string_view FaultName(Fault fault) {
  switch (fault) {
    case Fault::kError:
      return "error";
    case Fault::kEffectThenError:
      return "effect then error";
    case Fault::kCrash:
      return "crash";
    case Fault::kEffectThenCrash:
      return "effect then crash";
  }
  return "unknown";
}

void FaultyStore::FailCall(size_t number, Fault fault) {
  MutexLock lock(&mutex_);
  rules_.push_back({number, nullptr, fault, 1});
}

void FaultyStore::FailMatching(Predicate predicate, Fault fault, size_t times) {
  MutexLock lock(&mutex_);
  rules_.push_back({std::nullopt, std::move(predicate), fault, times});
}

void FaultyStore::Reset() {
  MutexLock lock(&mutex_);
  calls_.clear();
  rules_.clear();
  num_injected_ = 0;
  crashed_ = false;
}

std::vector<StoreCall> FaultyStore::calls() const {
  MutexLock lock(&mutex_);
  return calls_;
}

size_t FaultyStore::num_injected() const {
  MutexLock lock(&mutex_);
  return num_injected_;
}

bool FaultyStore::crashed() const {
  MutexLock lock(&mutex_);
  return crashed_;
}

std::optional<Fault> FaultyStore::NextFault(const StoreCall& call) {
  const size_t number = calls_.size() - 1;
  for (Rule& rule : rules_) {
    if (rule.times == 0) continue;
    if (rule.number.has_value() ? *rule.number != number : !rule.predicate(call)) continue;
    --rule.times;
    ++num_injected_;
    return rule.fault;
  }
  return std::nullopt;
}

Status FaultyStore::Around(const Context& context, const StoreCall& call,
                           const std::function<Status()>& effect) {
  std::optional<Fault> fault;
  {
    MutexLock lock(&mutex_);
    if (crashed_) return CrashError(call);
    calls_.push_back(call);
    fault = NextFault(call);
    if (fault.has_value() && IsCrash(*fault)) crashed_ = true;
  }
  if (!fault.has_value() || Happens(*fault)) {
    Status status = effect();
    if (!status.ok() || !fault.has_value()) return status;
  }
  if (IsCrash(*fault)) return CrashError(call);
  return RetryableError(ErrorCode::kIo, "injected error: {}", call.ToString());
}

}  // namespace lake::storage
