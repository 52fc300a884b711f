#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"
#include "lake/table/commit.h"

namespace lake::table {

/// The operation id that all operations here carry.
inline constexpr char kSweptOperationId[] = "swept operation";

/// An operation that makes a version of a table of SmallSchema, for tests that hold for every one.
struct TableOperation {
  const char* name;
  /// Makes the table in an empty store. Fails the test if it cannot.
  std::function<void(const Context&, std::shared_ptr<storage::ObjectStore>)> prepare;
  /// Works the operation out on version 1 and commits it. With `replay_base` as a replay.
  std::function<Result<CommitResult>(const Context&, std::shared_ptr<storage::ObjectStore>,
                                     std::optional<uint64_t> replay_base)>
      run;
  /// What a replay starts its search from.
  uint64_t base_version;
};

/// One of each kind, some also behind what another program committed meanwhile.
std::span<const TableOperation> TableOperations();
const TableOperation& FindTableOperation(std::string_view name);

}  // namespace lake::table
