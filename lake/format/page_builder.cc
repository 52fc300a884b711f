#include "lake/format/page_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "lake/format/array_access.h"

namespace lake::format {
namespace {

using Kind = ValueShape::Kind;

// A page of which this part is there will probably be filled.
constexpr size_t kLikelyFull = 16;
// Growing up to here costs nothing, and thousands of columns together would take more than they
// need.
constexpr size_t kSmallPage = 64 * 1024;

// Pages of strings of one size differ a little in how much of them is text.
size_t WithMargin(size_t bytes) { return bytes + bytes / 64; }

// Repeats the value before each null, so that nulls neither break runs nor widen bit packing. What
// stands before the first valid value of a page is filled in by BackfillLeadingNulls.
template <typename T>
void FillNulls(const uint8_t* states, size_t first, size_t count, uint8_t* values) {
  T before{};
  if (first != 0) std::memcpy(&before, values + (first - 1) * sizeof(T), sizeof(T));
  for (size_t i = first; i < first + count; ++i) {
    T value;
    std::memcpy(&value, values + i * sizeof(T), sizeof(T));
    // No branch: where nulls are cannot be foretold.
    before = states[i] == PageData::kValid ? value : before;
    std::memcpy(values + i * sizeof(T), &before, sizeof(T));
  }
}

void FillWideNulls(const uint8_t* states, size_t first, size_t count, size_t width,
                   uint8_t* values) {
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
      return FillNulls<uint8_t>(states, first, count, values);
    case 2:
      return FillNulls<uint16_t>(states, first, count, values);
    case 4:
      return FillNulls<uint32_t>(states, first, count, values);
    case 8:
      return FillNulls<uint64_t>(states, first, count, values);
    default:
      return FillWideNulls(states, first, count, width, values);
  }
}

void BackfillLeadingNulls(PageData* page, size_t width) {
  if (page->states.empty() || page->num_valid() == 0 || width == 0) return;
  const uint8_t* const states = page->states.data();
  size_t first = 0;
  while (states[first] != PageData::kValid) ++first;
  uint8_t* const values = page->values.data();
  for (size_t i = 0; i < first; ++i) std::memcpy(values + i * width, values + first * width, width);
}

void CopyBools(const uint8_t* bits, int64_t offset, int64_t count, uint8_t* target) {
  for (int64_t i = 0; i < count; ++i) target[i] = BitIsSet(bits, offset + i);
}

}  // namespace

ValueShape ValueShapeOf(const arrow::DataType& type) {
  ValueShape shape;
  switch (type.id()) {
    case arrow::Type::NA:
    case arrow::Type::STRUCT:
      return shape;
    case arrow::Type::EXTENSION:
      return ValueShapeOf(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryType&>(type);
      shape = ValueShapeOf(*dictionary.index_type());
      shape.entries = std::make_shared<ValueShape>(ValueShapeOf(*dictionary.value_type()));
      return shape;
    }
    case arrow::Type::BOOL:
      shape.is_bool = true;
      shape.width = 1;
      return shape;
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      shape.kind = Kind::kVariable;
      shape.is_text = type.id() == arrow::Type::STRING || type.id() == arrow::Type::LARGE_STRING;
      shape.offset_bits =
          type.id() == arrow::Type::STRING || type.id() == arrow::Type::BINARY ? 32 : 64;
      return shape;
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
      shape = ValueShapeOf(*list.value_type());
      shape.kind = Kind::kFixedSizeList;
      shape.items *= list.list_size();
      shape.dimensions.insert(shape.dimensions.begin(), list.list_size());
      return shape;
    }
    default:
      shape.is_float = type.id() == arrow::Type::FLOAT || type.id() == arrow::Type::DOUBLE;
      shape.width = type.byte_width();
      return shape;
  }
}

uint64_t PageBuilder::BytesOf(const LeafRows& rows, int64_t start, int64_t end) const {
  const RowLevels::Range range = rows.LeafRange(start, end);
  if (shape_.kind != Kind::kVariable) {
    const uint64_t bytes = range.count * std::max<size_t>(shape_.row_width(), 1);
    return shape_.entries ? bytes + EntryBytes(rows.leaf(), range.count) : bytes;
  }
  const auto text_bytes = [&range](const auto* offsets) {
    return static_cast<uint64_t>(offsets[range.start + range.count] - offsets[range.start]);
  };
  const arrow::Array& leaf = rows.leaf();
  if (leaf.length() == 0) return 0;
  return range.count * sizeof(uint32_t) +
         (shape_.offset_bits == 32
              ? text_bytes(static_cast<const arrow::BinaryArray&>(leaf).raw_value_offsets())
              : text_bytes(static_cast<const arrow::LargeBinaryArray&>(leaf).raw_value_offsets()));
}

