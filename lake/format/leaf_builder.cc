#include "lake/format/leaf_builder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <arrow/array/data.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "lake/base/checked.h"
#include "lake/format/text_check.h"

namespace lake::format {
namespace {

// The bits of up to 64 levels that are below `threshold`.
inline uint64_t ValidBits(const uint16_t* levels, uint64_t count, uint16_t threshold) {
  uint64_t bits = 0;
  for (uint64_t i = 0; i < count; ++i) bits |= uint64_t{levels[i] < threshold} << i;
  return bits;
}

}  // namespace

Status ValidityBuilder::Materialize() {
  if (buffer_ != nullptr) return Status::OK();
  ARROW_ASSIGN_OR_RAISE(
      buffer_, arrow::AllocateBuffer(static_cast<int64_t>(CeilDiv<uint64_t>(capacity_, 8)), pool_));
  // Bits behind the last one are defined as well.
  std::memset(buffer_->mutable_data(), 0, static_cast<size_t>(buffer_->size()));
  arrow::bit_util::SetBitsTo(buffer_->mutable_data(), 0, static_cast<int64_t>(size_), true);
  return Status::OK();
}

void ValidityBuilder::AppendValid(uint64_t count) {
  if (buffer_ != nullptr) {
    arrow::bit_util::SetBitsTo(buffer_->mutable_data(), static_cast<int64_t>(size_),
                               static_cast<int64_t>(count), true);
  }
  size_ += count;
}

Status ValidityBuilder::AppendNulls(uint64_t count) {
  if (count == 0) return Status::OK();
  ARROW_RETURN_NOT_OK(Materialize());
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
    ARROW_RETURN_NOT_OK(Materialize());
  }
  uint8_t* const bits = buffer_->mutable_data();
  for (; done < count && size_ % 8 != 0; ++done, ++size_) {
    bits[size_ / 8] |= static_cast<uint8_t>((levels[done] < threshold) << size_ % 8);
  }
  while (done < count) {
    const uint64_t step = std::min<uint64_t>(64, count - done);
    const uint64_t word = ValidBits(levels + done, step, threshold);
    std::memcpy(bits + size_ / 8, &word, CeilDiv<uint64_t>(step, 8));
    done += step;
    size_ += step;
  }
  return Status::OK();
}

Status ValidityBuilder::AppendBits(const uint8_t* bits, uint64_t offset, uint64_t count) {
  if (count == 0) return Status::OK();
  ARROW_RETURN_NOT_OK(Materialize());
  arrow::internal::CopyBitmap(bits, static_cast<int64_t>(offset), static_cast<int64_t>(count),
                              buffer_->mutable_data(), static_cast<int64_t>(size_));
  size_ += count;
  return Status::OK();
}

Result<LeafBuilder> LeafBuilder::Make(const LeafType& type, uint64_t num_rows, bool with_parent,
                                      arrow::MemoryPool* pool) {
  LeafBuilder builder;
  builder.type_ = type;
  builder.pool_ = pool;
  builder.capacity_ = num_rows;
  builder.with_parent_ = with_parent;
  const bool variable = type.kind == LeafType::Kind::kVariable;
  const auto bits = variable ? CheckedMul<uint64_t>(num_rows + 1, type.offset_bits)
                             : CheckedMul<uint64_t>(num_rows, type.value_bits());
  if (!bits || *bits > uint64_t{std::numeric_limits<int64_t>::max()} - 7) {
    return Error(ErrorCode::kInvalidArgument, "too many rows of this type at once: {}", num_rows);
  }
  ARROW_ASSIGN_OR_RAISE(
      builder.values_,
      arrow::AllocateBuffer(static_cast<int64_t>(CeilDiv<uint64_t>(*bits, 8)), pool));
  if (variable) {
    std::memset(builder.values_->mutable_data(), 0, type.offset_bits / 8);
    ARROW_ASSIGN_OR_RAISE(builder.variable_, arrow::AllocateResizableBuffer(kSlack, pool));
  } else if (type.item_bits % 8 != 0 && builder.values_->size() > 0) {
    builder.values_->mutable_data()[builder.values_->size() - 1] = 0;
  }
  builder.validity_ = ValidityBuilder(num_rows, pool);
  builder.parent_validity_ = ValidityBuilder(num_rows, pool);
  builder.item_validity_ = ValidityBuilder(num_rows * type.list_size, pool);
  return builder;
}

uint8_t* LeafBuilder::AppendFixed(uint64_t count) {
  uint8_t* const at = values_->mutable_data() + rows_ * (type_.value_bits() / 8);
  rows_ += count;
  return at;
}

void LeafBuilder::AppendBits(const uint8_t* bits, uint64_t offset, uint64_t count) {
  const uint64_t width = type_.value_bits();
  const uint64_t first = rows_ * width;
  if (offset % 8 == 0 && first % 8 == 0 && width % 8 == 0) {
    std::memcpy(values_->mutable_data() + first / 8, bits + offset / 8, count * width / 8);
  } else {
    arrow::internal::CopyBitmap(bits, static_cast<int64_t>(offset),
                                static_cast<int64_t>(count * width), values_->mutable_data(),
                                static_cast<int64_t>(first));
  }
  rows_ += count;
}

