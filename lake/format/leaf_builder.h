#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

#include "lake/base/error.h"
#include "lake/format/leaf_type.h"

namespace arrow {
struct ArrayData;
}

namespace lake::format {

/// A validity bitmap that exists only once there is something to say: until the first null it is a
/// count. Not thread-safe.
class ValidityBuilder {
 public:
  ValidityBuilder() = default;
  /// For `capacity` bits at most.
  ValidityBuilder(uint64_t capacity, arrow::MemoryPool* pool) : capacity_(capacity), pool_(pool) {}

  void AppendValid(uint64_t count);
  Status AppendNulls(uint64_t count);
  /// Bit i is valid if levels[i] < threshold.
  Status AppendLevels(const uint16_t* levels, uint64_t count, uint16_t threshold);
  /// `count` bits from bit `offset` of `bits`, 1 = valid.
  Status AppendBits(const uint8_t* bits, uint64_t offset, uint64_t count);

  /// Null if every bit is valid.
  const std::shared_ptr<arrow::Buffer>& buffer() const { return buffer_; }

 private:
  Status Materialize();

  uint64_t capacity_ = 0;
  uint64_t size_ = 0;
  arrow::MemoryPool* pool_ = nullptr;
  std::shared_ptr<arrow::Buffer> buffer_;
};

/// The Arrow buffers of one leaf column while pages are decoded into them, sized for the wanted
/// rows when it is made. Decoders append values and validity for the same rows, in any order of the
/// two. Not thread-safe.
class LeafBuilder {
 public:
  /// Bytes behind variable_end() that may be overwritten by wide copies.
  static constexpr size_t kSlack = 32;

  /// For `num_rows` rows. With `with_parent` the validity of the struct around the leaf is built as
  /// well.
  static Result<LeafBuilder> Make(const LeafType& type, uint64_t num_rows, bool with_parent,
                                  arrow::MemoryPool* pool);

  const LeafType& type() const { return type_; }
  arrow::MemoryPool* pool() const { return pool_; }
  /// Rows that have values so far.
  uint64_t rows() const { return rows_; }
  uint64_t capacity() const { return capacity_; }

  ValidityBuilder& validity() { return validity_; }
  ValidityBuilder& parent_validity() { return parent_validity_; }
  /// Of the items of a kList.
  ValidityBuilder& item_validity() { return item_validity_; }
  bool with_parent() const { return with_parent_; }

  /// Fixed width: room for `count` more values of whole bytes; the caller fills all of it.
  /// REQUIRES: kind is not kVariable, value_bits % 8 == 0, rows() + count <= capacity().
  uint8_t* AppendFixed(uint64_t count);
  /// Fixed width of any number of bits: `count` values from bit `offset` of `bits`.
  void AppendBits(const uint8_t* bits, uint64_t offset, uint64_t count);
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

  /// kCorrupt unless the values from row `first` on are UTF-8.
  Status CheckText(uint64_t first) const;

  /// The finished column. REQUIRES: rows() == capacity().
  Result<std::shared_ptr<arrow::ArrayData>> Finish();

 private:
  LeafType type_;
  arrow::MemoryPool* pool_ = nullptr;
  uint64_t capacity_ = 0;
  uint64_t rows_ = 0;
  bool with_parent_ = false;
  // Values of fixed width, or offsets.
  std::shared_ptr<arrow::Buffer> values_;
  std::shared_ptr<arrow::ResizableBuffer> variable_;
  uint64_t variable_size_ = 0;
  ValidityBuilder validity_;
  ValidityBuilder parent_validity_;
  ValidityBuilder item_validity_;
};

}  // namespace lake::format
