#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "lake/table/commit_queue_internal.h"

namespace lake::table {

namespace {

// How long a cancellation or a deadline may go unnoticed.
constexpr std::chrono::milliseconds kStep(20);
constexpr int64_t kHintNanos = 100'000'000;
// Tables whose last hint is remembered.
constexpr size_t kMaxHints = 1024;

struct Table {
  std::condition_variable freed;
  bool taken = false;
  /// Who has the turn, or waits for it.
  size_t users = 0;
};

struct Queues {
  // std::mutex, because threads wait with a timeout.
  std::mutex mutex;
  std::unordered_map<std::string, Table> tables;
};

Queues* ProcessQueues() {
  static auto* const queues = new Queues();
  return queues;
}

}  // namespace

Result<std::unique_ptr<CommitTurn>> CommitTurn::Take(const Context& context,
                                                     std::string store_identity) {
  if (!store_identity.empty()) {
    Queues* const queues = ProcessQueues();
    std::unique_lock<std::mutex> lock(queues->mutex);
    Table& table = queues->tables[store_identity];
    ++table.users;
    while (table.taken) {
      Status running = context.Check();
      if (!running.ok()) {
        // Whoever has the turn is one, too, and calls the next.
        --table.users;
        return running;
      }
      table.freed.wait_for(lock, kStep);
    }
    table.taken = true;
  }
  return std::unique_ptr<CommitTurn>(new CommitTurn(std::move(store_identity)));
}

CommitTurn::~CommitTurn() {
  if (identity_.empty()) return;
  Queues* const queues = ProcessQueues();
  std::lock_guard<std::mutex> lock(queues->mutex);
  Table& table = queues->tables[identity_];
  table.taken = false;
  if (--table.users == 0) {
    queues->tables.erase(identity_);
  } else {
    table.freed.notify_one();
  }
}

bool HintIsDue(const std::string& store_identity, int64_t now_nanos) {
  if (store_identity.empty()) return true;
  static std::mutex mutex;
  static auto* const last_by_store = new std::unordered_map<std::string, int64_t>();
  std::lock_guard<std::mutex> lock(mutex);
  // Forgetting costs a hint.
  if (last_by_store->size() >= kMaxHints) last_by_store->clear();
  const auto [last, is_new] = last_by_store->try_emplace(store_identity, now_nanos);
  const int64_t age = now_nanos - last->second;
  if (!is_new && age >= 0 && age < kHintNanos) return false;
  last->second = now_nanos;
  return true;
}

}  // namespace lake::table
