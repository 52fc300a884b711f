#include "lake/format/dictionary_internal.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "lake/base/checked.h"
#include "lake/format/leaf_builder.h"
#include "lake/format/text_check.h"

namespace lake::format {
namespace {

template <typename Word>
void Gather(const uint8_t* items, const uint32_t* indices, uint64_t count, uint8_t* out) {
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(out + i * sizeof(Word), items + uint64_t{indices[i]} * sizeof(Word), sizeof(Word));
  }
}

struct Word128 {
  uint64_t halves[2];
};

}  // namespace

Result<PageDictionary> PageDictionary::DecodeFrom(const pb::CompressiveEncoding& encoding,
                                                  std::string_view bytes, uint64_t num_items,
                                                  const LeafType& type, arrow::MemoryPool* pool) {
  PageDictionary dictionary;
  dictionary.num_items_ = num_items;
  const uint32_t bits = type.kind == LeafType::Kind::kFixed ? type.item_bits : 8;
  if (num_items > MaxBlockValues(encoding, bytes.size(), bits)) {
    return Error(ErrorCode::kCorrupt, "dictionary of {} values in {} bytes", num_items,
                 bytes.size());
  }
  if (type.kind == LeafType::Kind::kVariable) {
    ARROW_ASSIGN_OR_RAISE(dictionary.variable_,
                          DecodeVariableBlock(encoding, bytes, num_items, pool));
    const VariableBlock& block = dictionary.variable_;
    const std::string_view text(reinterpret_cast<const char*>(block.bytes->data()),
                                static_cast<size_t>(block.bytes->size()));
    if (type.is_text && !AllUtf8(block.offsets.data(), num_items, text)) {
      return Error(ErrorCode::kCorrupt, "a string of the dictionary is not UTF-8");
    }
    if (type.offset_bits == 32 && num_items > 0) {
      const int64_t size = static_cast<int64_t>((num_items + 1) * sizeof(uint32_t));
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> offsets,
                            arrow::AllocateBuffer(size, pool));
      std::memcpy(offsets->mutable_data(), block.offsets.data(), static_cast<size_t>(size));
      dictionary.array_ = arrow::MakeArray(
          arrow::ArrayData::Make(type.type, static_cast<int64_t>(num_items),
                                 {nullptr, std::move(offsets), block.bytes}, /*null_count=*/0));
    }
    return dictionary;
  }
  if (type.kind != LeafType::Kind::kFixed) {
    return Error(ErrorCode::kUnsupported, "dictionaries of lists are not read");
  }
  ARROW_RETURN_NOT_OK(dictionary.DecodeFixed(encoding, bytes, type, pool));
  return dictionary;
}

Status PageDictionary::DecodeFixed(const pb::CompressiveEncoding& encoding, std::string_view bytes,
                                   const LeafType& type, arrow::MemoryPool* pool) {
  width_ = type.item_bits == 1 ? 1 : type.item_bits / 8;
  const auto size = CheckedMul(num_items_, width_);
  if (!size || *size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Error(ErrorCode::kCorrupt, "dictionary of {} values of {} bytes", num_items_, width_);
  }
  ARROW_ASSIGN_OR_RAISE(fixed_, arrow::AllocateBuffer(static_cast<int64_t>(*size), pool));
  uint8_t* const out = fixed_->mutable_data();
  if (type.item_bits != 1) {
    return DecodeFixedBlock(encoding, bytes, num_items_, 0, num_items_, type.item_bits, pool, out);
  }
  std::vector<uint8_t> packed(CeilDiv<uint64_t>(num_items_, 8));
  ARROW_RETURN_NOT_OK(DecodeBitBlock(encoding, bytes, num_items_, pool, packed.data()));
  for (uint64_t i = 0; i < num_items_; ++i) out[i] = packed[i / 8] >> i % 8 & 1;
  return Status::OK();
}

std::string_view PageDictionary::Item(uint32_t i) const {
  if (fixed_ == nullptr) return variable_.Value(i);
  return {reinterpret_cast<const char*>(fixed_->data()) + i * width_, width_};
}

Status PageDictionary::CheckIndices(uint32_t* indices, const uint16_t* levels,
                                    uint64_t count) const {
  uint32_t highest = 0;
  for (uint64_t i = 0; i < count; ++i) highest = std::max(highest, indices[i]);
  if (highest < num_items_) return Status::OK();
  for (uint64_t i = 0; i < count; ++i) {
    if (indices[i] < num_items_) continue;
    if (levels == nullptr || levels[i] == 0) {
      return Error(ErrorCode::kCorrupt, "index {} into a dictionary of {} values", indices[i],
                   num_items_);
    }
    indices[i] = 0;
  }
  return Status::OK();
}

