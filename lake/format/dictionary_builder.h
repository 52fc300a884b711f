#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lake/format/byte_buffer.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// The distinct values of a page and, for each row, which one it is.
struct Dictionary {
  /// Distinct values in order of appearance, back to back.
  ByteBuffer entries;
  /// For strings: one u32 more than entries, into `entries`.
  ByteBuffer offsets;
  uint32_t count = 0;
  /// u32, one per row; a null row repeats the index before it.
  ByteBuffer indices;
};

/// Builds the dictionary of a page of strings or of 8 or 16 byte values. Nothing where the values
/// are too few or too different: under 100 rows, more distinct values than half the rows or than
/// 100,000, nearly all distinct among the first 16,384 rows, or where it becomes certain on the way
/// that entries and indices take `max_bytes`. `runs` is a lower bound of the runs in the page.
std::optional<Dictionary> BuildDictionary(const ValueShape& type, const PageData& page,
                                          size_t max_bytes = SIZE_MAX, size_t runs = 0);

}  // namespace lake::format
