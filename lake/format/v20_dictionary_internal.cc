// Dictionaries of 2.0 pages: those that the writer made of strings, and Arrow dictionary columns.

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>

#include "lake/base/checked.h"
#include "lake/format/container.h"
#include "lake/format/v20_array_internal.h"
#include "lake/format/v20_ends_internal.h"
#include "lake/format/v20_fixed_internal.h"

namespace lake::format {
namespace {

// An index where there is none.
constexpr uint64_t kNull = std::numeric_limits<uint64_t>::max();

uint64_t Load(const uint8_t* bytes, uint64_t index, uint64_t width) {
  uint64_t value = 0;
  std::memcpy(&value, bytes + index * width, width);
  return value;
}

class DictionaryDecoder : public V20ArrayDecoder {
 public:
  DictionaryDecoder(const V20PageContext& context, std::optional<V20FixedValues> validity,
                    V20FixedValues indices, std::unique_ptr<V20ArrayDecoder> items,
                    uint64_t num_items, std::shared_ptr<arrow::DataType> type)
      : context_(context),
        validity_(std::move(validity)),
        indices_(std::move(indices)),
        items_(std::move(items)),
        num_items_(num_items),
        type_(std::move(type)),
        is_arrow_dictionary_(type_->id() == arrow::Type::DICTIONARY) {}

  Status PlanFirst(const RowSelection& values, RangeReads* reads) override {
    length_ = values.num_rows();
    if (validity_) ARROW_RETURN_NOT_OK(validity_->Plan(values, reads));
    ARROW_RETURN_NOT_OK(indices_.Plan(values, reads));
    const auto cached = context_.dictionaries->Find(context_.dictionary_key);
    if (cached != nullptr && cached->type->Equals(*ItemType()) &&
        static_cast<uint64_t>(cached->length) == num_items_) {
      dictionary_ = cached;
      return Status::OK();
    }
    return items_->PlanFirst(RowSelection(0, num_items_), reads);
  }

  Status PlanSecond(const RangeReads& first, RangeReads* reads) override {
    return dictionary_ != nullptr ? Status::OK() : items_->PlanSecond(first, reads);
  }

  Result<std::shared_ptr<arrow::ArrayData>> Decode(const RangeReads& first,
                                                   const RangeReads& second) override {
    if (dictionary_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(dictionary_, items_->Decode(first, second));
      size_t bytes = sizeof(arrow::ArrayData);
      for (const auto& buffer : dictionary_->buffers) {
        if (buffer != nullptr) bytes += static_cast<size_t>(buffer->size());
      }
      context_.dictionaries->Put(context_.dictionary_key, dictionary_, bytes);
    }
    ARROW_ASSIGN_OR_RAISE(const std::vector<uint64_t> indices, Indices(first));
    if (is_arrow_dictionary_) return MakeDictionary(indices);
    return arrow::is_large_binary_like(type_->id()) ? Gather<int64_t>(indices)
                                                    : Gather<int32_t>(indices);
  }

 private:
  const std::shared_ptr<arrow::DataType>& ItemType() const {
    return is_arrow_dictionary_ ? static_cast<const arrow::DictionaryType&>(*type_).value_type()
                                : type_;
  }

  // The items' numbers from 0, kNull where the value is null.
  Result<std::vector<uint64_t>> Indices(const RangeReads& first) const {
    ARROW_ASSIGN_OR_RAISE(const auto raw, indices_.Decode(first));
    std::shared_ptr<arrow::Buffer> validity;
    if (validity_) {
      ARROW_ASSIGN_OR_RAISE(validity, validity_->Decode(first));
    }
    const auto items = arrow::MakeArray(std::const_pointer_cast<arrow::ArrayData>(dictionary_));
    // A writer's own dictionary counts from 1, and 0 is null.
    const uint64_t first_item = is_arrow_dictionary_ ? 0 : 1;
    const uint64_t width = indices_.bits() / 8;
    std::vector<uint64_t> indices(length_);
    for (uint64_t i = 0; i < length_; ++i) {
      uint64_t index = Load(raw->data(), i, width);
      if ((validity != nullptr && !arrow::bit_util::GetBit(validity->data(), i)) ||
          index < first_item) {
        indices[i] = kNull;
        continue;
      }
      index -= first_item;
      if (index >= num_items_) {
        return Error(ErrorCode::kCorrupt, "value {} is item {} of a dictionary of {}", i, index,
                     num_items_);
      }
      indices[i] = items->IsNull(static_cast<int64_t>(index)) ? kNull : index;
    }
    return indices;
  }

  template <typename Offset>
  Result<std::shared_ptr<arrow::ArrayData>> Gather(const std::vector<uint64_t>& indices) const {
    const auto* const ends = dictionary_->GetValues<Offset>(1);
    const uint8_t* const bytes =
        dictionary_->buffers[2] == nullptr ? nullptr : dictionary_->buffers[2]->data();
    ARROW_ASSIGN_OR_RAISE(auto offsets,
                          V20Offsets::Make(8 * sizeof(Offset), length_, context_.pool));
    for (const uint64_t index : indices) {
      const bool null = index == kNull;
      ARROW_RETURN_NOT_OK(
          offsets.Append(null ? 0 : static_cast<uint64_t>(ends[index + 1] - ends[index])));
      if (null) ARROW_RETURN_NOT_OK(offsets.SetLastNull());
    }
    ARROW_ASSIGN_OR_RAISE(
        std::shared_ptr<arrow::Buffer> values,
        arrow::AllocateBuffer(static_cast<int64_t>(offsets.total()), context_.pool));
    uint8_t* out = values->mutable_data();
    for (const uint64_t index : indices) {
      if (index == kNull) continue;
      const size_t size = static_cast<size_t>(ends[index + 1] - ends[index]);
      if (size != 0) std::memcpy(out, bytes + ends[index], size);
      out += size;
    }
    return arrow::ArrayData::Make(type_, static_cast<int64_t>(length_),
                                  {offsets.validity(), offsets.offsets(), std::move(values)},
                                  offsets.null_count());
  }