// What `count` slots add to the page's dictionary if each has an entry of its own, of middle size.
uint64_t PageBuilder::EntryBytes(const arrow::Array& leaf, int64_t count) const {
  const int64_t length = static_cast<const arrow::DictionaryArray&>(leaf).dictionary()->length();
  const uint64_t bytes = DictionaryBytes(leaf, *shape_.entries);
  if (count >= length) return bytes;
  return bytes / static_cast<uint64_t>(length) * static_cast<uint64_t>(count);
}

int64_t PageBuilder::RowsThatFit(const LeafRows& rows, int64_t start, int64_t end,
                                 size_t limit) const {
  if (shape_.entries && !empty() && !merger_.HasRoom(rows.leaf(), page_.dictionary)) return 0;
  const size_t used = page_.values.size() + page_.offsets.size() + page_.dictionary.entries.size();
  const size_t room = used < limit ? limit - used : 0;
  int64_t fit = end - start;
  if (BytesOf(rows, start, end) > room) {
    int64_t low = 0;
    while (low < fit) {
      const int64_t middle = low + (fit - low + 1) / 2;
      if (BytesOf(rows, start, start + middle) <= room) {
        low = middle;
      } else {
        fit = middle - 1;
      }
    }
  }
  return fit == 0 && empty() ? 1 : fit;
}

size_t PageBuilder::LevelRoom(bool specials) const {
  if (!specials && page_.num_special() == 0) return SIZE_MAX;
  return page_.codes.size() < most_levels_ ? most_levels_ - page_.codes.size() : 0;
}

const uint8_t* PageBuilder::StatesFrom(size_t value) const {
  return page_.states.empty() ? nullptr : page_.states.data() + value;
}

void PageBuilder::AppendStates(const RowLevels& levels) {
  if (!levels.codes.empty()) {
    page_.repetitions.Append(levels.repetitions.data(), levels.repetitions.size());
    page_.codes.Append(levels.codes.data(), levels.codes.size());
  }
  if (levels.states.empty()) {
    if (!page_.states.empty()) page_.states.AppendFill(levels.num_values, PageData::kValid);
    return;
  }
  if (page_.states.empty()) page_.states.AppendFill(page_.num_values, PageData::kValid);
  page_.states.Append(levels.states.data(), levels.states.size());
  page_.num_null += levels.states.size() -
                    std::count(levels.states.begin(), levels.states.end(), PageData::kValid);
}

