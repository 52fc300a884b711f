#include "lake/format/page_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

namespace lake::format {
namespace {

using Kind = ValueShape::Kind;

// Repeats the value before each null, so that nulls neither break runs nor widen bit packing. What
// stands before the first valid value of a page is filled in by BackfillLeadingNulls.
template <size_t kWidth>
void FillNulls(const uint8_t* states, size_t first, size_t count, size_t any_width,
               uint8_t* values) {
  const size_t width = kWidth == 0 ? any_width : kWidth;
  for (size_t i = first; i < first + count; ++i) {
    if (states[i] == PageData::kValid) continue;
    if (i == 0) {
      std::memset(values, 0, width);
    } else {
      std::memcpy(values + i * width, values + (i - 1) * width, width);
    }
  }
}

void FillNulls(const uint8_t* states, size_t first, size_t count, size_t width, uint8_t* values) {
  switch (width) {
    case 1:
      return FillNulls<1>(states, first, count, width, values);
    case 2:
      return FillNulls<2>(states, first, count, width, values);
    case 4:
      return FillNulls<4>(states, first, count, width, values);
    case 8:
      return FillNulls<8>(states, first, count, width, values);
    case 16:
      return FillNulls<16>(states, first, count, width, values);
    default:
      return FillNulls<0>(states, first, count, width, values);
  }
}

void BackfillLeadingNulls(PageData* page, size_t width) {
  if (page->states.empty() || page->num_valid() == 0) return;
  const uint8_t* const states = page->states.data();
  size_t first = 0;
  while (states[first] != PageData::kValid) ++first;
  uint8_t* const values = page->values.data();
  for (size_t i = 0; i < first; ++i) std::memcpy(values + i * width, values + first * width, width);
}

const uint8_t* Validity(const arrow::Array& array) {
  return array.null_count() == 0 ? nullptr : array.null_bitmap_data();
}

bool BitIsSet(const uint8_t* bits, int64_t index) { return (bits[index >> 3] >> (index & 7)) & 1; }

// The bytes and the bit offset of the items below a fixed-size list.
struct Items {
  const arrow::Array* array;
  int64_t first;
};

Items ItemsOf(const arrow::Array& array, int64_t row) {
  const auto& lists = static_cast<const arrow::FixedSizeListArray&>(array);
  return {lists.values().get(), lists.value_offset(row)};
}

}  // namespace

ValueShape ValueShapeOf(const arrow::DataType& type) {
  ValueShape leaf;
  switch (type.id()) {
    case arrow::Type::BOOL:
      leaf.is_bool = true;
      leaf.width = 1;
      return leaf;
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      leaf.kind = Kind::kVariable;
      leaf.is_text = type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING;
      leaf.offset_bits =
          type.id() == arrow::Type::STRING || type.id() == arrow::Type::BINARY ? 32 : 64;
      return leaf;
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
      leaf.kind = Kind::kFixedSizeList;
      leaf.items = list.list_size();
      leaf.width = list.value_type()->byte_width();
      return leaf;
    }
    default:
      leaf.width = type.byte_width();
      return leaf;
  }
}

int64_t PageBuilder::RowsThatFit(const arrow::Array& array, int64_t start, int64_t end,
                                 size_t limit) const {
  const size_t used = page_.values.size() + page_.offsets.size();
  const size_t room = used < limit ? limit - used : 0;
  int64_t fit = 0;
  if (type_.kind != Kind::kVariable) {
    fit = static_cast<int64_t>(room / type_.row_width());
  } else {
    const auto count_rows = [&](const auto* offsets) {
      // Offsets grow by a string's length, the page by that and the offset.
      const auto first = offsets[start];
      int64_t low = 0;
      int64_t high = end - start;
      while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        const uint64_t bytes =
            static_cast<uint64_t>(offsets[start + middle] - first) + middle * sizeof(uint32_t);
        if (bytes <= room) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      return low;
    };
    fit = type_.offset_bits == 32
              ? count_rows(static_cast<const arrow::BinaryArray&>(array).raw_value_offsets())
              : count_rows(static_cast<const arrow::LargeBinaryArray&>(array).raw_value_offsets());
  }
  if (fit == 0 && empty()) fit = 1;
  return std::min(fit, end - start);
}

