#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lake/format/page_data.h"

namespace arrow {
class Array;
}

namespace lake::format {

/// Brings the dictionaries of many arrays of a dictionary column together to the one of a page.
/// Entries come in order of their first use. Not thread-safe.
class DictionaryMerger {
 public:
  /// `shape` is that of the column and outlives this object.
  explicit DictionaryMerger(const ValueShape& shape);

  /// Whether all entries of `values` could be added to `dictionary` without more entries than
  /// indices can count.
  bool HasRoom(const arrow::Array& values, const Dictionary& dictionary) const;

  /// Appends the indices of `count` slots from `start` of the dictionary array `array` to
  /// `page->values`, and the entries that they use to `page->dictionary`. Null slots repeat the
  /// index before. REQUIRES: indices lie within the dictionary, entries are not null.
  void Append(const arrow::Array& array, int64_t start, int64_t count, PageData* page);

  /// Forgets the entries: a new page begins.
  void Clear() { entries_.clear(); }

 private:
  template <typename Index>
  void AppendIndices(const arrow::Array& array, int64_t start, int64_t count, PageData* page);
  uint32_t FindOrAdd(std::string_view value, Dictionary* dictionary);

  const ValueShape& shape_;
  std::unordered_map<std::string, uint32_t> entries_;
};

}  // namespace lake::format
