#include "lake/format/v20_ends_internal.h"

#include <cstring>
#include <limits>

#include <arrow/buffer.h>
#include <arrow/util/bit_util.h>

#include "lake/base/checked.h"
#include "lake/format/container.h"

namespace lake::format {

Result<V20Offsets> V20Offsets::Make(uint32_t offset_bits, uint64_t count, arrow::MemoryPool* pool) {
  V20Offsets offsets;
  offsets.offset_bits_ = offset_bits;
  offsets.capacity_ = count;
  offsets.pool_ = pool;
  offsets.limit_ =
      offset_bits == 32 ? uint64_t{std::numeric_limits<int32_t>::max()} : uint64_t{1} << 46;
  ARROW_ASSIGN_OR_RAISE(
      offsets.offsets_,
      arrow::AllocateBuffer(static_cast<int64_t>((count + 1) * (offset_bits / 8)), pool));
  offsets.offsets_data_ = offsets.offsets_->mutable_data();
  std::memset(offsets.offsets_data_, 0, offset_bits / 8);
  return offsets;
}

Status V20Offsets::SetLastNull() {
  if (validity_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(
        validity_,
        arrow::AllocateBuffer(static_cast<int64_t>(CeilDiv<uint64_t>(capacity_, 8)), pool_));
    std::memset(validity_->mutable_data(), 0xFF, static_cast<size_t>(validity_->size()));
  }
  arrow::bit_util::ClearBit(validity_->mutable_data(), static_cast<int64_t>(count_ - 1));
  ++null_count_;
  return Status::OK();
}

Status V20Offsets::TooMuch() const {
  return Error(ErrorCode::kInvalidArgument,
               "the values of a column pass {} bytes or items: read fewer rows at once", limit_);
}

Result<V20Ends> V20Ends::Make(const V20PageContext& context, const pb::ArrayEncoding& encoding,
                              uint64_t adjustment) {
  ARROW_ASSIGN_OR_RAISE(auto ends, V20FixedValues::Make(context, encoding));
  if (ends.bits() != 64) {
    return Error(ErrorCode::kUnsupported, "ends of {} bits are not read", ends.bits());
  }
  return V20Ends(std::move(ends), adjustment);
}

Status V20Ends::Plan(const RowSelection& values, RangeReads* reads) {
  values_ = values;
  // A value begins where the one in front of it ends.
  RowSelection needed;
  for (const RowRange& range : values.ranges()) {
    const uint64_t front = range.start > 0 ? 1 : 0;
    needed.Append(range.start - front, range.count + front);
  }
  return ends_.Plan(needed, reads);
}

Status V20Ends::Decode(const RangeReads& reads, uint64_t limit, uint64_t shift, V20Offsets* offsets,
                       RowSelection* source) const {
  if (values_.empty()) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(const auto buffer, ends_.Decode(reads));
  const uint8_t* next = buffer->data();
  const auto take = [&] {
    const uint64_t end = LoadLittle<uint64_t>(next);
    next += sizeof(end);
    return end;
  };
  const auto is_null = [this](uint64_t end) { return adjustment_ != 0 && end >= adjustment_; };
  uint64_t previous = 0;
  for (const RowRange& range : values_.ranges()) {
    uint64_t start = 0;
    if (range.start > 0) {
      start = take();
      if (is_null(start)) start -= adjustment_;
    }
    if (start < previous || start > limit) {
      return Error(ErrorCode::kCorrupt, "value {} starts at {} of {}, after {}", range.start, start,
                   limit, previous);
    }
    const uint64_t first = start;
    for (uint64_t i = 0; i < range.count; ++i) {
      uint64_t end = take();
      const bool null = is_null(end);
      if (null) end -= adjustment_;
      if (end < start || end > limit) {
        return Error(ErrorCode::kCorrupt, "value {} goes from {} to {} of {}", range.start + i,
                     start, end, limit);
      }
      ARROW_RETURN_NOT_OK(offsets->Append(end - start));
      if (null) ARROW_RETURN_NOT_OK(offsets->SetLastNull());
      start = end;
    }
    source->Append(shift + first, start - first);
    previous = start;
  }
  return Status::OK();
}

}  // namespace lake::format
