#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lake/base/mutex.h"
#include "lake/catalog/metastore.h"

namespace lake::catalog {

enum class MetastoreFault {
  kError,            ///< Nothing happens; the caller gets a kIo error.
  kEffectThenError,  ///< The call happens; the caller gets a kIo error all the same.
  kCrash,            ///< Nothing happens, and from now on every call fails.
  kEffectThenCrash,  ///< The call happens, its outcome is lost, and from now on every call fails.
};

inline constexpr MetastoreFault kAllMetastoreFaults[] = {
    MetastoreFault::kError, MetastoreFault::kEffectThenError, MetastoreFault::kCrash,
    MetastoreFault::kEffectThenCrash};

/// A metastore that fails on command, to sweep an operation over all its calls. Views are not
/// counted and never fail. Thread-safe.
class FaultyMetastore : public Metastore {
 public:
  explicit FaultyMetastore(std::shared_ptr<Metastore> inner) : inner_(std::move(inner)) {}

  /// Puts `fault` on the call with this number, counted from 0 since the start or the last Reset.
  void FailCall(size_t number, MetastoreFault fault) {
    MutexLock lock(&mutex_);
    target_ = number;
    fault_ = fault;
  }
  /// Takes the fault off, undoes a crash, forgets the calls.
  void Reset() {
    MutexLock lock(&mutex_);
    target_.reset();
    crashed_ = false;
    calls_.clear();
  }
  /// Names of the calls since the start or the last Reset.
  std::vector<std::string> calls() const {
    MutexLock lock(&mutex_);
    return calls_;
  }

  std::unique_ptr<View> ViewFor(const Principal& principal) override {
    return inner_->ViewFor(principal);
  }
  Result<uint64_t> Generation(const Context& context) override {
    return inner_->Generation(context);
  }
  Status CreateNamespace(const Context& context, const std::string& name) override {
    return Around<Status>("create namespace",
                          [&] { return inner_->CreateNamespace(context, name); });
  }
  Status DropNamespace(const Context& context, const std::string& name) override {
    return Around<Status>("drop namespace", [&] { return inner_->DropNamespace(context, name); });
  }
  Result<Entry> BeginCreate(const Context& context, const Entry& entry, int64_t lease) override {
    return Around<Result<Entry>>("begin create",
                                 [&] { return inner_->BeginCreate(context, entry, lease); });
  }
  Result<Entry> RenewCreate(const Context& context, const Entry& entry, int64_t lease) override {
    return Around<Result<Entry>>("renew create",
                                 [&] { return inner_->RenewCreate(context, entry, lease); });
  }
  Status FinishCreate(const Context& context, const Entry& entry, const Uuid& first) override {
    return Around<Status>("finish create",
                          [&] { return inner_->FinishCreate(context, entry, first); });
  }
  Status AbandonCreate(const Context& context, const Entry& entry) override {
    return Around<Status>("abandon create", [&] { return inner_->AbandonCreate(context, entry); });
  }
  Result<std::vector<Entry>> ExpiredCreates(const Context& context) override {
    return Around<Result<std::vector<Entry>>>("expired creates",
                                              [&] { return inner_->ExpiredCreates(context); });
  }
  Status Drop(const Context& context, const Entry& entry, int64_t purge_after) override {
    return Around<Status>("drop", [&] { return inner_->Drop(context, entry, purge_after); });
  }
  Result<Entry> Undrop(const Context& context, const Uuid& incarnation,
                       const QualifiedName& name) override {
    return Around<Result<Entry>>("undrop",
                                 [&] { return inner_->Undrop(context, incarnation, name); });
  }
  Result<Entry> Rename(const Context& context, const Entry& entry,
                       const QualifiedName& name) override {
    return Around<Result<Entry>>("rename", [&] { return inner_->Rename(context, entry, name); });
  }
  Status AdvanceHint(const Context& context, const Uuid& incarnation, uint64_t version) override {
    return Around<Status>("advance hint",
                          [&] { return inner_->AdvanceHint(context, incarnation, version); });
  }
  Result<BegunOperation> BeginOperation(const Context& context,
                                        const OperationRecord& record) override {
    return Around<Result<BegunOperation>>("begin operation",
                                          [&] { return inner_->BeginOperation(context, record); });
  }
  Status RestartOperation(const Context& context, const Uuid& buried,
                          const OperationRecord& record) override {
    return Around<Status>("restart operation",
                          [&] { return inner_->RestartOperation(context, buried, record); });
  }
  Result<OperationRecord> FindOperation(const Context& context, const std::string& id) override {
    return Around<Result<OperationRecord>>("find operation",
                                           [&] { return inner_->FindOperation(context, id); });
  }
  Result<std::vector<OperationRecord>> OpenOperations(const Context& context,
                                                      const Uuid& incarnation) override {
    return Around<Result<std::vector<OperationRecord>>>(
        "open operations", [&] { return inner_->OpenOperations(context, incarnation); });
  }
  Status FinishOperation(const Context& context, const std::string& id, uint64_t version,
                         uint64_t rows) override {
    return Around<Status>("finish operation",
                          [&] { return inner_->FinishOperation(context, id, version, rows); });
  }
  Result<Whereabouts> FindIncarnation(const Context& context, const Uuid& incarnation) override {
    return Around<Result<Whereabouts>>(
        "find incarnation", [&] { return inner_->FindIncarnation(context, incarnation); });
  }

 private:
  template <typename Outcome>
  Outcome Around(const char* name, const std::function<Outcome()>& call) {
    std::optional<MetastoreFault> fault = NextFault(name);
    if (!fault.has_value()) return call();
    if (*fault == MetastoreFault::kEffectThenError || *fault == MetastoreFault::kEffectThenCrash) {
      Outcome outcome = call();
      if (!outcome.ok()) return outcome;
    }
    return Error(ErrorCode::kIo, "injected fault of the metastore: {}", name);
  }

  std::optional<MetastoreFault> NextFault(const char* name) {
    MutexLock lock(&mutex_);
    const size_t number = calls_.size();
    calls_.emplace_back(name);
    if (crashed_) return MetastoreFault::kCrash;
    if (target_ != number) return std::nullopt;
    crashed_ = fault_ == MetastoreFault::kCrash || fault_ == MetastoreFault::kEffectThenCrash;
    return fault_;
  }

  const std::shared_ptr<Metastore> inner_;
  mutable Mutex mutex_;
  std::vector<std::string> calls_ LAKE_GUARDED_BY(mutex_);
  std::optional<size_t> target_ LAKE_GUARDED_BY(mutex_);
  MetastoreFault fault_ LAKE_GUARDED_BY(mutex_) = MetastoreFault::kError;
  bool crashed_ LAKE_GUARDED_BY(mutex_) = false;
};

}  // namespace lake::catalog
