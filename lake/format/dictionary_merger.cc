#include "lake/format/dictionary_merger.h"

#include <arrow/array.h>

namespace lake::format {
namespace {

constexpr uint32_t kUnused = UINT32_MAX;

// The bytes of one value of an array.
std::string_view BytesOf(const arrow::Array& values, const ValueShape& shape, int64_t index) {
  if (shape.kind == ValueShape::Kind::kVariable) {
    return shape.offset_bits == 32
               ? static_cast<const arrow::BinaryArray&>(values).GetView(index)
               : static_cast<const arrow::LargeBinaryArray&>(values).GetView(index);
  }
  const uint8_t* const bytes = values.data()->GetValues<uint8_t>(1, 0);
  return {reinterpret_cast<const char*>(bytes) + (values.offset() + index) * shape.width,
          shape.width};
}

// Indices of a signed type use half of its numbers.
uint64_t MostEntries(arrow::Type::type index) {
  switch (index) {
    case arrow::Type::INT8:
      return uint64_t{1} << 7;
    case arrow::Type::UINT8:
      return uint64_t{1} << 8;
    case arrow::Type::INT16:
      return uint64_t{1} << 15;
    case arrow::Type::UINT16:
      return uint64_t{1} << 16;
    default:
      return uint64_t{1} << 31;
  }
}

}  // namespace

uint64_t DictionaryBytes(const arrow::Array& array, const ValueShape& entries) {
  const arrow::Array& values = *static_cast<const arrow::DictionaryArray&>(array).dictionary();
  if (values.length() == 0) return 0;
  if (entries.kind != ValueShape::Kind::kVariable) {
    return static_cast<uint64_t>(values.length()) * entries.width;
  }
  return static_cast<uint64_t>(
      entries.offset_bits == 32
          ? static_cast<const arrow::BinaryArray&>(values).total_values_length()
          : static_cast<const arrow::LargeBinaryArray&>(values).total_values_length());
}

DictionaryMerger::DictionaryMerger(const ValueShape& shape) : shape_(shape) {}

bool DictionaryMerger::HasRoom(const arrow::Array& array, const Dictionary& dictionary) const {
  const auto& typed = static_cast<const arrow::DictionaryArray&>(array);
  const arrow::Array& values = *typed.dictionary();
  const uint64_t most = MostEntries(typed.indices()->type_id());
  if (dictionary.entries.size() + DictionaryBytes(array, *shape_.entries) >= kMostDictionaryBytes) {
    return false;
  }
  if (dictionary.count + static_cast<uint64_t>(values.length()) <= most) return true;
  uint64_t count = dictionary.count;
  for (int64_t i = 0; i < values.length() && count <= most; ++i) {
    count += !entries_.contains(std::string(BytesOf(values, *shape_.entries, i)));
  }
  return count <= most;
}

uint32_t DictionaryMerger::FindOrAdd(std::string_view value, Dictionary* dictionary) {
  const auto [found, added] = entries_.try_emplace(std::string(value), dictionary->count);
  if (!added) return found->second;
  const bool variable = shape_.entries->kind == ValueShape::Kind::kVariable;
  if (variable && dictionary->offsets.empty()) dictionary->offsets.AppendValue<uint32_t>(0);
  dictionary->entries.Append(value.data(), value.size());
  if (variable) {
    dictionary->offsets.AppendValue(static_cast<uint32_t>(dictionary->entries.size()));
  }
  return dictionary->count++;
}

template <typename Index>
void DictionaryMerger::AppendIndices(const arrow::Array& array, int64_t start, int64_t count,
                                     PageData* page) {
  const auto& typed = static_cast<const arrow::DictionaryArray&>(array);
  const arrow::Array& values = *typed.dictionary();
  const auto* const indices = typed.indices()->data()->GetValues<Index>(1);
  const uint8_t* const states =
      page->states.empty() ? nullptr : page->states.data() + page->num_values;
  auto* const target = reinterpret_cast<Index*>(page->values.Extend(count * sizeof(Index)));
  Index last = page->num_values == 0 ? Index{0} : target[-1];
  for (int64_t i = 0; i < count; ++i) {
    if (states == nullptr || states[i] == PageData::kValid) {
      const auto index = static_cast<uint64_t>(indices[start + i]);
      if (numbers_[index] == kUnused) {
        numbers_[index] = FindOrAdd(BytesOf(values, *shape_.entries, static_cast<int64_t>(index)),
                                    &page->dictionary);
      }
      last = static_cast<Index>(numbers_[index]);
    }
    target[i] = last;
  }
}

void DictionaryMerger::Begin(const arrow::Array& array) {
  const auto& typed = static_cast<const arrow::DictionaryArray&>(array);
  numbers_.assign(static_cast<size_t>(typed.dictionary()->length()), kUnused);
}

void DictionaryMerger::Append(const arrow::Array& array, int64_t start, int64_t count,
                              PageData* page) {
  switch (shape_.width) {
    case 1:
      return AppendIndices<uint8_t>(array, start, count, page);
    case 2:
      return AppendIndices<uint16_t>(array, start, count, page);
    case 4:
      return AppendIndices<uint32_t>(array, start, count, page);
    default:
      return AppendIndices<uint64_t>(array, start, count, page);
  }
}

}  // namespace lake::format
