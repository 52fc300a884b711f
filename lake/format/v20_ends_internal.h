#pragma once

#include <cstdint>
#include <memory>

#include <arrow/type_fwd.h>

#include "lake/base/error.h"
#include "lake/format/array_encodings.pb.h"
#include "lake/format/page_decoder_internal.h"
#include "lake/format/row_selection.h"
#include "lake/format/v20_array_internal.h"
#include "lake/format/v20_fixed_internal.h"

namespace lake::format {

/// Arrow's offsets and validity of wanted lists or strings, filled page by page. A plain value.
class V20Offsets {
 public:
  /// For `count` values with offsets of `offset_bits`, 32 or 64.
  static Result<V20Offsets> Make(uint32_t offset_bits, uint64_t count, arrow::MemoryPool* pool);

  /// Appends a value of `size` bytes or items; kInvalidArgument where the offsets cannot say it.
  Status Append(uint64_t size) {
    if (size > limit_ - total_) return TooMuch();
    total_ += size;
    ++count_;
    if (offset_bits_ == 32) {
      reinterpret_cast<int32_t*>(offsets_data_)[count_] = static_cast<int32_t>(total_);
    } else {
      reinterpret_cast<int64_t*>(offsets_data_)[count_] = static_cast<int64_t>(total_);
    }
    return Status::OK();
  }
  /// Says that the value appended last is null.
  Status SetLastNull();

  uint64_t total() const { return total_; }
  const std::shared_ptr<arrow::Buffer>& offsets() const { return offsets_; }
  /// Null if nothing is null.
  const std::shared_ptr<arrow::Buffer>& validity() const { return validity_; }
  int64_t null_count() const { return null_count_; }

 private:
  Status TooMuch() const;

  uint32_t offset_bits_ = 32;
  uint64_t capacity_ = 0;
  uint64_t count_ = 0;
  uint64_t total_ = 0;
  uint64_t limit_ = 0;
  int64_t null_count_ = 0;
  arrow::MemoryPool* pool_ = nullptr;
  std::shared_ptr<arrow::Buffer> offsets_;
  uint8_t* offsets_data_ = nullptr;
  std::shared_ptr<arrow::Buffer> validity_;
};

/// Where the lists or strings of one page end, and which are null: ascending ends from the page's
/// start; an end that reaches the adjustment is that of a null, with the adjustment added. Used by
/// one thread, once.
class V20Ends {
 public:
  /// An `adjustment` of 0 means that nothing is null.
  static Result<V20Ends> Make(const V20PageContext& context, const pb::ArrayEncoding& encoding,
                              uint64_t adjustment);

  Status Plan(const RowSelection& values, RangeReads* reads);

  /// Appends the planned values to `offsets`, and what they hold, moved by `shift`, to `source`.
  /// kCorrupt unless the ends ascend and stay within `limit`.
  Status Decode(const RangeReads& reads, uint64_t limit, uint64_t shift, V20Offsets* offsets,
                RowSelection* source) const;

 private:
  V20Ends(V20FixedValues ends, uint64_t adjustment)
      : ends_(std::move(ends)), adjustment_(adjustment) {}

  V20FixedValues ends_;
  uint64_t adjustment_;
  RowSelection values_;
};

}  // namespace lake::format