void LeafBuilder::AppendZeros(uint64_t count) {
  if (type_.kind == LeafType::Kind::kVariable) {
    if (type_.offset_bits == 32) {
      std::fill_n(NextEnds<int32_t>(), count, static_cast<int32_t>(variable_size_));
    } else {
      std::fill_n(NextEnds<int64_t>(), count, static_cast<int64_t>(variable_size_));
    }
    rows_ += count;
  } else if (type_.item_bits % 8 == 0) {
    std::memset(AppendFixed(count), 0, count * (type_.value_bits() / 8));
  } else {
    arrow::bit_util::SetBitsTo(values_->mutable_data(),
                               static_cast<int64_t>(rows_ * type_.value_bits()),
                               static_cast<int64_t>(count * type_.value_bits()), false);
    rows_ += count;
  }
}

void LeafBuilder::AppendRepeated(const uint8_t* value, uint64_t count) {
  if (type_.value_bits() == 1) {
    arrow::bit_util::SetBitsTo(values_->mutable_data(), static_cast<int64_t>(rows_),
                               static_cast<int64_t>(count), (*value & 1) != 0);
    rows_ += count;
    return;
  }
  const uint64_t width = type_.value_bits() / 8;
  uint8_t* const out = AppendFixed(count);
  const uint64_t size = count * width;
  if (size == 0) return;
  std::memcpy(out, value, width);
  for (uint64_t filled = width; filled < size;) {
    const uint64_t step = std::min(filled, size - filled);
    std::memcpy(out + filled, out, step);
    filled += step;
  }
}

Status LeafBuilder::ReserveBytes(uint64_t bytes) {
  const uint64_t limit =
      type_.offset_bits == 32 ? uint64_t{std::numeric_limits<int32_t>::max()} : uint64_t{1} << 46;
  if (bytes > limit || variable_size_ > limit - bytes) {
    return Error(ErrorCode::kInvalidArgument,
                 "the values of a column pass {} bytes: read fewer rows at once, or declare it {}",
                 limit, type_.is_text ? "large_string" : "large_binary");
  }
  const int64_t needed = static_cast<int64_t>(variable_size_ + bytes + kSlack);
  if (variable_->capacity() < needed) {
    // Half as much again, so that appending page after page stays linear.
    ARROW_RETURN_NOT_OK(
        variable_->Reserve(std::max(needed, variable_->capacity() + variable_->capacity() / 2)));
  }
  return Status::OK();
}

void LeafBuilder::CommitVariable(uint64_t count, uint64_t variable_size) {
  rows_ += count;
  variable_size_ = variable_size;
}

Status LeafBuilder::AppendRepeatedBytes(std::string_view value, uint64_t count) {
  const auto total = CheckedMul<uint64_t>(value.size(), count);
  ARROW_RETURN_NOT_OK(ReserveBytes(total.value_or(std::numeric_limits<uint64_t>::max())));
  uint8_t* out = variable_end();
  for (uint64_t i = 0; i < count && !value.empty(); ++i, out += value.size()) {
    std::memcpy(out, value.data(), value.size());
  }
  const auto write_ends = [&](auto* ends) {
    using Offset = std::remove_pointer_t<decltype(ends)>;
    for (uint64_t i = 0; i < count; ++i) {
      ends[i] = static_cast<Offset>(variable_size_ + (i + 1) * value.size());
    }
  };
  if (type_.offset_bits == 32) {
    write_ends(NextEnds<int32_t>());
  } else {
    write_ends(NextEnds<int64_t>());
  }
  CommitVariable(count, variable_size_ + *total);
  return Status::OK();
}

Status LeafBuilder::CheckText(uint64_t first) const {
  const std::string_view bytes(reinterpret_cast<const char*>(variable_->data()), variable_size_);
  const bool good =
      type_.offset_bits == 32
          ? AllUtf8(reinterpret_cast<const int32_t*>(values_->data()) + first, rows_ - first, bytes)
          : AllUtf8(reinterpret_cast<const int64_t*>(values_->data()) + first, rows_ - first,
                    bytes);
  if (!good) return Error(ErrorCode::kCorrupt, "a string is not UTF-8");
  return Status::OK();
}

Result<std::shared_ptr<arrow::ArrayData>> LeafBuilder::Finish() {
  if (rows_ != capacity_) {
    return Error(ErrorCode::kInternal, "decoded {} rows of {}", rows_, capacity_);
  }
  const int64_t length = static_cast<int64_t>(capacity_);
  const int64_t nulls = validity_.buffer() == nullptr ? 0 : arrow::kUnknownNullCount;
  if (type_.kind == LeafType::Kind::kVariable) {
    // Memory is given back only where it is worth a copy.
    const int64_t size = static_cast<int64_t>(variable_size_);
    ARROW_RETURN_NOT_OK(variable_->Resize(size, variable_->capacity() / 2 > size));
    return arrow::ArrayData::Make(type_.type, length, {validity_.buffer(), values_, variable_},
                                  nulls);
  }
  if (type_.kind == LeafType::Kind::kFixed) {
    return arrow::ArrayData::Make(type_.type, length, {validity_.buffer(), values_}, nulls);
  }
  const auto& list = static_cast<const arrow::FixedSizeListType&>(*type_.type);
  auto items = arrow::ArrayData::Make(
      list.value_type(), length * list.list_size(), {item_validity_.buffer(), values_},
      item_validity_.buffer() == nullptr ? 0 : arrow::kUnknownNullCount);
  return arrow::ArrayData::Make(type_.type, length, {validity_.buffer()}, {std::move(items)},
                                nulls);
}

}  // namespace lake::format
