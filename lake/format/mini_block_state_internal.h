#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lake/format/dictionary_internal.h"
#include "lake/format/mini_block_values_internal.h"
#include "lake/format/page_decoder_internal.h"

namespace lake::format {

/// Where the chunks of a mini-block page lie, and which values and rows they hold. Immutable once
/// made.
struct MiniBlockState : PageState {
  using PageState::PageState;

  /// One more entry than there are chunks.
  std::vector<uint64_t> byte_start;
  std::vector<uint64_t> value_start;
  /// Of a page of lists, where values are not rows: rows that ended before each chunk, and whether
  /// the last row of each chunk goes on in the next one. Else empty.
  std::vector<uint64_t> rows_ended;
  std::vector<bool> goes_on;
  MiniBlockValues values;
  std::optional<PageDictionary> dictionary;

  size_t num_chunks() const { return byte_start.size() - 1; }
  bool has_lists() const { return !rows_ended.empty(); }
  size_t MemoryUse() const override;

  /// Decodes the table of chunks: words of 16 or 32 bits. kCorrupt if the chunks do not have
  /// `num_values` values in `data_size` bytes.
  Status SetChunks(std::string_view words, bool wide, uint64_t data_size, uint64_t num_values);
  /// Decodes the repetition index of a page of `num_rows` rows. kCorrupt if it is not one.
  Status SetRows(std::string_view index, uint64_t num_rows);

  /// The chunks that hold `rows` (of the page, ascending), each once, ascending.
  std::vector<size_t> ChunksOf(std::span<const RowRange> rows) const;
};

}  // namespace lake::format