void PageBuilder::AppendStates(const arrow::Array& array, const arrow::StructArray* parent,
                               int64_t start, int64_t count) {
  const uint8_t* const leaf_bits = Validity(array);
  const uint8_t* const struct_bits = parent == nullptr ? nullptr : Validity(*parent);
  const bool all_valid = leaf_bits == nullptr && struct_bits == nullptr;
  if (all_valid && page_.states.empty()) return;
  if (page_.states.empty()) page_.states.AppendFill(page_.num_rows, PageData::kValid);
  uint8_t* const states = page_.states.Extend(count);
  std::memset(states, PageData::kValid, count);
  if (leaf_bits != nullptr) {
    const int64_t offset = array.offset() + start;
    for (int64_t i = 0; i < count; ++i) states[i] = !BitIsSet(leaf_bits, offset + i);
  }
  if (struct_bits != nullptr) {
    const int64_t offset = parent->offset() + start;
    for (int64_t i = 0; i < count; ++i) {
      if (!BitIsSet(struct_bits, offset + i)) states[i] = PageData::kStructNull;
    }
  }
  page_.num_null += std::count(states, states + count, PageData::kNull);
  page_.num_struct_null += std::count(states, states + count, PageData::kStructNull);
}

void PageBuilder::AppendFixed(const arrow::Array& array, int64_t start, int64_t count) {
  const uint8_t* const source = array.data()->GetValues<uint8_t>(1, 0);
  const int64_t offset = array.offset() + start;
  uint8_t* const target = page_.values.Extend(count * type_.width);
  if (source == nullptr) {
    std::memset(target, 0, count * type_.width);
  } else if (type_.is_bool) {
    for (int64_t i = 0; i < count; ++i) target[i] = BitIsSet(source, offset + i);
  } else {
    std::memcpy(target, source + offset * type_.width, count * type_.width);
  }
  if (!page_.states.empty()) {
    FillNulls(page_.states.data(), page_.num_rows, count, type_.width, page_.values.data());
  }
}

template <typename Offset>
void PageBuilder::AppendVariable(const arrow::Array& array, int64_t start, int64_t count) {
  using ArrayType =
      std::conditional_t<sizeof(Offset) == 4, arrow::BinaryArray, arrow::LargeBinaryArray>;
  const auto& strings = static_cast<const ArrayType&>(array);
  const Offset* const source = strings.raw_value_offsets() + start;
  const uint8_t* const bytes =
      strings.value_data() == nullptr ? nullptr : strings.value_data()->data();
  if (page_.offsets.empty()) page_.offsets.AppendValue<uint32_t>(0);
  const uint8_t* const states =
      page_.states.empty() ? nullptr : page_.states.data() + page_.num_rows;

  uint32_t* const ends =
      reinterpret_cast<uint32_t*>(page_.offsets.Extend(count * sizeof(uint32_t)));
  uint64_t end = page_.values.size();
  size_t longest = page_.longest_value;
  for (int64_t i = 0; i < count; ++i) {
    size_t length = static_cast<size_t>(source[i + 1] - source[i]);
    if (states != nullptr && states[i] != PageData::kValid) length = 0;
    longest = std::max(longest, length);
    end += length;
    ends[i] = static_cast<uint32_t>(end);
  }
  page_.longest_value = longest;

  const uint64_t total = end - page_.values.size();
  if (total == 0) return;
  if (total == static_cast<uint64_t>(source[count] - source[0])) {
    page_.values.Append(bytes + source[0], total);
    return;
  }
  uint8_t* target = page_.values.Extend(total);
  for (int64_t i = 0; i < count; ++i) {
    if (states[i] != PageData::kValid) continue;
    const size_t length = static_cast<size_t>(source[i + 1] - source[i]);
    if (length == 0) continue;
    std::memcpy(target, bytes + source[i], length);
    target += length;
  }
}

