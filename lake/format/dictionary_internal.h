#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "lake/base/error.h"
#include "lake/format/block_decoder_internal.h"
#include "lake/format/leaf_builder.h"

namespace lake::format {

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

  size_t MemoryUse() const;

 private:
  Status CheckIndices(uint32_t* indices, const uint16_t* levels, uint64_t count) const;
  template <typename Offset>
  Status AppendVariable(const uint32_t* indices, uint64_t count, LeafBuilder* builder) const;

  uint64_t num_items_ = 0;
  // Values of fixed width.
  std::shared_ptr<arrow::Buffer> fixed_;
  VariableBlock variable_;
};

}  // namespace lake::format
