#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lake/base/checked.h"
#include "lake/format/block_decoder_internal.h"
#include "lake/format/container.h"
#include "lake/format/dictionary_internal.h"
#include "lake/format/mini_block_values_internal.h"
#include "lake/format/page_decoder_internal.h"

namespace lake::format {
namespace {

// A chunk's word has 4 bits for the logarithm of its values, so 2^15 at most; the last chunk's
// number is what is left, and levels are counted by 16 bits.
constexpr uint64_t kMaxChunkValues = 1 << 16;
constexpr uint64_t kChunkAlignment = 8;

// Where the chunks of a page lie, and which rows they hold.
struct MiniBlockState : PageState {
  using PageState::PageState;

  // One more entry than there are chunks.
  std::vector<uint64_t> byte_start;
  std::vector<uint64_t> row_start;
  MiniBlockValues values;
  std::optional<PageDictionary> dictionary;

  size_t num_chunks() const { return row_start.size() - 1; }

  size_t MemoryUse() const override {
    return sizeof(*this) + (byte_start.capacity() + row_start.capacity()) * sizeof(uint64_t) +
           (dictionary ? dictionary->MemoryUse() : 0);
  }
};

// The table of chunks: a word of 16 or 32 bits each.
template <typename Word>
Status DecodeChunkTable(std::string_view words, uint64_t data_size, uint64_t num_rows,
                        MiniBlockState* state) {
  const size_t count = words.size() / sizeof(Word);
  state->byte_start.resize(count + 1);
  state->row_start.resize(count + 1);
  uint64_t bytes = 0;
  uint64_t rows = 0;
  for (size_t i = 0; i < count; ++i) {
    const Word word = LoadLittle<Word>(words.data() + i * sizeof(Word));
    const unsigned log_values = word & 15;
    bytes += ((static_cast<uint64_t>(word) >> 4) + 1) * kChunkAlignment;
    // The last chunk holds what is left. Its logarithm is 0, but some writers tell it where they
    // can.
    if (i + 1 < count || log_values != 0) {
      rows += uint64_t{1} << log_values;
    } else if (rows <= num_rows && num_rows - rows <= kMaxChunkValues) {
      rows = num_rows;
    } else {
      return Error(ErrorCode::kCorrupt, "last chunk starts at row {} of {}", rows, num_rows);
    }
    if (rows > num_rows || bytes > data_size) {
      return Error(ErrorCode::kCorrupt, "chunk {} ends at byte {} of {} and row {} of {}", i, bytes,
                   data_size, rows, num_rows);
    }
    state->byte_start[i + 1] = bytes;
    state->row_start[i + 1] = rows;
  }
  if (rows != num_rows) {
    return Error(ErrorCode::kCorrupt, "chunks hold {} rows of {}", rows, num_rows);
  }
  return Status::OK();
}

class MiniBlockDecoder : public PageDecoder {
 public:
  explicit MiniBlockDecoder(PageTask task)
      : task_(std::move(task)), layout_(task_.page->layout.mini_block()) {}

  Status CheckLayout() const;
  Status PlanState(std::shared_ptr<const PageState> cached, RangeReads* reads) override;
  Status PlanData(const RangeReads& state, RangeReads* reads) override;
  Status Decode(const RangeReads& state, const RangeReads& data, DecodeScratch* scratch,
                LeafBuilder* builder) override;
  std::shared_ptr<const PageState> state() const override { return state_; }

 private:
  // Chunk `index`, whose bytes start at `offset` of the buffer that was read under `number`.
  struct WantedChunk {
    size_t index;
    size_t number;
    uint64_t offset;
  };

  Result<std::shared_ptr<const MiniBlockState>> MakeState(const RangeReads& reads) const;
  Status DecodeChunk(std::string_view chunk, uint64_t total, DecodeScratch* scratch,
                     LeafBuilder* builder) const;
  Status AppendDictionary(std::span<const std::string_view> buffers, uint64_t total,
                          const uint16_t* levels, DecodeScratch* scratch,
                          LeafBuilder* builder) const;