void PageBuilder::AppendItemValidity(const arrow::Array& items, int64_t first_item, int64_t count) {
  const uint8_t* const bits = Validity(items);
  const size_t items_before = page_.num_rows * type_.items;
  const size_t num_items = count * type_.items;
  const uint8_t* const states =
      page_.states.empty() ? nullptr : page_.states.data() + page_.num_rows;
  // Only nulls inside valid lists count: null lists usually have null items below them.
  const auto is_null = [&](size_t item) {
    return bits != nullptr && !BitIsSet(bits, items.offset() + first_item + item) &&
           (states == nullptr || states[item / type_.items] == PageData::kValid);
  };
  if (page_.item_validity.empty()) {
    size_t item = 0;
    while (bits != nullptr && item < num_items && !is_null(item)) ++item;
    if (bits == nullptr || item == num_items) return;
    page_.item_validity.AppendFill((items_before + 7) / 8, 0xff);
  }
  const size_t bytes = (items_before + num_items + 7) / 8;
  page_.item_validity.AppendFill(bytes - page_.item_validity.size(), 0xff);
  uint8_t* const target = page_.item_validity.data();
  for (size_t item = 0; item < num_items; ++item) {
    const size_t at = items_before + item;
    const uint8_t bit = static_cast<uint8_t>(1u << (at & 7));
    target[at >> 3] = is_null(item) ? target[at >> 3] & ~bit : target[at >> 3] | bit;
  }
}

void PageBuilder::AppendLists(const arrow::Array& array, int64_t start, int64_t count) {
  const Items items = ItemsOf(array, start);
  const size_t row_width = type_.row_width();
  const uint8_t* const source = items.array->data()->GetValues<uint8_t>(1, 0);
  uint8_t* const target = page_.values.Extend(count * row_width);
  if (source == nullptr) {
    std::memset(target, 0, count * row_width);
  } else {
    std::memcpy(target, source + (items.array->offset() + items.first) * type_.width,
                count * row_width);
  }
  if (!page_.states.empty()) {
    const uint8_t* const states = page_.states.data() + page_.num_rows;
    for (int64_t i = 0; i < count; ++i) {
      if (states[i] != PageData::kValid) std::memset(target + i * row_width, 0, row_width);
    }
  }
  AppendItemValidity(*items.array, items.first, count);
}

void PageBuilder::Append(const arrow::Array& array, const arrow::StructArray* parent, int64_t start,
                         int64_t count) {
  if (empty()) {
    // Pages of a column are much alike.
    page_.values.Reserve(last_values_bytes_);
    page_.offsets.Reserve(last_offsets_bytes_);
  }
  AppendStates(array, parent, start, count);
  switch (type_.kind) {
    case Kind::kFixed:
      AppendFixed(array, start, count);
      break;
    case Kind::kVariable:
      if (type_.offset_bits == 32) {
        AppendVariable<int32_t>(array, start, count);
      } else {
        AppendVariable<int64_t>(array, start, count);
      }
      break;
    case Kind::kFixedSizeList:
      AppendLists(array, start, count);
      break;
  }
  page_.num_rows += count;
}

PageData PageBuilder::Take() {
  if (type_.kind == Kind::kFixed) BackfillLeadingNulls(&page_, type_.width);
  PageData taken = std::move(page_);
  page_ = PageData();
  last_values_bytes_ = taken.values.size();
  last_offsets_bytes_ = taken.offsets.size();
  page_.first_row = taken.first_row + taken.num_rows;
  return taken;
}

}  // namespace lake::format
