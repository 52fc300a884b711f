#include "lake/format/v20_concatenate_internal.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <arrow/array/array_base.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

namespace lake::format {
namespace {

Status TooMuch(std::string_view why) {
  return Error(ErrorCode::kInvalidArgument, "too many rows at once, read fewer: {}", why);
}

// The dictionary without its null items: no index means one.
Result<std::shared_ptr<arrow::Array>> WithoutNulls(const std::shared_ptr<arrow::Array>& items,
                                                   std::vector<int32_t>* places,
                                                   arrow::MemoryPool* pool) {
  arrow::ArrayVector runs;
  int32_t next = 0;
  int64_t begin = 0;
  for (int64_t i = 0; i <= items->length(); ++i) {
    if (i < items->length() && items->IsValid(i)) {
      places->push_back(next++);
      continue;
    }
    if (i > begin) runs.push_back(items->Slice(begin, i - begin));
    begin = i + 1;
    if (i < items->length()) places->push_back(0);
  }
  if (runs.empty()) return items->Slice(0, 0);
  return arrow::Concatenate(runs, pool);
}

Result<std::shared_ptr<arrow::Array>> ConcatenateDictionaries(const arrow::ArrayVector& parts,
                                                              arrow::MemoryPool* pool) {
  const auto& type = static_cast<const arrow::DictionaryType&>(*parts[0]->type());
  ARROW_ASSIGN_OR_RAISE(auto unifier, arrow::DictionaryUnifier::Make(type.value_type(), pool));
  std::vector<std::vector<int32_t>> places(parts.size());
  std::vector<std::shared_ptr<arrow::Buffer>> transposes(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& part = static_cast<const arrow::DictionaryArray&>(*parts[i]);
    ARROW_ASSIGN_OR_RAISE(const auto items, WithoutNulls(part.dictionary(), &places[i], pool));
    ARROW_RETURN_NOT_OK(unifier->Unify(*items, &transposes[i]));
  }
  std::shared_ptr<arrow::Array> dictionary;
  if (!unifier->GetResultWithIndexType(type.index_type(), &dictionary).ok()) {
    return TooMuch("dictionaries of several pages together have too many items");
  }
  arrow::ArrayVector transposed;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& part = static_cast<const arrow::DictionaryArray&>(*parts[i]);
    const auto* const map = reinterpret_cast<const int32_t*>(transposes[i]->data());
    const int64_t known = transposes[i]->size() / static_cast<int64_t>(sizeof(int32_t));
    for (int32_t& place : places[i]) place = place < known ? map[place] : 0;
    if (places[i].empty()) places[i].push_back(0);
    ARROW_ASSIGN_OR_RAISE(auto array,
                          part.Transpose(parts[0]->type(), dictionary, places[i].data(), pool));
    transposed.push_back(std::move(array));
  }
  return arrow::Concatenate(transposed, pool);
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> V20Concatenate(const arrow::ArrayVector& parts,
                                                     arrow::MemoryPool* pool) {
  if (parts.size() == 1) return parts[0];
  const auto& type = *parts[0]->type();
  if (type.id() == arrow::Type::DICTIONARY) return ConcatenateDictionaries(parts, pool);
  if (arrow::is_binary_like(type.id())) {
    int64_t total = 0;
    for (const auto& part : parts) {
      total += part->data()->buffers[2] == nullptr ? 0 : part->data()->buffers[2]->size();
    }
    if (total > std::numeric_limits<int32_t>::max()) {
      return TooMuch("the values of a column pass 2 GiB");
    }
  }
  return arrow::Concatenate(parts, pool);
}

}  // namespace lake::format