template <typename Offset>
Status PageDictionary::AppendVariable(const uint32_t* indices, uint64_t count,
                                      LeafBuilder* builder) const {
  const uint32_t* const offsets = variable_.offsets.data();
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i) total += offsets[indices[i] + 1] - offsets[indices[i]];
  ARROW_RETURN_NOT_OK(builder->ReserveBytes(total));
  // Short values are copied in whole steps of 16 bytes: the dictionary is padded and the builder
  // has slack.
  constexpr uint32_t kStep = 16;
  static_assert(LeafBuilder::kSlack >= kStep);
  const uint8_t* const items = variable_.bytes->data();
  Offset* const ends = builder->NextEnds<Offset>();
  uint8_t* out = builder->variable_end();
  uint64_t end = builder->variable_size();
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t start = offsets[indices[i]];
    const uint32_t length = offsets[indices[i] + 1] - start;
    if (length <= kStep) {
      std::memcpy(out, items + start, kStep);
    } else {
      std::memcpy(out, items + start, length);
    }
    out += length;
    end += length;
    ends[i] = static_cast<Offset>(end);
  }
  builder->CommitVariable(count, end);
  return Status::OK();
}

Status PageDictionary::Append(uint32_t* indices, const uint16_t* levels, uint64_t count,
                              LeafBuilder* builder) const {
  ARROW_RETURN_NOT_OK(CheckIndices(indices, levels, count));
  if (num_items_ == 0) {
    builder->AppendZeros(count);
    return Status::OK();
  }
  const LeafType& type = builder->type();
  if (type.kind == LeafType::Kind::kVariable) {
    return type.offset_bits == 32 ? AppendVariable<int32_t>(indices, count, builder)
                                  : AppendVariable<int64_t>(indices, count, builder);
  }
  const uint8_t* const items = fixed_->data();
  if (type.item_bits == 1) {
    for (uint64_t i = 0; i < count; ++i) builder->AppendRepeated(items + indices[i], 1);
    return Status::OK();
  }
  const uint64_t width = width_;
  uint8_t* const out = builder->AppendFixed(count);
  switch (width) {
    case 4:
      Gather<uint32_t>(items, indices, count, out);
      break;
    case 8:
      Gather<uint64_t>(items, indices, count, out);
      break;
    case 16:
      Gather<Word128>(items, indices, count, out);
      break;
    default:
      for (uint64_t i = 0; i < count; ++i) {
        std::memcpy(out + i * width, items + indices[i] * width, width);
      }
  }
  return Status::OK();
}

Status PageDictionary::AppendKeys(uint32_t* indices, const uint16_t* levels, uint64_t count,
                                  const std::vector<uint32_t>& numbers,
                                  LeafBuilder* builder) const {
  ARROW_RETURN_NOT_OK(CheckIndices(indices, levels, count));
  if (num_items_ == 0) {
    builder->AppendZeros(count);
    return Status::OK();
  }
  uint32_t highest = 0;
  for (uint64_t i = 0; i < count; ++i) highest = std::max(highest, numbers[indices[i]]);
  const auto& type = static_cast<const arrow::DictionaryType&>(*builder->type().type);
  const uint32_t bits =
      builder->type().item_bits - (arrow::is_signed_integer(type.index_type()->id()) ? 1 : 0);
  if (bits < 32 && highest >> bits != 0) {
    return Error(ErrorCode::kUnsupported,
                 "the dictionaries of the rows have too many values together for keys of type {}: "
                 "read fewer rows at once",
                 type.index_type()->ToString());
  }
  uint8_t* const out = builder->AppendFixed(count);
  const auto write = [&](auto word) {
    using T = decltype(word);
    for (uint64_t i = 0; i < count; ++i) {
      const T key = static_cast<T>(numbers[indices[i]]);
      std::memcpy(out + i * sizeof(T), &key, sizeof(T));
    }
  };
  switch (builder->type().item_bits) {
    case 8:
      write(uint8_t{});
      break;
    case 16:
      write(uint16_t{});
      break;
    case 32:
      write(uint32_t{});
      break;
    default:
      write(uint64_t{});
  }
  return Status::OK();
}

Status PageDictionary::AppendIndices(uint32_t* indices, const uint16_t* levels, uint64_t count,
                                     LeafBuilder* builder) const {
  ARROW_RETURN_NOT_OK(CheckIndices(indices, levels, count));
  std::memcpy(builder->AppendFixed(count), indices, count * sizeof(uint32_t));
  return Status::OK();
}

size_t PageDictionary::MemoryUse() const {
  size_t bytes = sizeof(*this) + variable_.offsets.capacity() * sizeof(uint32_t) * 2;
  if (fixed_ != nullptr) bytes += static_cast<size_t>(fixed_->capacity());
  if (variable_.bytes != nullptr) bytes += static_cast<size_t>(variable_.bytes->capacity());
  return bytes;
}

}  // namespace lake::format
