#pragma once

#include <atomic>
#include <memory>

namespace lake {

/// A flag that says "stop". Copies share it. Thread-safe; Cancel is async-signal-safe.
class CancelToken {
 public:
  CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}

  void Cancel() const { flag_->store(true, std::memory_order_release); }
  bool cancelled() const { return flag_->load(std::memory_order_acquire); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

}  // namespace lake
