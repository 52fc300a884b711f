#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lake/base/error.h"

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace lake::table {

/// The keys of a batch's rows in a form that is quick to compare: one number where the key is one
/// column of at most 64 bits, else bytes.
class MergeKeys {
 public:
  /// kUnsupported for a type that cannot be a key (`name` in the text): lists, structs, maps.
  static Status CheckType(const arrow::DataType& type, const std::string& name);

  /// All columns have one length and pass CheckType.
  static Result<MergeKeys> Of(const std::vector<std::shared_ptr<arrow::Array>>& columns);

  size_t size() const { return is_null_.size(); }
  /// A part of the key is null: it equals nothing.
  bool IsNull(size_t row) const { return is_null_[row] != 0; }
  uint64_t Hash(size_t row) const {
    uint64_t hash = is_number_ ? numbers_[row] : HashOfBytes(row);
    // The finish of a known 64-bit mixer: numbers in a row spread over the table.
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93;
    hash ^= hash >> 32;
    return hash;
  }
  /// REQUIRES: both were made of columns of the same types.
  bool Equals(size_t row, const MergeKeys& other, size_t other_row) const {
    return is_number_ ? numbers_[row] == other.numbers_[other_row]
                      : Bytes(row) == other.Bytes(other_row);
  }
  /// Memory that it takes.
  uint64_t num_bytes() const {
    return is_null_.size() + numbers_.size() * 8 + ends_.size() * 8 + arena_.size();
  }

 private:
  std::string_view Bytes(size_t row) const {
    const uint64_t start = row == 0 ? 0 : ends_[row - 1];
    return std::string_view(arena_).substr(start, ends_[row] - start);
  }
  uint64_t HashOfBytes(size_t row) const;

  bool is_number_ = false;
  std::vector<uint8_t> is_null_;
  std::vector<uint64_t> numbers_;
  std::string arena_;
  std::vector<uint64_t> ends_;
};

/// Finds rows by key. Immutable, thread-safe.
class MergeTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// REQUIRES: keys.size() < 2^31.
  explicit MergeTable(MergeKeys keys);

  /// The row with that key, or kNone; the last one if there are several.
  uint32_t Find(const MergeKeys& keys, size_t row) const {
    if (keys.IsNull(row)) return kNone;
    // Most rows of a table have no partner, and their hashes no bit.
    const uint64_t hash = keys.Hash(row);
    const uint64_t bit = hash >> filter_shift_;
    return (filter_[bit / 64] >> (bit % 64) & 1) != 0 ? FindSlot(keys, row, hash) : kNone;
  }
  /// True if other rows have the same key.
  bool IsAmbiguous(uint32_t row) const { return ambiguous_[row] != 0; }
  /// Sets the marks of all rows whose key has one on the row that Find gives.
  void SpreadMarks(std::vector<uint8_t>* marks) const;

 private:
  uint32_t FindSlot(const MergeKeys& keys, size_t row, uint64_t hash) const;

  const MergeKeys keys_;
  /// Row + 1; 0 is free. The low bits of a hash choose the slot.
  std::vector<uint32_t> slots_;
  /// Set where the high bits of a key's hash point to: about 20 bits for each key.
  std::vector<uint64_t> filter_;
  int filter_shift_ = 0;
  std::vector<uint8_t> ambiguous_;
};

}  // namespace lake::table
