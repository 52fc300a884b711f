#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lake/base/checked.h"
#include "lake/format/block_decoder_internal.h"
#include "lake/format/container.h"
#include "lake/format/mini_block_state_internal.h"
#include "lake/format/page_decoder_internal.h"

namespace lake::format {
namespace {

constexpr uint64_t kChunkAlignment = 8;
// Of a page at once; more comes as it is needed.
constexpr double kMostReserved = 1 << 30;

// Definition levels of the values of a chunk from value `first` on; null if all are 0.
struct ValueLevels {
  const uint16_t* levels = nullptr;
  uint64_t first = 0;
};

// A chunk taken apart.
struct ChunkParts {
  uint64_t num_levels = 0;
  std::string_view repetition;
  std::string_view levels;
  std::array<std::string_view, kMaxChunkBuffers> values;
};

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
  std::shared_ptr<arrow::Array> dictionary() const override {
    return state_->dictionary ? state_->dictionary->array() : nullptr;
  }

 private:
  // Chunk `index`, whose bytes start at `offset` of the buffer that was read under `number`.
  struct WantedChunk {
    size_t index;
    size_t number;
    uint64_t offset;
  };

  Result<std::shared_ptr<const MiniBlockState>> MakeState(const RangeReads& reads) const;
  Result<ChunkParts> TakeApart(std::string_view chunk) const;
  Status DecodeChunk(size_t index, std::string_view chunk, DecodeScratch* scratch,
                     LeafBuilder* builder) const;
  // Appends the validity of the values in scratch->ranges.
  Result<ValueLevels> AppendLevels(const ChunkParts& parts, uint64_t total, DecodeScratch* scratch,
                                   LeafBuilder* builder) const;
  // The same for a chunk of lists: sets scratch->ranges to the values of the wanted rows.
  Result<ValueLevels> AppendLists(size_t index, const ChunkParts& parts, uint64_t total,
                                  DecodeScratch* scratch, LeafBuilder* builder) const;
  Status AppendDictionary(std::span<const std::string_view> buffers, uint64_t total,
                          const ValueLevels& levels, DecodeScratch* scratch,
                          LeafBuilder* builder) const;

