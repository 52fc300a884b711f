#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lake/format/byte_buffer.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// When a dictionary is given up.
struct DictionaryLimits {
  /// At most one distinct value per so many.
  double divisor = 2;
  /// Bytes of entries and indices that are too many.
  size_t max_bytes = SIZE_MAX;
  /// A lower bound of the runs in the page.
  size_t runs = 0;
};

/// Builds the dictionary of a page of strings or of 8 or 16 byte values. Nothing where the values
/// are too few or too different: under 100, more distinct ones than `limits` allow or than 100,000,
/// nearly all distinct among the first 16,384, or where it becomes certain on the way that entries
/// and indices take limits.max_bytes.
std::optional<Dictionary> BuildDictionary(const ValueShape& type, const PageData& page,
                                          const DictionaryLimits& limits = {});

}  // namespace lake::format
