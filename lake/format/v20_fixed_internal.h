#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "lake/base/error.h"
#include "lake/format/array_encodings.pb.h"
#include "lake/format/page_decoder_internal.h"
#include "lake/format/row_selection.h"
#include "lake/format/v20_array_internal.h"

namespace lake::format {

/// Values of fixed width in one buffer of a 2.0 page, however they are packed: flat, bit-packed
/// one after the other, or in blocks. Used by one thread, once.
class V20FixedValues {
 public:
  /// kUnsupported, by name, for an encoding that is not of fixed width.
  static Result<V20FixedValues> Make(const V20PageContext& context,
                                     const pb::ArrayEncoding& encoding);

  /// Bits of a decoded value: 1, or a multiple of 8.
  uint64_t bits() const { return bits_; }

  /// Asks for `values`. kCorrupt if the buffer does not hold them.
  Status Plan(const RowSelection& values, RangeReads* reads);

  /// The planned values back to back, bits() each; bits behind the last one are zero.
  Result<std::shared_ptr<arrow::Buffer>> Decode(const RangeReads& reads) const;

 private:
  enum class Packing { kFlat, kBits, kBlocks };

  // First byte, end byte of a range of values in the buffer.
  ByteRange Place(const RowRange& range) const;
  Result<std::shared_ptr<arrow::Buffer>> Decompress(std::string_view bytes) const;
  Status DecodeRange(std::string_view bytes, const RowRange& range, uint64_t at,
                     uint8_t* out) const;

  Packing packing_ = Packing::kFlat;
  uint64_t bits_ = 0;
  // Bits of a value in the buffer.
  uint64_t packed_bits_ = 0;
  bool is_signed_ = false;
  bool compressed_ = false;
  std::string scheme_;
  ByteRange buffer_;
  arrow::MemoryPool* pool_ = nullptr;
  RowSelection values_;
  // Numbers of the reads: one per range, or one for the whole buffer.
  std::vector<size_t> reads_;
};

}  // namespace lake::format