  // Arrow indices, null where their item is; the items that are null are in nobody's way.
  Result<std::shared_ptr<arrow::ArrayData>> MakeDictionary(
      const std::vector<uint64_t>& indices) const {
    const auto& type = static_cast<const arrow::DictionaryType&>(*type_);
    const uint64_t width = static_cast<uint64_t>(type.index_type()->bit_width()) / 8;
    const bool is_signed = arrow::is_signed_integer(type.index_type()->id());
    const uint64_t most = width == 8 ? std::numeric_limits<int64_t>::max()
                                     : (uint64_t{1} << (8 * width - (is_signed ? 1 : 0))) - 1;
    ARROW_ASSIGN_OR_RAISE(
        std::shared_ptr<arrow::Buffer> out,
        arrow::AllocateBuffer(static_cast<int64_t>(length_ * width), context_.pool));
    ARROW_ASSIGN_OR_RAISE(
        std::shared_ptr<arrow::Buffer> validity,
        arrow::AllocateBuffer(static_cast<int64_t>(CeilDiv<uint64_t>(length_, 8)), context_.pool));
    std::memset(validity->mutable_data(), 0, static_cast<size_t>(validity->size()));
    int64_t nulls = 0;
    for (uint64_t i = 0; i < length_; ++i) {
      const bool null = indices[i] == kNull;
      const uint64_t index = null ? 0 : indices[i];
      if (index > most) {
        return Error(ErrorCode::kCorrupt, "item {} of a dictionary does not fit its key type {}",
                     index, type.index_type()->ToString());
      }
      std::memcpy(out->mutable_data() + i * width, &index, width);
      arrow::bit_util::SetBitTo(validity->mutable_data(), static_cast<int64_t>(i), !null);
      nulls += null ? 1 : 0;
    }
    if (nulls == 0) validity = nullptr;
    auto data = arrow::ArrayData::Make(type_, static_cast<int64_t>(length_),
                                       {std::move(validity), std::move(out)}, nulls);
    // The item that nulls point at in the file comes last; no index means it now.
    const auto items = arrow::MakeArray(std::const_pointer_cast<arrow::ArrayData>(dictionary_));
    int64_t num_items = items->length();
    while (num_items > 0 && items->IsNull(num_items - 1)) --num_items;
    data->dictionary = items->Slice(0, num_items)->data();
    return data;
  }

  const V20PageContext context_;
  std::optional<V20FixedValues> validity_;
  V20FixedValues indices_;
  const std::unique_ptr<V20ArrayDecoder> items_;
  const uint64_t num_items_;
  const std::shared_ptr<arrow::DataType> type_;
  const bool is_arrow_dictionary_;
  std::shared_ptr<const arrow::ArrayData> dictionary_;
  uint64_t length_ = 0;
};

}  // namespace

Result<std::unique_ptr<V20ArrayDecoder>> MakeV20DictionaryDecoder(
    const V20PageContext& context, const pb::ArrayDictionary& encoding,
    const std::shared_ptr<arrow::DataType>& type) {
  const bool is_arrow_dictionary = type->id() == arrow::Type::DICTIONARY;
  if (!is_arrow_dictionary && !arrow::is_base_binary_like(type->id())) {
    return Error(ErrorCode::kUnsupported, "encoding dictionary does not make values of type {}",
                 type->ToString());
  }
  const pb::ArrayEncoding* indices = &WithoutNoNulls(encoding.indices());
  std::optional<V20FixedValues> validity;
  if (indices->has_nullable() && indices->nullable().has_some_nulls()) {
    const auto& some = indices->nullable().some_nulls();
    ARROW_ASSIGN_OR_RAISE(validity, V20FixedValues::Make(context, some.validity()));
    if (validity->bits() != 1) {
      return Error(ErrorCode::kCorrupt, "validity has {} bits", validity->bits());
    }
    indices = &some.values();
  }
  ARROW_ASSIGN_OR_RAISE(auto index_values, V20FixedValues::Make(context, *indices));
  if (index_values.bits() < 8 || index_values.bits() > 64) {
    return Error(ErrorCode::kCorrupt, "indices of a dictionary have {} bits", index_values.bits());
  }
  if (context.in_dictionary) {
    return Error(ErrorCode::kUnsupported, "a dictionary of dictionaries is not read");
  }
  // No bytes stand for items that are all null. A writer has an item for each value at most, and
  // one that nulls point at.
  if (const pb::ArrayEncoding& items = WithoutNoNulls(encoding.items());
      items.has_nullable() && items.nullable().has_all_nulls() &&
      encoding.num_dictionary_items() > context.page->num_values + 1) {
    return Error(ErrorCode::kCorrupt, "a page of {} values has a dictionary of {} nulls",
                 context.page->num_values, encoding.num_dictionary_items());
  }
  V20PageContext item_context = context;
  item_context.in_dictionary = true;
  const auto item_type =
      is_arrow_dictionary ? static_cast<const arrow::DictionaryType&>(*type).value_type() : type;
  ARROW_ASSIGN_OR_RAISE(auto items, MakeV20Decoder(item_context, encoding.items(), item_type));
  return std::make_unique<DictionaryDecoder>(context, std::move(validity), std::move(index_values),
                                             std::move(items), encoding.num_dictionary_items(),
                                             type);
}

}  // namespace lake::format
