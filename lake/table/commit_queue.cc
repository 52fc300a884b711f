#include <unordered_map>
#include <utility>

#include "lake/base/mutex.h"
#include "lake/table/commit_queue_internal.h"

namespace lake::table {

namespace {

struct Table {
  CondVar freed;
  bool taken = false;
  /// Who has the turn, or waits for it.
  size_t users = 0;
};

struct Queues {
  Mutex mutex;
  std::unordered_map<std::string, Table> tables LAKE_GUARDED_BY(mutex);
};

Queues* ProcessQueues() {
  static auto* const queues = new Queues();
  return queues;
}

}  // namespace

CommitTurn::CommitTurn(std::string store_identity) : identity_(std::move(store_identity)) {
  if (identity_.empty()) return;
  Queues* const queues = ProcessQueues();
  MutexLock lock(&queues->mutex);
  Table& table = queues->tables[identity_];
  ++table.users;
  while (table.taken) table.freed.Wait(&queues->mutex);
  table.taken = true;
}

CommitTurn::~CommitTurn() {
  if (identity_.empty()) return;
  Queues* const queues = ProcessQueues();
  MutexLock lock(&queues->mutex);
  Table& table = queues->tables[identity_];
  table.taken = false;
  if (--table.users == 0) {
    queues->tables.erase(identity_);
  } else {
    table.freed.Signal();
  }
}

}  // namespace lake::table
