#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lake/base/context.h"
#include "lake/table/dataset.h"

namespace lake::table {

/// Rows of a version that follow each other both by stable row id and in their fragment, and were
/// last changed together.
struct LiveRun {
  uint64_t first_id;
  uint64_t count;
  RowAddress address;
  uint64_t last_updated_at;

  uint64_t end_id() const { return first_id + count; }
};

/// Where the rows of a version with stable row ids are: those that are not deleted, by id. Movable;
/// constant methods are thread-safe. Its runs come from the memory budget.
class LiveRows {
 public:
  /// Reads the deletion files, not the data. kUnsupported for a table without stable row ids,
  /// kCorrupt if an id occurs twice, kOutOfMemory if the budget does not hold the runs.
  static Result<LiveRows> Of(const Context& context, const Dataset& dataset);

  /// Ascending by id.
  const std::vector<LiveRun>& runs() const { return runs_; }

  /// The address of the row, or nothing if there is none (any more).
  std::optional<RowAddress> Find(uint64_t row_id) const;

 private:
  std::vector<LiveRun> runs_;
  MemoryReservation memory_;
};

/// The addresses of rows by `_rowid`: for Dataset::Take. Ids are the addresses in a table without
/// stable row ids. kNotFound names an id that has no row.
Result<std::vector<RowAddress>> AddressesOf(const Context& context, const Dataset& dataset,
                                            std::span<const uint64_t> row_ids);

}  // namespace lake::table
