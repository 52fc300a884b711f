#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <arrow/memory_pool.h>

#include "lake/base/error.h"
#include "lake/format/leaf_type.h"

namespace arrow {
struct ArrayData;
}

namespace lake::format {

class PageDictionary;

/// The one dictionary of an Arrow dictionary column, put together from those of its pages. Not
/// thread-safe.
class DictionaryUnion {
 public:
  DictionaryUnion(LeafType value_type, arrow::MemoryPool* pool)
      : value_type_(std::move(value_type)), pool_(pool) {}

  /// Adds the values of a page's dictionary, which must outlive this object. Gives the number in
  /// the union of each of them; valid until the next call.
  Result<const std::vector<uint32_t>*> Add(const PageDictionary& page);

  /// The values, as an Arrow array of the dictionary's value type.
  Result<std::shared_ptr<arrow::ArrayData>> Finish() const;

 private:
  // A value of one of the pages.
  struct Item {
    const PageDictionary* page;
    uint32_t index;
  };

  LeafType value_type_;
  arrow::MemoryPool* pool_;
  std::vector<Item> items_;
  // Filled once there are two pages.
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<uint32_t> mapping_;
};

}  // namespace lake::format
