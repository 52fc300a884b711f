#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "lake/base/context.h"
#include "lake/table/dataset.h"
#include "lake/table/deletion_vector.h"

struct roaring_bitmap_s;

namespace lake::table {

/// Rows of a table by fragment, while they are found one by one in any order. A row takes two bytes
/// at most, and one bit where many lie close together; they come from the context's budget. Not
/// thread-safe.
class RowCollector {
 public:
  /// `purpose`, such as "rows to be deleted", is for errors.
  RowCollector(const Context& context, const char* purpose);
  ~RowCollector();

  RowCollector(const RowCollector&) = delete;
  RowCollector& operator=(const RowCollector&) = delete;

  /// kOutOfMemory if the budget does not hold them.
  Status Add(std::span<const RowAddress> addresses);

  /// Rows that were added; one that came twice counts twice.
  uint64_t num_added() const { return num_added_; }

  /// The rows by fragment id, each once. Nothing is left in here.
  std::map<uint64_t, DeletionVector> Take();

 private:
  struct FreeBitmap {
    void operator()(roaring_bitmap_s* bitmap) const;
  };
  struct Collected {
    std::unique_ptr<roaring_bitmap_s, FreeBitmap> rows;
    uint64_t bytes = 0;
  };

  Status AddTo(Collected* collected, std::span<const RowAddress> addresses);

  const std::shared_ptr<MemoryBudget> budget_;
  const char* const purpose_;
  MemoryReservation reservation_;
  std::map<uint64_t, Collected> fragments_;
  uint64_t num_added_ = 0;
  uint64_t num_bytes_ = 0;
};

}  // namespace lake::table
