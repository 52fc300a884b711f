#pragma once

#include <chrono>
#include <memory>

#include "lake/storage/testing/intercepted_store.h"

namespace lake::storage {

/// A store with the latency of a remote one: every call sleeps `latency` on the clock of its
/// context first, and gives up with the context's own error if that was cancelled or ran out of
/// time. Thread-safe.
class SlowStore : public InterceptedStore {
 public:
  SlowStore(std::shared_ptr<ObjectStore> inner, std::chrono::nanoseconds latency)
      : InterceptedStore(std::move(inner)), latency_(latency) {}

  Status Around(const Context& context, const StoreCall& call,
                const std::function<Status()>& effect) override {
    context.clock->SleepFor(latency_);
    // What finishes or cleans up must not be stopped half-way, as in any store.
    const bool finishing =
        call.operation == StoreOperation::kFinish || call.operation == StoreOperation::kPublish ||
        call.operation == StoreOperation::kSync || call.operation == StoreOperation::kDelete;
    if (!finishing) ARROW_RETURN_NOT_OK(context.Check());
    return effect();
  }

 private:
  const std::chrono::nanoseconds latency_;
};

}  // namespace lake::storage
