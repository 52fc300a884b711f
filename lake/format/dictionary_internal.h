#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/block_decoder_internal.h"
#include "lake/format/leaf_type.h"

namespace arrow {
class Array;
}

namespace lake::format {

class LeafBuilder;

/// The distinct values of a dictionary page, decoded. Immutable.
class PageDictionary {
 public:
  /// Decodes `num_items` values of `type` from a block. kCorrupt if the block cannot hold them, or
  /// a string is not UTF-8.
  static Result<PageDictionary> DecodeFrom(const pb::CompressiveEncoding& encoding,
                                           std::string_view bytes, uint64_t num_items,
                                           const LeafType& type, arrow::MemoryPool* pool);

  /// Appends the values that `indices` name; a fixed-width or variable column comes out, never a
  /// dictionary. An index that is too large is kCorrupt, but under a null (a level above 0) it
  /// means nothing and is set to 0. `levels` is null if there is no null.
  Status Append(uint32_t* indices, const uint16_t* levels, uint64_t count,
                LeafBuilder* builder) const;

  /// The same for an Arrow dictionary column: appends keys, which are `numbers` of the values.
  /// kUnsupported if a number is too large for the column's keys.
  Status AppendKeys(uint32_t* indices, const uint16_t* levels, uint64_t count,
                    const std::vector<uint32_t>& numbers, LeafBuilder* builder) const;

  uint64_t num_items() const { return num_items_; }
  /// The bytes of value `i`. REQUIRES: i < num_items().
  std::string_view Item(uint32_t i) const;

  /// Appends `indices` themselves to a builder that takes them; checked in the same way.
  Status AppendIndices(uint32_t* indices, const uint16_t* levels, uint64_t count,
                       LeafBuilder* builder) const;

  /// The values as an Arrow array, of text and bytes with 32-bit offsets; null for others.
  const std::shared_ptr<arrow::Array>& array() const { return array_; }

  size_t MemoryUse() const;

 private:
  Status DecodeFixed(const pb::CompressiveEncoding& encoding, std::string_view bytes,
                     const LeafType& type, arrow::MemoryPool* pool);
  Status CheckIndices(uint32_t* indices, const uint16_t* levels, uint64_t count) const;
  template <typename Offset>
  Status AppendVariable(const uint32_t* indices, uint64_t count, LeafBuilder* builder) const;

  uint64_t num_items_ = 0;
  // Values of fixed width; a bool is a byte of 0 or 1.
  uint64_t width_ = 0;
  std::shared_ptr<arrow::Buffer> fixed_;
  VariableBlock variable_;
  std::shared_ptr<arrow::Array> array_;
};

}  // namespace lake::format
