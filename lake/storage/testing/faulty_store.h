#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/storage/testing/intercepted_store.h"

namespace lake::storage {

enum class Fault {
  kError,            ///< Nothing happens; the caller gets a retryable kIo error.
  kEffectThenError,  ///< The call happens; the caller gets a retryable kIo error all the same.
  kCrash,            ///< Nothing happens, and from now on every call fails with a kIo error.
  kEffectThenCrash,  ///< The call happens, its outcome is lost, and from now on every call fails.
};

/// All kinds, for sweeps.
inline constexpr Fault kAllFaults[] = {Fault::kError, Fault::kEffectThenError, Fault::kCrash,
                                       Fault::kEffectThenCrash};

/// Such as "effect then error". Static storage.
std::string_view FaultName(Fault fault);

/// A store that fails on command. Calls on its writers and staged objects count as calls. A real
/// error of the store below is passed on, fault or not. Thread-safe.
///
/// A sweep runs an operation once without fault to learn `calls()`, then once per call and fault on
/// a fresh store with FailCall. To look at what a crash left, open another store over the same one
/// below.
class FaultyStore : public InterceptedStore {
 public:
  using Predicate = std::function<bool(const StoreCall&)>;

  explicit FaultyStore(std::shared_ptr<ObjectStore> inner) : InterceptedStore(std::move(inner)) {}

  /// Puts `fault` on the call with this number, counted from 0 since the start or the last Reset.
  void FailCall(size_t number, Fault fault) LAKE_EXCLUDES(mutex_);

  /// Puts `fault` on the next `times` calls that match.
  void FailMatching(Predicate predicate, Fault fault, size_t times = 1) LAKE_EXCLUDES(mutex_);

  /// Takes all faults off, undoes a crash, forgets the calls.
  void Reset() LAKE_EXCLUDES(mutex_);

  /// The calls in the order in which they began.
  std::vector<StoreCall> calls() const LAKE_EXCLUDES(mutex_);

  /// How many calls met a fault, not counting those after a crash.
  size_t num_injected() const LAKE_EXCLUDES(mutex_);

  bool crashed() const LAKE_EXCLUDES(mutex_);

  Status Around(const Context& context, const StoreCall& call,
                const std::function<Status()>& effect) override LAKE_EXCLUDES(mutex_);

 private:
  struct Rule {
    /// One of the two: a number, or a predicate.
    std::optional<size_t> number;
    Predicate predicate;
    Fault fault;
    size_t times;
  };

  /// The fault for `call`, which is the last of `calls_`.
  std::optional<Fault> NextFault(const StoreCall& call) LAKE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::vector<StoreCall> calls_ LAKE_GUARDED_BY(mutex_);
  std::vector<Rule> rules_ LAKE_GUARDED_BY(mutex_);
  size_t num_injected_ LAKE_GUARDED_BY(mutex_) = 0;
  bool crashed_ LAKE_GUARDED_BY(mutex_) = false;
};

}  // namespace lake::storage
