#pragma once

#include <cstdint>

#include "lake/format/dictionary_merger.h"
#include "lake/format/leaf_path.h"
#include "lake/format/page_data.h"
#include "lake/format/row_levels.h"

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace lake::format {

/// The memory form of a leaf of Arrow type `type`, one that LogicalType() accepts and that has no
/// child fields.
ValueShape ValueShapeOf(const arrow::DataType& type);

/// Copies rows of one leaf out of Arrow arrays until they are enough for a page. Copying is what
/// frees the writer from the arrays: a slice is charged by its own rows, and no parent stays alive.
/// Not thread-safe. May throw std::bad_alloc.
class PageBuilder {
 public:
  /// `shape` outlives this object. A page with null or empty lists has at most `most_levels`
  /// levels, because one chunk may have to hold them all; unless one row has more. A page that is
  /// well on its way is given memory for `usual_bytes`.
  explicit PageBuilder(const ValueShape& shape, size_t most_levels = SIZE_MAX,
                       size_t usual_bytes = 0)
      : shape_(shape), most_levels_(most_levels), usual_bytes_(usual_bytes), merger_(shape) {}

  const ValueShape& shape() const { return shape_; }
  const PageData& page() const { return page_; }
  bool empty() const { return page_.num_rows == 0; }
  size_t MemoryUse() const { return page_.MemoryUse(); }

  /// How many of the rows [start, end) fit before the page holds `limit` bytes; at least one if the
  /// page is empty. 0 means: take the page first.
  int64_t RowsThatFit(const LeafRows& rows, int64_t start, int64_t end, size_t limit) const;

  /// Bytes that the rows [start, end) add to a page, levels apart.
  uint64_t BytesOf(const LeafRows& rows, int64_t start, int64_t end) const;

  /// How many levels may be added by rows that have, with or without `specials`, null or empty
  /// lists.
  size_t LevelRoom(bool specials) const;

  /// Appends `num_rows` rows, whose levels are `levels`. REQUIRES: the values of a page stay below
  /// 4 GiB (RowsThatFit sees to that).
  void Append(const arrow::Array& leaf, const RowLevels& levels, int64_t num_rows);

  /// Hands the rows over and starts the next page.
  PageData Take();

 private:
  uint64_t EntryBytes(const arrow::Array& leaf, int64_t count) const;
  void ReserveMemory();
  void AppendStates(const RowLevels& levels);
  void AppendFixed(const arrow::Array& array, int64_t start, int64_t count);
  template <typename Offset>
  void AppendVariable(const arrow::Array& array, int64_t start, int64_t count);
  void AppendLists(const arrow::Array& array, int64_t start, int64_t count);
  void AppendItemValidity(size_t dimension, size_t items_per_value, const arrow::Array& items,
                          int64_t first_item, int64_t count);
  const uint8_t* StatesFrom(size_t value) const;

  const ValueShape& shape_;
  const size_t most_levels_;
  const size_t usual_bytes_;
  DictionaryMerger merger_;
  PageData page_;
  // Whether memory was taken for the rest of the page.
  bool has_room_ = false;
  size_t last_values_bytes_ = 0;
  size_t last_offsets_bytes_ = 0;
};

}  // namespace lake::format