  PageTask task_;
  const pb::MiniBlockLayout& layout_;
  std::shared_ptr<const MiniBlockState> state_;
  // The page's dictionary, in an Arrow dictionary column: the number of each value in the column's.
  const std::vector<uint32_t>* dictionary_numbers_ = nullptr;
  size_t words_read_ = 0;
  size_t dictionary_read_ = 0;
  size_t rows_read_ = 0;
  // Set if the page is read whole together with its table of chunks.
  std::optional<size_t> early_read_;
  std::vector<WantedChunk> chunks_;
};

Status MiniBlockDecoder::CheckLayout() const {
  const bool has_lists = task_.levels.has_lists();
  if (layout_.has_rep_compression() != has_lists ||
      layout_.repetition_index_depth() != (has_lists ? 1u : 0u)) {
    return Error(ErrorCode::kCorrupt,
                 "mini-block page of {} lists {} repetition levels and an index of depth {}",
                 task_.levels.max_repetition(), layout_.has_rep_compression() ? "has" : "lacks",
                 layout_.repetition_index_depth());
  }
  if (!has_lists && layout_.num_items() != task_.page->num_rows) {
    return Error(ErrorCode::kCorrupt, "mini-block page of {} rows has {} values",
                 task_.page->num_rows, layout_.num_items());
  }
  const size_t buffers = 2u + (layout_.has_dictionary() ? 1 : 0) + (has_lists ? 1 : 0);
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
  if (task_.type.kind == LeafType::Kind::kDictionary && !layout_.has_dictionary()) {
    return Error(ErrorCode::kCorrupt, "page of a dictionary column without a dictionary");
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
  if (task_.levels.has_lists()) rows_read_ = reads->Add(task_.page->buffers.back());
  if (task_.whole_page()) early_read_ = reads->Add(task_.page->buffers[1]);
  return Status::OK();
}

Result<std::shared_ptr<const MiniBlockState>> MiniBlockDecoder::MakeState(
    const RangeReads& reads) const {
  auto state = std::make_shared<MiniBlockState>(task_.type);
  ARROW_RETURN_NOT_OK(state->SetChunks(reads.Get(words_read_), layout_.has_large_chunk(),
                                       task_.page->buffers[1].length, layout_.num_items()));
  if (task_.levels.has_lists()) {
    ARROW_RETURN_NOT_OK(state->SetRows(reads.Get(rows_read_), task_.page->num_rows));
  }
  if (layout_.has_dictionary()) {
    const bool is_column = task_.type.kind == LeafType::Kind::kDictionary;
    ARROW_ASSIGN_OR_RAISE(state->values, MiniBlockValues::ForIndices(
                                             layout_.value_compression(), layout_.num_buffers(),
                                             is_column ? task_.type.item_bits : 32));
    ARROW_ASSIGN_OR_RAISE(
        state->dictionary,
        PageDictionary::DecodeFrom(layout_.dictionary(), reads.Get(dictionary_read_),
                                   layout_.num_dictionary_items(),
                                   is_column ? task_.type.value_type() : task_.type, task_.pool));
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
  const std::vector<uint64_t>& byte_start = state_->byte_start;
  const std::vector<size_t> wanted = state_->ChunksOf(task_.rows.ranges());
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
  const uint64_t first_value = builder->rows();
  if (task_.type.kind == LeafType::Kind::kVariable && !state_->dictionary) {
    // As much of the page as there are wanted rows in it.
    const double part = static_cast<double>(task_.rows.num_rows()) /
                        static_cast<double>(std::max<uint64_t>(task_.page->num_rows, 1));
    const double bytes = part * static_cast<double>(task_.page->buffers[1].length);
    ARROW_RETURN_NOT_OK(
        builder->ReserveBytes(static_cast<uint64_t>(std::min(bytes, kMostReserved))));
  }
  if (task_.type.kind == LeafType::Kind::kDictionary) {
    ARROW_ASSIGN_OR_RAISE(dictionary_numbers_, builder->dictionary().Add(*state_->dictionary));
  }
  const std::span<const RowRange> ranges = task_.rows.ranges();
  size_t next_range = 0;
  for (const WantedChunk& chunk : chunks_) {
    if (!state_->has_lists()) {
      const uint64_t begin = state_->value_start[chunk.index];
      const uint64_t end = state_->value_start[chunk.index + 1];
      scratch->ranges.clear();
      for (; next_range < ranges.size() && ranges[next_range].start < end; ++next_range) {
        const uint64_t from = std::max(ranges[next_range].start, begin);
        const uint64_t to = std::min(ranges[next_range].end(), end);
        scratch->ranges.push_back({from - begin, to - from});
        if (ranges[next_range].end() > end) break;
      }
    }
    const std::string_view bytes = (early_read_ ? state : data).Get(chunk.number);
    const uint64_t size = state_->byte_start[chunk.index + 1] - state_->byte_start[chunk.index];
    Status decoded =
        DecodeChunk(chunk.index, {bytes.data() + chunk.offset, size}, scratch, builder);
    if (!decoded.ok()) return WithContext(std::move(decoded), fmt::format("chunk {}", chunk.index));
  }
  // Strings of a dictionary were checked with it.
  if (!task_.type.is_text || state_->dictionary) return Status::OK();
  return builder->CheckText(first_value);
}

// u16 number of levels | u16 size of the repetition levels | u16 size of the definition levels |
// u16 or u32 size of each value buffer | the parts in this order, each at a multiple of 8.
Result<ChunkParts> MiniBlockDecoder::TakeApart(std::string_view chunk) const {
  const bool has_repetition = layout_.has_rep_compression();
  const bool has_levels = layout_.has_def_compression();
  const size_t size_width = layout_.has_large_chunk() ? 4 : 2;
  const size_t num_buffers = state_->values.num_buffers();
  const size_t header =
      2 + (has_repetition ? 2 : 0) + (has_levels ? 2 : 0) + num_buffers * size_width;
  if (chunk.size() < header) {
    return Error(ErrorCode::kCorrupt, "it has {} bytes, its header alone {}", chunk.size(), header);
  }
  ChunkParts parts;
  parts.num_levels = LoadLittle<uint16_t>(chunk.data());
  uint64_t at = RoundUp(header, kChunkAlignment);
  const auto take = [&](uint64_t size, std::string_view* part) {
    if (!RangeFits(at, size, chunk.size())) {
      return Error(ErrorCode::kCorrupt, "a part has {} bytes at {} of {}", size, at, chunk.size());
    }
    *part = chunk.substr(at, size);
    at += RoundUp(size, kChunkAlignment);
    return Status::OK();
  };
  const char* sizes = chunk.data() + 2;
  if (has_repetition) {
    ARROW_RETURN_NOT_OK(take(LoadLittle<uint16_t>(sizes), &parts.repetition));
    sizes += 2;
  }
  if (has_levels) {
    ARROW_RETURN_NOT_OK(take(LoadLittle<uint16_t>(sizes), &parts.levels));
    sizes += 2;
  }
  for (size_t i = 0; i < num_buffers; ++i, sizes += size_width) {
    ARROW_RETURN_NOT_OK(
        take(size_width == 4 ? LoadLittle<uint32_t>(sizes) : LoadLittle<uint16_t>(sizes),
             &parts.values[i]));
  }
  return parts;
}

Status MiniBlockDecoder::DecodeChunk(size_t index, std::string_view chunk, DecodeScratch* scratch,
                                     LeafBuilder* builder) const {
  const uint64_t total = state_->value_start[index + 1] - state_->value_start[index];
  ARROW_ASSIGN_OR_RAISE(ChunkParts parts, TakeApart(chunk));
  ValueLevels levels;
  if (state_->has_lists()) {
    ARROW_ASSIGN_OR_RAISE(levels, AppendLists(index, parts, total, scratch, builder));
  } else {
    ARROW_ASSIGN_OR_RAISE(levels, AppendLevels(parts, total, scratch, builder));
  }
  if (scratch->ranges.empty()) return Status::OK();
  const std::span<std::string_view> buffers(parts.values.data(), state_->values.num_buffers());
  ARROW_RETURN_NOT_OK(state_->values.Decompress(total, buffers, scratch));
  if (state_->dictionary) return AppendDictionary(buffers, total, levels, scratch, builder);
  return state_->values.Append(buffers, total, scratch->ranges, scratch, builder);
}

Result<ValueLevels> MiniBlockDecoder::AppendLevels(const ChunkParts& parts, uint64_t total,
                                                   DecodeScratch* scratch,
                                                   LeafBuilder* builder) const {
  const std::vector<RowRange>& ranges = scratch->ranges;
  if (!layout_.has_def_compression()) {
    for (const RowRange& range : ranges) {
      ARROW_RETURN_NOT_OK(task_.levels.AppendAllSame(0, range.count, builder));
    }
    return ValueLevels();
  }
  if (parts.num_levels != total) {
    return Error(ErrorCode::kCorrupt, "it has {} levels for {} values", parts.num_levels, total);
  }
  const uint64_t from = ranges.front().start;
  const uint64_t count = ranges.back().end() - from;
  scratch->levels.resize(count);
  ARROW_RETURN_NOT_OK(
      WithContext(DecodeFixedBlock(layout_.def_compression(), parts.levels, total, from, count, 16,
                                   task_.pool, reinterpret_cast<uint8_t*>(scratch->levels.data())),
                  "levels"));
  const uint16_t* const levels = scratch->levels.data();
  for (const RowRange& range : ranges) {
    ARROW_RETURN_NOT_OK(task_.levels.Append(levels + (range.start - from), range.count, builder));
  }
  return ValueLevels{levels, from};
}

Result<ValueLevels> MiniBlockDecoder::AppendLists(size_t index, const ChunkParts& parts,
                                                  uint64_t total, DecodeScratch* scratch,
                                                  LeafBuilder* builder) const {
  const uint64_t count = parts.num_levels;
  const LevelScheme& scheme = task_.levels;
  const auto decode = [&](const pb::CompressiveEncoding& encoding, std::string_view bytes,
                          std::string_view what, std::vector<uint16_t>* out) {
    out->resize(count);
    return WithContext(DecodeFixedBlock(encoding, bytes, count, 0, count, 16, task_.pool,
                                        reinterpret_cast<uint8_t*>(out->data())),
                       what);
  };
  ARROW_RETURN_NOT_OK(decode(layout_.rep_compression(), parts.repetition, "repetition levels",
                             &scratch->repetition));
  const uint16_t* const repetition = scratch->repetition.data();
  const uint16_t* levels = nullptr;
  const uint16_t* visible = nullptr;
  uint64_t num_values = count;
  if (layout_.has_def_compression()) {
    ARROW_RETURN_NOT_OK(
        decode(layout_.def_compression(), parts.levels, "definition levels", &scratch->levels));
    levels = scratch->levels.data();
    ARROW_ASSIGN_OR_RAISE(visible, scheme.Visible(levels, count, &scratch->visible, &num_values));
  }
  if (num_values != total || count == 0) {
    return Error(ErrorCode::kCorrupt, "it has levels for {} values, not {}", num_values, total);
  }
  // The first entry begins a row unless the chunk before said that its last row goes on.
  const bool begins = repetition[0] == scheme.max_repetition();
  if (begins == (index > 0 && state_->goes_on[index - 1])) {
    return Error(ErrorCode::kCorrupt, "the repetition index is wrong about where rows begin");
  }
  scratch->entries.clear();
  SelectEntries(repetition, count, scheme.max_repetition(), state_->rows_ended[index],
                task_.rows.ranges(), &scratch->entries);
  scratch->ranges.clear();
  uint64_t entry = 0;
  uint64_t value = 0;
  const auto skip_to = [&](uint64_t end) {
    if (levels == nullptr || num_values == count) {
      value += end - entry;
    } else {
      for (uint64_t i = entry; i < end; ++i) value += levels[i] <= scheme.max_visible() ? 1 : 0;
    }
    entry = end;
  };
  for (const RowRange& entries : scratch->entries) {
    skip_to(entries.start);
    const uint64_t first = value;
    skip_to(entries.end());
    ARROW_RETURN_NOT_OK(scheme.AppendLists(repetition + entries.start,
                                           levels == nullptr ? nullptr : levels + entries.start,
                                           entries.count, builder));
    if (value == first) continue;
    scratch->ranges.push_back({first, value - first});
    ARROW_RETURN_NOT_OK(visible == nullptr
                            ? scheme.AppendAllSame(0, value - first, builder)
                            : scheme.Append(visible + first, value - first, builder));
  }
  uint64_t wanted = 0;
  for (const RowRange& range : scratch->ranges) wanted += range.count;
  ARROW_RETURN_NOT_OK(builder->ReserveValues(wanted));
  return ValueLevels{visible, 0};
}

Status MiniBlockDecoder::AppendDictionary(std::span<const std::string_view> buffers, uint64_t total,
                                          const ValueLevels& levels, DecodeScratch* scratch,
                                          LeafBuilder* builder) const {
  const uint64_t from = scratch->ranges.front().start;
  const uint64_t count = scratch->ranges.back().end() - from;
  scratch->indices.resize(count);
  uint32_t* const indices = scratch->indices.data();
  ARROW_RETURN_NOT_OK(state_->values.DecodeIndices(buffers, total, from, count, scratch, indices));
  for (const RowRange& range : scratch->ranges) {
    const uint64_t skip = range.start - from;
    const uint16_t* const own_levels =
        levels.levels == nullptr ? nullptr : levels.levels + (range.start - levels.first);
    if (builder->takes_indices()) {
      ARROW_RETURN_NOT_OK(
          state_->dictionary->AppendIndices(indices + skip, own_levels, range.count, builder));
      continue;
    }
    ARROW_RETURN_NOT_OK(
        dictionary_numbers_ == nullptr
            ? state_->dictionary->Append(indices + skip, own_levels, range.count, builder)
            : state_->dictionary->AppendKeys(indices + skip, own_levels, range.count,
                                             *dictionary_numbers_, builder));
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
