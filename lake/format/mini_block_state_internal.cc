#include "lake/format/mini_block_state_internal.h"

#include <algorithm>

#include "lake/base/checked.h"
#include "lake/format/container.h"

namespace lake::format {
namespace {

// A chunk's word has 4 bits for the logarithm of its values, so 2^15 at most; the last chunk's
// number is what is left, and levels are counted by 16 bits.
constexpr uint64_t kMaxChunkValues = 1 << 16;
constexpr uint64_t kChunkAlignment = 8;

template <typename Word>
Status DecodeChunkTable(std::string_view words, uint64_t data_size, uint64_t num_values,
                        MiniBlockState* state) {
  const size_t count = words.size() / sizeof(Word);
  state->byte_start.resize(count + 1);
  state->value_start.resize(count + 1);
  uint64_t bytes = 0;
  uint64_t values = 0;
  for (size_t i = 0; i < count; ++i) {
    const Word word = LoadLittle<Word>(words.data() + i * sizeof(Word));
    const unsigned log_values = word & 15;
    bytes += ((static_cast<uint64_t>(word) >> 4) + 1) * kChunkAlignment;
    // The last chunk holds what is left. Its logarithm is 0, but some writers tell it where they
    // can.
    if (i + 1 < count || log_values != 0) {
      values += uint64_t{1} << log_values;
    } else if (values <= num_values && num_values - values <= kMaxChunkValues) {
      values = num_values;
    } else {
      return Error(ErrorCode::kCorrupt, "last chunk starts at value {} of {}", values, num_values);
    }
    if (values > num_values || bytes > data_size) {
      return Error(ErrorCode::kCorrupt, "chunk {} ends at byte {} of {} and value {} of {}", i,
                   bytes, data_size, values, num_values);
    }
    state->byte_start[i + 1] = bytes;
    state->value_start[i + 1] = values;
  }
  if (values != num_values) {
    return Error(ErrorCode::kCorrupt, "chunks hold {} values of {}", values, num_values);
  }
  return Status::OK();
}

}  // namespace

size_t MiniBlockState::MemoryUse() const {
  return sizeof(*this) +
         (byte_start.capacity() + value_start.capacity() + rows_ended.capacity()) *
             sizeof(uint64_t) +
         goes_on.capacity() / 8 + (dictionary ? dictionary->MemoryUse() : 0);
}

Status MiniBlockState::SetChunks(std::string_view words, bool wide, uint64_t data_size,
                                 uint64_t num_values) {
  return wide ? DecodeChunkTable<uint32_t>(words, data_size, num_values, this)
              : DecodeChunkTable<uint16_t>(words, data_size, num_values, this);
}

// Two words of 64 bits for each chunk: rows that end in it, and entries of a last row that does
// not.
Status MiniBlockState::SetRows(std::string_view index, uint64_t num_rows) {
  constexpr size_t kEntry = 2 * sizeof(uint64_t);
  const size_t count = num_chunks();
  if (index.size() != count * kEntry) {
    return Error(ErrorCode::kCorrupt, "repetition index has {} bytes for {} chunks", index.size(),
                 count);
  }
  rows_ended.resize(count + 1);
  goes_on.resize(count);
  uint64_t rows = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto sum = CheckedAdd(rows, LoadLittle<uint64_t>(index.data() + i * kEntry));
    if (!sum || *sum > num_rows) {
      return Error(ErrorCode::kCorrupt, "repetition index has more rows than the page, {}",
                   num_rows);
    }
    rows = *sum;
    rows_ended[i + 1] = rows;
    goes_on[i] = LoadLittle<uint64_t>(index.data() + i * kEntry + sizeof(uint64_t)) != 0;
  }
  if (rows != num_rows || (count > 0 && goes_on[count - 1])) {
    return Error(ErrorCode::kCorrupt, "repetition index ends at row {} of {}", rows, num_rows);
  }
  return Status::OK();
}

std::vector<size_t> MiniBlockState::ChunksOf(std::span<const RowRange> rows) const {
  // Where the rows of a chunk end: a row that goes on is not over.
  const std::vector<uint64_t>& ends = has_lists() ? rows_ended : value_start;
  std::vector<size_t> chunks;
  for (const RowRange& range : rows) {
    if (!chunks.empty() && !has_lists() && range.end() <= ends[chunks.back() + 1]) continue;
    // The first chunk in which `range.start` or a later row ends holds it; a row may begin earlier.
    size_t chunk = static_cast<size_t>(std::upper_bound(ends.begin() + 1, ends.end(), range.start) -
                                       ends.begin() - 1);
    while (has_lists() && chunk > 0 && goes_on[chunk - 1] && ends[chunk] == range.start) --chunk;
    if (!chunks.empty()) chunk = std::max(chunk, chunks.back() + 1);
    for (; chunk < num_chunks(); ++chunk) {
      // Rows up to ends[chunk] are over before it.
      if (ends[chunk] >= range.end()) break;
      chunks.push_back(chunk);
    }
  }
  return chunks;
}

}  // namespace lake::format