  PageTask task_;
  const pb::MiniBlockLayout& layout_;
  std::shared_ptr<const MiniBlockState> state_;
  size_t words_read_ = 0;
  size_t dictionary_read_ = 0;
  // Set if the page is read whole together with its table of chunks.
  std::optional<size_t> early_read_;
  std::vector<WantedChunk> chunks_;
};

Status MiniBlockDecoder::CheckLayout() const {
  if (layout_.has_rep_compression() || layout_.repetition_index_depth() != 0) {
    return Error(ErrorCode::kUnsupported, "pages of lists are not read");
  }
  if (layout_.num_items() != task_.page->num_rows) {
    return Error(ErrorCode::kCorrupt, "mini-block page of {} rows has {} values",
                 task_.page->num_rows, layout_.num_items());
  }
  const size_t buffers = layout_.has_dictionary() ? 3 : 2;
  if (task_.page->buffers.size() != buffers) {
    return Error(ErrorCode::kCorrupt, "mini-block page has {} buffers, not {}",
                 task_.page->buffers.size(), buffers);
  }
  if (layout_.num_buffers() == 0 || layout_.num_buffers() > kMaxChunkBuffers) {
    return Error(ErrorCode::kUnsupported, "mini-block chunks of {} value buffers are not read",
                 layout_.num_buffers());
  }
  if (task_.page->buffers[0].length % (layout_.has_large_chunk() ? 4 : 2) != 0) {
    return Error(ErrorCode::kCorrupt, "mini-block table of chunks has {} bytes",
                 task_.page->buffers[0].length);
  }
  return Status::OK();
}

Status MiniBlockDecoder::PlanState(std::shared_ptr<const PageState> cached, RangeReads* reads) {
  if (cached != nullptr && cached->type().SameLayout(task_.type)) {
    state_ = std::static_pointer_cast<const MiniBlockState>(std::move(cached));
    return Status::OK();
  }
  words_read_ = reads->Add(task_.page->buffers[0]);
  if (layout_.has_dictionary()) dictionary_read_ = reads->Add(task_.page->buffers[2]);
  if (task_.whole_page()) early_read_ = reads->Add(task_.page->buffers[1]);
  return Status::OK();
}

Result<std::shared_ptr<const MiniBlockState>> MiniBlockDecoder::MakeState(
    const RangeReads& reads) const {
  auto state = std::make_shared<MiniBlockState>(task_.type);
  const std::string_view words = reads.Get(words_read_);
  const uint64_t data_size = task_.page->buffers[1].length;
  ARROW_RETURN_NOT_OK(
      layout_.has_large_chunk()
          ? DecodeChunkTable<uint32_t>(words, data_size, task_.page->num_rows, state.get())
          : DecodeChunkTable<uint16_t>(words, data_size, task_.page->num_rows, state.get()));
  if (layout_.has_dictionary()) {
    ARROW_ASSIGN_OR_RAISE(state->values, MiniBlockValues::ForIndices(layout_.value_compression(),
                                                                     layout_.num_buffers()));
    ARROW_ASSIGN_OR_RAISE(
        state->dictionary,
        PageDictionary::DecodeFrom(layout_.dictionary(), reads.Get(dictionary_read_),
                                   layout_.num_dictionary_items(), task_.type, task_.pool));
  } else {
    ARROW_ASSIGN_OR_RAISE(state->values, MiniBlockValues::From(layout_.value_compression(),
                                                               task_.type, layout_.num_buffers()));
  }
  return state;
}

Status MiniBlockDecoder::PlanData(const RangeReads& state, RangeReads* reads) {
  if (state_ == nullptr) {
    ARROW_ASSIGN_OR_RAISE(state_, MakeState(state));
  }
  const std::vector<uint64_t>& row_start = state_->row_start;
  const std::vector<uint64_t>& byte_start = state_->byte_start;
  std::vector<size_t> wanted;
  for (const RowRange& range : task_.rows.ranges()) {
    size_t chunk = static_cast<size_t>(
        std::upper_bound(row_start.begin(), row_start.end(), range.start) - row_start.begin() - 1);
    if (!wanted.empty()) chunk = std::max(chunk, wanted.back() + 1);
    for (; chunk < state_->num_chunks() && row_start[chunk] < range.end(); ++chunk) {
      wanted.push_back(chunk);
    }
  }
  chunks_.reserve(wanted.size());
  for (size_t i = 0; i < wanted.size();) {
    if (early_read_) {
      chunks_.push_back({wanted[i], *early_read_, byte_start[wanted[i]]});
      ++i;
      continue;
    }
    // Chunks in a row are one range.
    size_t end = i + 1;
    while (end < wanted.size() && wanted[end] == wanted[end - 1] + 1) ++end;
    const uint64_t first = byte_start[wanted[i]];
    const size_t number = reads->Add(
        {task_.page->buffers[1].offset + first, byte_start[wanted[end - 1] + 1] - first});
    for (; i < end; ++i) chunks_.push_back({wanted[i], number, byte_start[wanted[i]] - first});
  }
  return Status::OK();
}

Status MiniBlockDecoder::Decode(const RangeReads& state, const RangeReads& data,
                                DecodeScratch* scratch, LeafBuilder* builder) {
  const uint64_t first_row = builder->rows();
  if (task_.type.kind == LeafType::Kind::kVariable && !state_->dictionary) {
    uint64_t bytes = 0;
    for (const WantedChunk& chunk : chunks_) {
      bytes += state_->byte_start[chunk.index + 1] - state_->byte_start[chunk.index];
    }
    ARROW_RETURN_NOT_OK(builder->ReserveBytes(std::min<uint64_t>(bytes, 1 << 30)));
  }
  const std::span<const RowRange> ranges = task_.rows.ranges();
  size_t next_range = 0;
  for (const WantedChunk& chunk : chunks_) {
    const uint64_t begin = state_->row_start[chunk.index];
    const uint64_t end = state_->row_start[chunk.index + 1];
    scratch->ranges.clear();
    for (; next_range < ranges.size() && ranges[next_range].start < end; ++next_range) {
      const uint64_t from = std::max(ranges[next_range].start, begin);
      const uint64_t to = std::min(ranges[next_range].end(), end);
      scratch->ranges.push_back({from - begin, to - from});
      if (ranges[next_range].end() > end) break;
    }
    const std::string_view bytes = (early_read_ ? state : data).Get(chunk.number);
    const uint64_t size = state_->byte_start[chunk.index + 1] - state_->byte_start[chunk.index];
    ARROW_RETURN_NOT_OK(
        WithContext(DecodeChunk({bytes.data() + chunk.offset, size}, end - begin, scratch, builder),
                    fmt::format("chunk {}", chunk.index)));
  }
  // Strings of a dictionary were checked with it.
  if (!task_.type.is_text || state_->dictionary) return Status::OK();
  return builder->CheckText(first_row);
}

Status MiniBlockDecoder::DecodeChunk(std::string_view chunk, uint64_t total, DecodeScratch* scratch,
                                     LeafBuilder* builder) const {
  const bool has_levels = layout_.has_def_compression();
  const size_t size_width = layout_.has_large_chunk() ? 4 : 2;
  const size_t num_buffers = state_->values.num_buffers();
  const size_t header = 2 + (has_levels ? 2 : 0) + num_buffers * size_width;
  if (chunk.size() < header) {
    return Error(ErrorCode::kCorrupt, "it has {} bytes, its header alone {}", chunk.size(), header);
  }
  std::array<std::string_view, kMaxChunkBuffers + 1> parts;
  size_t num_parts = 0;
  uint64_t at = RoundUp(header, kChunkAlignment);
  const auto take_part = [&](uint64_t size) {
    if (!RangeFits(at, size, chunk.size())) {
      return Error(ErrorCode::kCorrupt, "part {} has {} bytes at {} of {}", num_parts, size, at,
                   chunk.size());
    }
    parts[num_parts++] = chunk.substr(at, size);
    at += RoundUp(size, kChunkAlignment);
    return Status::OK();
  };
  const char* sizes = chunk.data() + 2;
  if (has_levels) {
    ARROW_RETURN_NOT_OK(take_part(LoadLittle<uint16_t>(sizes)));
    sizes += 2;
  }
  for (size_t i = 0; i < num_buffers; ++i, sizes += size_width) {
    ARROW_RETURN_NOT_OK(
        take_part(size_width == 4 ? LoadLittle<uint32_t>(sizes) : LoadLittle<uint16_t>(sizes)));
  }

  const std::vector<RowRange>& ranges = scratch->ranges;
  const uint16_t* levels = nullptr;
  if (has_levels) {
    const uint16_t num_levels = LoadLittle<uint16_t>(chunk.data());
    if (num_levels != total) {
      return Error(ErrorCode::kCorrupt, "it has {} levels for {} values", num_levels, total);
    }
    const uint64_t from = ranges.front().start;
    const uint64_t count = ranges.back().end() - from;
    scratch->levels.resize(count);
    ARROW_RETURN_NOT_OK(WithContext(
        DecodeFixedBlock(layout_.def_compression(), parts[0], total, from, count, 16, task_.pool,
                         reinterpret_cast<uint8_t*>(scratch->levels.data())),
        "levels"));
    levels = scratch->levels.data();
    for (const RowRange& range : ranges) {
      ARROW_RETURN_NOT_OK(task_.levels.Append(levels + (range.start - from), range.count, builder));
    }
  } else {
    for (const RowRange& range : ranges) {
      ARROW_RETURN_NOT_OK(task_.levels.AppendAllSame(0, range.count, builder));
    }
  }
  const std::span<std::string_view> buffers(parts.data() + (has_levels ? 1 : 0), num_buffers);
  ARROW_RETURN_NOT_OK(state_->values.Decompress(total, buffers, scratch));
  if (state_->dictionary) return AppendDictionary(buffers, total, levels, scratch, builder);
  return state_->values.Append(buffers, total, ranges, scratch, builder);
}

Status MiniBlockDecoder::AppendDictionary(std::span<const std::string_view> buffers, uint64_t total,
                                          const uint16_t* levels, DecodeScratch* scratch,
                                          LeafBuilder* builder) const {
  const uint64_t from = scratch->ranges.front().start;
  const uint64_t count = scratch->ranges.back().end() - from;
  scratch->indices.resize(count);
  uint32_t* const indices = scratch->indices.data();
  ARROW_RETURN_NOT_OK(
      state_->values.DecodeWords(buffers, total, from, count, reinterpret_cast<uint8_t*>(indices)));
  for (const RowRange& range : scratch->ranges) {
    const uint64_t skip = range.start - from;
    ARROW_RETURN_NOT_OK(state_->dictionary->Append(
        indices + skip, levels == nullptr ? nullptr : levels + skip, range.count, builder));
  }
  return Status::OK();
}

}  // namespace

Result<std::unique_ptr<PageDecoder>> MakeMiniBlockDecoder(PageTask task) {
  auto read = std::make_unique<MiniBlockDecoder>(std::move(task));
  ARROW_RETURN_NOT_OK(read->CheckLayout());
  return read;
}

}  // namespace lake::format
