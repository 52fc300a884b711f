#include "lake/format/leaf_builder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <arrow/array/data.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "lake/base/checked.h"
#include "lake/format/text_check.h"

namespace lake::format {
namespace {

// Bytes of the first buffer for `count` values; nullopt if that is more than Arrow can hold.
std::optional<int64_t> BufferSize(const LeafType& type, uint64_t count) {
  const auto bits = type.kind == LeafType::Kind::kVariable
                        ? CheckedMul<uint64_t>(count + 1, type.offset_bits)
                        : CheckedMul<uint64_t>(count, type.value_bits());
  if (!bits || *bits > uint64_t{std::numeric_limits<int64_t>::max()} - 7) return std::nullopt;
  return static_cast<int64_t>(CeilDiv<uint64_t>(*bits, 8));
}

int64_t NullCount(const ValidityBuilder& validity) {
  return validity.buffer() == nullptr ? 0 : arrow::kUnknownNullCount;
}

}  // namespace

Result<LeafBuilder> LeafBuilder::Make(const LeafType& type, const Nesting& nesting,
                                      uint64_t num_rows, arrow::MemoryPool* pool) {
  LeafBuilder builder;
  builder.type_ = type;
  builder.pool_ = pool;
  builder.grows_ = nesting.has_lists();
  builder.capacity_ = builder.grows_ ? 0 : num_rows;
  builder.nesting_ = NestingBuilder(nesting, num_rows, pool);
  const auto validity = [&](uint64_t count) {
    return builder.grows_ ? ValidityBuilder::Growing(pool) : ValidityBuilder(count, pool);
  };
  const auto size = BufferSize(type, builder.capacity_);
  if (!size) {
    return Error(ErrorCode::kInvalidArgument, "too many rows of this type at once: {}", num_rows);
  }
  ARROW_ASSIGN_OR_RAISE(builder.values_, arrow::AllocateResizableBuffer(*size, pool));
  if (type.kind == LeafType::Kind::kVariable) {
    std::memset(builder.values_->mutable_data(), 0, type.offset_bits / 8);
    ARROW_ASSIGN_OR_RAISE(builder.variable_, arrow::AllocateResizableBuffer(kSlack, pool));
  } else if (type.item_bits % 8 != 0 && *size > 0) {
    builder.values_->mutable_data()[*size - 1] = 0;
  }
  builder.validity_ = validity(num_rows);
  uint64_t items = num_rows;
  for (const uint32_t list_size : type.list_sizes) {
    items *= list_size;
    builder.item_validity_.push_back(validity(items));
  }
  if (type.kind == LeafType::Kind::kDictionary)
    builder.dictionary_.emplace(type.value_type(), pool);
  if (type.is_packed()) {
    // Parts have no layers of their own, but grow as their struct does.
    Nesting inner;
    if (builder.grows_) inner.layers.push_back({NestingLayer::Kind::kList, false, false});
    for (const LeafType& part : type.parts) {
      ARROW_ASSIGN_OR_RAISE(LeafBuilder made, Make(part, inner, num_rows, pool));
      builder.parts_.push_back(std::move(made));
    }
  }
  return builder;
}

Status LeafBuilder::ReserveValues(uint64_t count) {
  if (!grows_) return Status::OK();
  for (LeafBuilder& part : parts_) ARROW_RETURN_NOT_OK(part.ReserveValues(count));
  const auto needed = CheckedAdd(rows_, count);
  const auto size = needed ? BufferSize(type_, *needed) : std::nullopt;
  if (!size || *needed > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    return Error(ErrorCode::kInvalidArgument,
                 "lists have more than {} items together: read fewer rows at once", rows_);
  }
  if (*size > values_->size()) {
    // Half as much again, so that appending chunk after chunk stays linear.
    const int64_t before = values_->size();
    ARROW_RETURN_NOT_OK(values_->Resize(std::max(*size, before + before / 2), false));
    // Bits behind the last one are defined as well.
    if (type_.item_bits % 8 != 0) {
      std::memset(values_->mutable_data() + before, 0,
                  static_cast<size_t>(values_->size() - before));
    }
  }
  return Status::OK();
}

uint8_t* LeafBuilder::AppendFixed(uint64_t count) {
  uint8_t* const at = values_->mutable_data() + rows_ * (type_.value_bits() / 8);
  rows_ += count;
  return at;
}

void LeafBuilder::AppendBits(const uint8_t* bits, uint64_t offset, uint64_t count) {
  const uint64_t width = type_.value_bits();
  const uint64_t first = rows_ * width;
  if (count * width == 0) {
    rows_ += count;
    return;
  }
  if (offset % 8 == 0 && first % 8 == 0 && width % 8 == 0) {
    std::memcpy(values_->mutable_data() + first / 8, bits + offset / 8, count * width / 8);
  } else {
    arrow::internal::CopyBitmap(bits, static_cast<int64_t>(offset),
                                static_cast<int64_t>(count * width), values_->mutable_data(),
                                static_cast<int64_t>(first));
  }
  rows_ += count;
}

bool LeafBuilder::AdoptFixed(std::shared_ptr<arrow::Buffer> values) {
  constexpr uintptr_t kAlignment = 64;
  if (grows_ || rows_ != 0 || values->size() != values_->size() ||
      reinterpret_cast<uintptr_t>(values->data()) % kAlignment != 0) {
    return false;
  }
  adopted_ = std::move(values);
  rows_ = capacity_;
  return true;
}

void LeafBuilder::AppendZeros(uint64_t count) {
  if (type_.kind == LeafType::Kind::kNothing) {
    rows_ += count;
  } else if (type_.is_packed()) {
    for (LeafBuilder& part : parts_) part.AppendZeros(count);
    rows_ += count;
  } else if (type_.kind == LeafType::Kind::kVariable) {
    if (type_.offset_bits == 32) {
      std::fill_n(NextEnds<int32_t>(), count, static_cast<int32_t>(variable_size_));
    } else {
      std::fill_n(NextEnds<int64_t>(), count, static_cast<int64_t>(variable_size_));
    }
    rows_ += count;
  } else if (type_.item_bits % 8 == 0) {
    uint8_t* const out = AppendFixed(count);
    if (const uint64_t size = count * (type_.value_bits() / 8); size > 0) std::memset(out, 0, size);
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

Status LeafBuilder::AppendItemsValid(uint64_t count) {
  for (size_t level = 0; level < item_validity_.size(); ++level) {
    count *= type_.list_sizes[level];
    ARROW_RETURN_NOT_OK(item_validity_[level].AppendValid(count));
  }
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

Result<std::shared_ptr<arrow::ArrayData>> LeafBuilder::FinishList() {
  uint64_t length = rows_;
  std::vector<std::shared_ptr<arrow::ArrayData>> levels;
  std::shared_ptr<arrow::DataType> type = type_.type;
  std::shared_ptr<arrow::Buffer> validity = validity_.buffer();
  for (size_t level = 0; level <= type_.list_sizes.size(); ++level) {
    const bool is_list = level < type_.list_sizes.size();
    std::vector<std::shared_ptr<arrow::Buffer>> buffers = {validity};
    if (!is_list) buffers.push_back(FixedValues());
    levels.push_back(arrow::ArrayData::Make(type, static_cast<int64_t>(length), std::move(buffers),
                                            validity == nullptr ? 0 : arrow::kUnknownNullCount));
    if (!is_list) break;
    type = static_cast<const arrow::FixedSizeListType&>(*type).value_type();
    length *= type_.list_sizes[level];
    validity = item_validity_[level].buffer();
  }
  for (size_t level = levels.size() - 1; level > 0; --level) {
    levels[level - 1]->child_data = {levels[level]};
  }
  return levels[0];
}

std::shared_ptr<arrow::Buffer> LeafBuilder::FixedValues() const {
  if (adopted_ != nullptr) return adopted_;
  return values_;
}

Result<std::shared_ptr<arrow::ArrayData>> LeafBuilder::FinishParts() {
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  for (LeafBuilder& part : parts_) {
    if (part.rows() != rows_) {
      return Error(ErrorCode::kInternal, "decoded {} rows of a part, not {}", part.rows(), rows_);
    }
    ARROW_ASSIGN_OR_RAISE(auto child, part.Finish());
    children.push_back(std::move(child));
  }
  return arrow::ArrayData::Make(type_.type, static_cast<int64_t>(rows_), {validity_.buffer()},
                                std::move(children), NullCount(validity_));
}

Result<std::shared_ptr<arrow::ArrayData>> LeafBuilder::Finish() {
  if (!grows_ && rows_ != capacity_) {
    return Error(ErrorCode::kInternal, "decoded {} rows of {}", rows_, capacity_);
  }
  const int64_t length = static_cast<int64_t>(rows_);
  const int64_t nulls = NullCount(validity_);
  if (grows_) {
    // Memory is given back only where it is worth a copy.
    const int64_t size = *BufferSize(type_, rows_);
    ARROW_RETURN_NOT_OK(values_->Resize(size, values_->capacity() / 2 > size));
  }
  switch (type_.kind) {
    case LeafType::Kind::kNothing:
      // What has no fields has no nulls either, but for the null type.
      return arrow::ArrayData::Make(type_.type, length, {nullptr},
                                    type_.type->id() == arrow::Type::NA ? length : 0);
    case LeafType::Kind::kVariable: {
      const int64_t size = static_cast<int64_t>(variable_size_);
      // Arrow gives memory back only of what it counts as the buffer's size.
      ARROW_RETURN_NOT_OK(variable_->Resize(variable_->capacity(), false));
      ARROW_RETURN_NOT_OK(variable_->Resize(size, variable_->capacity() / 2 > size));
      return arrow::ArrayData::Make(type_.type, length, {validity_.buffer(), values_, variable_},
                                    nulls);
    }
    case LeafType::Kind::kFixed:
      return arrow::ArrayData::Make(type_.type, length, {validity_.buffer(), FixedValues()}, nulls);
    case LeafType::Kind::kDictionary: {
      auto keys = arrow::ArrayData::Make(type_.type, length, {validity_.buffer(), values_}, nulls);
      ARROW_ASSIGN_OR_RAISE(keys->dictionary, dictionary_->Finish());
      return keys;
    }
    case LeafType::Kind::kPacked:
    case LeafType::Kind::kBlob:
      return FinishParts();
    case LeafType::Kind::kList:
      break;
  }
  return FinishList();
}

}  // namespace lake::format
