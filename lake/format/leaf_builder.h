#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

#include "lake/base/error.h"
#include "lake/format/dictionary_union.h"
#include "lake/format/leaf_type.h"
#include "lake/format/nesting_builder.h"
#include "lake/format/validity_builder.h"

namespace arrow {
struct ArrayData;
}

namespace lake::format {

/// The Arrow buffers of one leaf column while pages are decoded into them, and of the layers around
/// it. Decoders append values and validity for the same rows, in any order of the two. Not
/// thread-safe.
class LeafBuilder {
 public:
  /// Bytes behind variable_end() that may be overwritten by wide copies.
  static constexpr size_t kSlack = 32;

  /// A leaf without lists around it has `num_rows` values, and room for them at once; with lists it
  /// grows (ReserveValues).
  static Result<LeafBuilder> Make(const LeafType& type, const Nesting& nesting, uint64_t num_rows,
                                  arrow::MemoryPool* pool);

  const LeafType& type() const { return type_; }
  arrow::MemoryPool* pool() const { return pool_; }
  /// Values so far.
  uint64_t rows() const { return rows_; }

  ValidityBuilder& validity() { return validity_; }
  /// Of the items of a kList, by level of lists from the outside in.
  ValidityBuilder& item_validity(size_t level) { return item_validity_[level]; }
  NestingBuilder& nesting() { return nesting_; }
  /// Of the parts of a packed struct.
  std::vector<LeafBuilder>& parts() { return parts_; }
  /// Of a kDictionary.
  DictionaryUnion& dictionary() { return *dictionary_; }

  /// Makes room for `count` more values; needed before they are appended only if there are lists
  /// around the leaf.
  Status ReserveValues(uint64_t count);

  /// True if the column is of indices into a page's dictionary (uint32) instead of its values.
  bool takes_indices() const { return takes_indices_; }
  void set_takes_indices(bool takes_indices) { takes_indices_ = takes_indices; }

  /// Fixed width: room for `count` more values of whole bytes; the caller fills all of it.
  /// REQUIRES: a kind of fixed width, value_bits % 8 == 0, room for `count` values.
  uint8_t* AppendFixed(uint64_t count);
  /// Fixed width of any number of bits: `count` values from bit `offset` of `bits`.
  void AppendBits(const uint8_t* bits, uint64_t offset, uint64_t count);
  /// Takes `values` as the values of all rows instead of copying them, if they can be: nothing was
  /// appended yet, and they are exactly those of capacity() rows. REQUIRES: as AppendFixed.
  bool AdoptFixed(std::shared_ptr<arrow::Buffer> values);
  /// `count` values of zero bits, or of zero length.
  void AppendZeros(uint64_t count);
  /// `count` times the same value of value_bits bits.
  void AppendRepeated(const uint8_t* value, uint64_t count);

  /// Variable width: makes sure that `bytes` more bytes (and kSlack) can be written at
  /// variable_end(). kInvalidArgument if the column would pass what its offsets can hold.
  Status ReserveBytes(uint64_t bytes);
  uint64_t variable_size() const { return variable_size_; }
  uint8_t* variable_end() { return variable_->mutable_data() + variable_size_; }
  /// The offsets' slots for `count` more values: the caller writes the *end* of each value,
  /// relative to the column, to [0, count), then calls CommitVariable. REQUIRES: Offset matches
  /// offset_bits.
  template <typename Offset>
  Offset* NextEnds() {
    return reinterpret_cast<Offset*>(values_->mutable_data()) + rows_ + 1;
  }
  /// Counts `count` values, whose bytes end at `variable_size` from the column's start.
  void CommitVariable(uint64_t count, uint64_t variable_size);
  /// Appends the same bytes `count` times.
  Status AppendRepeatedBytes(std::string_view value, uint64_t count);
  /// Appends one value of these bytes.
  Status AppendBytes(std::string_view value) { return AppendRepeatedBytes(value, 1); }
  /// Counts `count` values that the parts of a packed struct were given.
  void CommitParts(uint64_t count) { rows_ += count; }

  /// All items of `count` values of a kList are valid.
  Status AppendItemsValid(uint64_t count);

  /// kCorrupt unless the values from row `first` on are UTF-8.
  Status CheckText(uint64_t first) const;

  /// The finished column.
  Result<std::shared_ptr<arrow::ArrayData>> Finish();

 private:
  std::shared_ptr<arrow::Buffer> FixedValues() const;
  Result<std::shared_ptr<arrow::ArrayData>> FinishList();
  Result<std::shared_ptr<arrow::ArrayData>> FinishParts();

  LeafType type_;
  arrow::MemoryPool* pool_ = nullptr;
  bool grows_ = false;
  uint64_t capacity_ = 0;
  uint64_t rows_ = 0;
  bool takes_indices_ = false;
  // Values of fixed width, or offsets.
  std::shared_ptr<arrow::ResizableBuffer> values_;
  // In place of values_.
  std::shared_ptr<arrow::Buffer> adopted_;
  std::shared_ptr<arrow::ResizableBuffer> variable_;
  uint64_t variable_size_ = 0;
  ValidityBuilder validity_;
  std::vector<ValidityBuilder> item_validity_;
  NestingBuilder nesting_;
  std::vector<LeafBuilder> parts_;
  std::optional<DictionaryUnion> dictionary_;
};

}  // namespace lake::format
