#include "lake/format/dictionary_union.h"

#include <limits>

#include "lake/format/dictionary_internal.h"
#include "lake/format/leaf_builder.h"

namespace lake::format {

Result<const std::vector<uint32_t>*> DictionaryUnion::Add(const PageDictionary& page) {
  if (page.num_items() > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    return Error(ErrorCode::kCorrupt, "dictionary of {} values", page.num_items());
  }
  const uint32_t count = static_cast<uint32_t>(page.num_items());
  mapping_.resize(count);
  if (items_.empty()) {
    // Mostly there is only one.
    items_.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
      mapping_[i] = i;
      items_.push_back({&page, i});
    }
    return &mapping_;
  }
  if (numbers_.empty()) {
    for (uint32_t i = 0; i < items_.size(); ++i) {
      numbers_.try_emplace(std::string(items_[i].page->Item(items_[i].index)), i);
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    const auto [found, added] =
        numbers_.try_emplace(std::string(page.Item(i)), static_cast<uint32_t>(items_.size()));
    if (added) items_.push_back({&page, i});
    mapping_[i] = found->second;
  }
  return &mapping_;
}

Result<std::shared_ptr<arrow::ArrayData>> DictionaryUnion::Finish() const {
  ARROW_ASSIGN_OR_RAISE(LeafBuilder values,
                        LeafBuilder::Make(value_type_, Nesting(), items_.size(), pool_));
  std::vector<uint32_t> indices;
  for (size_t i = 0; i < items_.size();) {
    const PageDictionary* const page = items_[i].page;
    indices.clear();
    for (; i < items_.size() && items_[i].page == page; ++i) indices.push_back(items_[i].index);
    ARROW_RETURN_NOT_OK(page->Append(indices.data(), nullptr, indices.size(), &values));
  }
  return values.Finish();
}

}  // namespace lake::format
