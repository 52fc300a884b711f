#include "lake/format/validity_builder.h"

#include <algorithm>
#include <cstring>

#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "lake/base/checked.h"

namespace lake::format {
namespace {

// The bits of up to 64 levels that are below `threshold`.
inline uint64_t ValidBits(const uint16_t* levels, uint64_t count, uint16_t threshold) {
  uint64_t bits = 0;
  for (uint64_t i = 0; i < count; ++i) bits |= uint64_t{levels[i] < threshold} << i;
  return bits;
}

}  // namespace

ValidityBuilder ValidityBuilder::Growing(arrow::MemoryPool* pool) {
  ValidityBuilder builder(0, pool);
  builder.grows_ = true;
  return builder;
}

Status ValidityBuilder::Materialize(uint64_t more) {
  if (grows_) capacity_ = std::max(capacity_, size_ + more);
  const int64_t needed = static_cast<int64_t>(CeilDiv<uint64_t>(capacity_, 8));
  if (buffer_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(buffer_, arrow::AllocateResizableBuffer(needed, pool_));
    bits_ = buffer_->mutable_data();
    // Bits behind the last one are defined as well.
    std::memset(bits_, 0, static_cast<size_t>(needed));
    arrow::bit_util::SetBitsTo(bits_, 0, static_cast<int64_t>(size_), true);
    return Status::OK();
  }
  const int64_t before = buffer_->size();
  if (before >= needed) return Status::OK();
  ARROW_RETURN_NOT_OK(buffer_->Resize(std::max(needed, before + before / 2), false));
  bits_ = buffer_->mutable_data();
  std::memset(bits_ + before, 0, static_cast<size_t>(buffer_->size() - before));
  return Status::OK();
}

Status ValidityBuilder::PrepareToPush(uint64_t count) { return Materialize(count); }

Status ValidityBuilder::AppendValid(uint64_t count) {
  if (buffer_ != nullptr) {
    ARROW_RETURN_NOT_OK(Materialize(count));
    arrow::bit_util::SetBitsTo(bits_, static_cast<int64_t>(size_), static_cast<int64_t>(count),
                               true);
  }
  size_ += count;
  return Status::OK();
}

Status ValidityBuilder::AppendNulls(uint64_t count) {
  if (count == 0) return Status::OK();
  ARROW_RETURN_NOT_OK(Materialize(count));
  size_ += count;
  return Status::OK();
}

Status ValidityBuilder::AppendLevels(const uint16_t* levels, uint64_t count, uint16_t threshold) {
  uint64_t done = 0;
  if (buffer_ == nullptr) {
    // Most chunks have no null at all.
    uint16_t highest = 0;
    for (uint64_t i = 0; i < count; ++i) highest = std::max(highest, levels[i]);
    if (highest < threshold) {
      size_ += count;
      return Status::OK();
    }
  }
  ARROW_RETURN_NOT_OK(Materialize(count));
  for (; done < count && size_ % 8 != 0; ++done, ++size_) {
    bits_[size_ / 8] |= static_cast<uint8_t>((levels[done] < threshold) << size_ % 8);
  }
  while (done < count) {
    const uint64_t step = std::min<uint64_t>(64, count - done);
    const uint64_t word = ValidBits(levels + done, step, threshold);
    std::memcpy(bits_ + size_ / 8, &word, CeilDiv<uint64_t>(step, 8));
    done += step;
    size_ += step;
  }
  return Status::OK();
}

Status ValidityBuilder::AppendBits(const uint8_t* bits, uint64_t offset, uint64_t count) {
  if (count == 0) return Status::OK();
  ARROW_RETURN_NOT_OK(Materialize(count));
  arrow::internal::CopyBitmap(bits, static_cast<int64_t>(offset), static_cast<int64_t>(count),
                              bits_, static_cast<int64_t>(size_));
  size_ += count;
  return Status::OK();
}

}  // namespace lake::format