void PageBuilder::AppendFixed(const arrow::Array& array, int64_t start, int64_t count) {
  if (shape_.width == 0) return;
  const uint8_t* const source = array.data()->GetValues<uint8_t>(1, 0);
  const int64_t offset = array.offset() + start;
  uint8_t* const target = page_.values.Extend(count * shape_.width);
  if (source == nullptr) {
    std::memset(target, 0, count * shape_.width);
  } else if (shape_.is_bool) {
    CopyBools(source, offset, count, target);
  } else {
    std::memcpy(target, source + offset * shape_.width, count * shape_.width);
  }
  if (!page_.states.empty()) {
    FillNulls(page_.states.data(), page_.num_values, count, shape_.width, page_.values.data());
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
  const uint8_t* const states = StatesFrom(page_.num_values);

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

void PageBuilder::AppendItemValidity(size_t dimension, size_t items_per_value,
                                     const arrow::Array& items, int64_t first_item, int64_t count) {
  const uint8_t* const bits = Validity(items);
  ByteBuffer& validity = page_.item_validity[dimension];
  if (bits == nullptr && validity.empty()) return;
  const auto width = static_cast<int64_t>(items_per_value);
  const int64_t before = static_cast<int64_t>(page_.num_values) * width;
  const auto grow = [&] {
    const auto bytes = static_cast<size_t>(arrow::bit_util::BytesForBits(before + count * width));
    if (bytes > validity.size()) validity.AppendFill(bytes - validity.size(), 0xff);
  };
  if (!validity.empty()) grow();
  const uint8_t* const states = StatesFrom(page_.num_values);
  const auto is_null = [&](int64_t value) {
    return states != nullptr && states[value] != PageData::kValid;
  };
  for (int64_t begin = 0; begin < count;) {
    int64_t end = begin + 1;
    while (end < count && is_null(end) == is_null(begin)) ++end;
    const int64_t first = items.offset() + first_item + begin * width;
    const int64_t length = (end - begin) * width;
    const int64_t target = before + begin * width;
    // Only nulls inside valid lists count: null lists usually have null items below them.
    if (is_null(begin) || bits == nullptr ||
        arrow::internal::CountSetBits(bits, first, length) == length) {
      if (!validity.empty()) arrow::bit_util::SetBitsTo(validity.data(), target, length, true);
    } else {
      grow();
      arrow::internal::CopyBitmap(bits, first, length, validity.data(), target);
    }
    begin = end;
  }
}

void PageBuilder::AppendLists(const arrow::Array& array, int64_t start, int64_t count) {
  page_.item_validity.resize(shape_.dimensions.size());
  const arrow::Array* lists = &array;
  std::shared_ptr<arrow::Array> items;
  size_t items_per_value = 1;
  for (size_t dimension = 0; dimension < shape_.dimensions.size(); ++dimension) {
    const auto& typed = static_cast<const arrow::FixedSizeListArray&>(*lists);
    start = typed.value_offset(start);
    items = StorageOf(typed.values());
    items_per_value *= shape_.dimensions[dimension];
    AppendItemValidity(dimension, items_per_value, *items, start, count);
    lists = items.get();
  }
  const size_t row_width = shape_.row_width();
  const uint8_t* const source = items->data()->GetValues<uint8_t>(1, 0);
  uint8_t* const target = page_.values.Extend(count * row_width);
  if (source == nullptr) {
    std::memset(target, 0, count * row_width);
  } else if (shape_.is_bool) {
    CopyBools(source, items->offset() + start, count * shape_.items, target);
  } else {
    std::memcpy(target, source + (items->offset() + start) * shape_.width, count * row_width);
  }
  if (const uint8_t* const states = StatesFrom(page_.num_values)) {
    for (int64_t i = 0; i < count; ++i) {
      if (states[i] != PageData::kValid) std::memset(target + i * row_width, 0, row_width);
    }
  }
}

// Memory is taken once for the whole page: growing step by step would copy it several times over.
void PageBuilder::ReserveMemory() {
  if (empty()) {
    // Pages of a column are much alike.
    page_.values.Reserve(WithMargin(last_values_bytes_));
    page_.offsets.Reserve(WithMargin(last_offsets_bytes_));
    return;
  }
  const size_t used = page_.values.size() + page_.offsets.size();
  const size_t enough = std::max(usual_bytes_ / kLikelyFull, kSmallPage);
  if (has_room_ || used < enough || used >= usual_bytes_) return;
  has_room_ = true;
  const double growth = static_cast<double>(usual_bytes_) / static_cast<double>(used);
  for (ByteBuffer* buffer : {&page_.values, &page_.offsets, &page_.states}) {
    if (buffer->empty()) continue;
    buffer->Reserve(WithMargin(static_cast<size_t>(growth * static_cast<double>(buffer->size()))));
  }
}

void PageBuilder::Append(const arrow::Array& leaf, const RowLevels& levels, int64_t num_rows) {
  ReserveMemory();
  AppendStates(levels);
  if (shape_.kind == Kind::kVariable && page_.offsets.empty()) {
    page_.offsets.AppendValue<uint32_t>(0);
  }
  if (shape_.entries) merger_.Begin(leaf);
  for (const RowLevels::Range& range : levels.ranges) {
    switch (shape_.kind) {
      case Kind::kFixed:
        if (shape_.entries) {
          merger_.Append(leaf, range.start, range.count, &page_);
          break;
        }
        AppendFixed(leaf, range.start, range.count);
        break;
      case Kind::kVariable:
        if (shape_.offset_bits == 32) {
          AppendVariable<int32_t>(leaf, range.start, range.count);
        } else {
          AppendVariable<int64_t>(leaf, range.start, range.count);
        }
        break;
      case Kind::kFixedSizeList:
        AppendLists(leaf, range.start, range.count);
        break;
    }
    page_.num_values += range.count;
  }
  page_.num_rows += num_rows;
}

PageData PageBuilder::Take() {
  if (shape_.kind == Kind::kFixed) BackfillLeadingNulls(&page_, shape_.width);
  merger_.Clear();
  PageData taken = std::move(page_);
  page_ = PageData();
  has_room_ = false;
  last_values_bytes_ = taken.values.size();
  last_offsets_bytes_ = taken.offsets.size();
  page_.first_row = taken.first_row + taken.num_rows;
  return taken;
}

}  // namespace lake::format
