#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lake/format/page_data.h"

namespace arrow {
class Array;
}

namespace lake::format {

/// The entries of a page and of an array are fewer bytes than this: their offsets have 32 bits.
inline constexpr uint64_t kMostDictionaryBytes = uint64_t{1} << 31;

/// Bytes of all values of the dictionary array `array`, whose entries have the form `entries`.
uint64_t DictionaryBytes(const arrow::Array& array, const ValueShape& entries);

/// Brings the dictionaries of many arrays of a dictionary column together to the one of a page.
/// Entries come in order of their first use. Not thread-safe.
class DictionaryMerger {
 public:
  /// `shape` is that of the column and outlives this object.
  explicit DictionaryMerger(const ValueShape& shape);

  /// Whether all entries of `values` could be added to `dictionary` without more entries than
  /// indices can count, or more bytes than kMostDictionaryBytes.
  bool HasRoom(const arrow::Array& values, const Dictionary& dictionary) const;

  /// Begins to append slots of the dictionary array `array`.
  void Begin(const arrow::Array& array);

  /// Appends the indices of `count` slots from `start` of the dictionary array `array` to
  /// `page->values`, and the entries that they use to `page->dictionary`. Null slots repeat the
  /// index before. REQUIRES: Begin(array); indices lie within the dictionary, entries are not null,
  /// and have fewer bytes than kMostDictionaryBytes.
  void Append(const arrow::Array& array, int64_t start, int64_t count, PageData* page);

  /// Forgets the entries: a new page begins.
  void Clear() { entries_.clear(); }

 private:
  template <typename Index>
  void AppendIndices(const arrow::Array& array, int64_t start, int64_t count, PageData* page);
  uint32_t FindOrAdd(std::string_view value, Dictionary* dictionary);

  const ValueShape& shape_;
  std::unordered_map<std::string, uint32_t> entries_;
  // Of each value of the array that is being appended, its entry once it has one.
  std::vector<uint32_t> numbers_;
};

}  // namespace lake::format
