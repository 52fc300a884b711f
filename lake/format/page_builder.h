#pragma once

#include <cstdint>
#include <string>

#include "lake/base/error.h"
#include "lake/format/page_data.h"

namespace arrow {
class Array;
class DataType;
class StructArray;
}  // namespace arrow

namespace lake::format {

/// The memory form of a leaf of Arrow type `type`, one that LogicalType() accepts and no struct.
ValueShape ValueShapeOf(const arrow::DataType& type);

/// Copies rows of one leaf out of Arrow arrays until they are enough for a page. Copying is what
/// frees the writer from the arrays: a slice is charged by its own rows, and no parent stays alive.
/// Not thread-safe. May throw std::bad_alloc.
class PageBuilder {
 public:
  explicit PageBuilder(ValueShape type) : type_(type) {}

  const ValueShape& type() const { return type_; }
  const PageData& page() const { return page_; }
  bool empty() const { return page_.num_rows == 0; }
  size_t MemoryUse() const { return page_.MemoryUse(); }

  /// How many of the rows [start, end) of `array` fit before the page holds `limit` bytes; at least
  /// one if the page is empty. 0 means: take the page first.
  int64_t RowsThatFit(const arrow::Array& array, int64_t start, int64_t end, size_t limit) const;

  /// Appends `count` rows from `start`. `parent` is the struct around the leaf, or null; its rows
  /// are those of `array`. REQUIRES: the values of a page stay below 4 GiB (RowsThatFit sees to
  /// that).
  void Append(const arrow::Array& array, const arrow::StructArray* parent, int64_t start,
              int64_t count);

  /// Hands the rows over and starts the next page.
  PageData Take();

 private:
  void AppendStates(const arrow::Array& array, const arrow::StructArray* parent, int64_t start,
                    int64_t count);
  void AppendFixed(const arrow::Array& array, int64_t start, int64_t count);
  template <typename Offset>
  void AppendVariable(const arrow::Array& array, int64_t start, int64_t count);
  void AppendLists(const arrow::Array& array, int64_t start, int64_t count);
  void AppendItemValidity(const arrow::Array& items, int64_t first_item, int64_t count);

  const ValueShape type_;
  PageData page_;
  size_t last_values_bytes_ = 0;
  size_t last_offsets_bytes_ = 0;
};

}  // namespace lake::format
