#include "lake/format/mini_block_encoder_internal.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace lake::format {
namespace {

constexpr size_t kChunkAlignment = 8;
constexpr uint8_t kChunkPad = 0xfe;

// What the header of a chunk counts in 16 bits.
constexpr size_t kMostLevels = 65'535;
constexpr size_t kMostLevelBytes = 65'535;
// What the word of a chunk counts in version 2.1: 12 bits, of 8 bytes each. Levels leave room for
// the values.
constexpr size_t kMostChunkBytes21 = 32'768;
constexpr size_t kLevelBytes21 = kMostChunkBytes21 - 12'288;
constexpr size_t kMostLevels21 = 32'768;

std::vector<uint32_t> CutIntoChunks(const ChunkSource& source, size_t count) {
  std::vector<uint32_t> lengths;
  for (size_t start = 0; start < count; start += lengths.back()) {
    lengths.push_back(static_cast<uint32_t>(source.ChunkLength(start)));
  }
  return lengths;
}

// Size in units of 8 bytes less one, above the logarithm of the number of values. The last chunk
// has logarithm 0: it takes what is left.
uint32_t ChunkWord(size_t bytes, uint32_t values, bool last) {
  const uint32_t log = last ? 0 : static_cast<uint32_t>(std::countr_zero(values));
  return static_cast<uint32_t>(bytes / kChunkAlignment - 1) << 4 | log;
}

// Levels per chunk. What has no value goes into the chunk of the value behind it, the last chunk
// takes what is left.
std::vector<uint32_t> CutLevels(std::span<const uint32_t> value_lengths, const PageLevels& levels) {
  if (!levels.has_specials()) return {value_lengths.begin(), value_lengths.end()};
  std::vector<uint32_t> lengths;
  lengths.reserve(value_lengths.size());
  size_t at = 0;
  for (size_t chunk = 0; chunk + 1 < value_lengths.size(); ++chunk) {
    const size_t start = at;
    for (uint32_t values = 0; values < value_lengths[chunk]; ++at) {
      values += levels.definitions[at] <= levels.last_value_level;
    }
    lengths.push_back(static_cast<uint32_t>(at - start));
  }
  lengths.push_back(static_cast<uint32_t>(levels.count - at));
  return lengths;
}

// Two u64 per chunk: rows that end in it, and its levels of a row that goes on in the next one.
ByteBuffer RepetitionIndex(std::span<const uint32_t> level_lengths, const PageLevels& levels) {
  ByteBuffer index;
  size_t start = 0;
  for (size_t chunk = 0; chunk < level_lengths.size(); ++chunk) {
    const std::span<const uint8_t> repetitions =
        levels.repetitions.subspan(start, level_lengths[chunk]);
    const bool last = chunk + 1 == level_lengths.size();
    start += level_lengths[chunk];
    const auto starts =
        static_cast<uint64_t>(std::count(repetitions.begin(), repetitions.end(), levels.new_row));
    // A row left open by the chunk before ends where the first row of this one starts.
    const bool continues = chunk != 0 && repetitions.front() != levels.new_row;
    uint64_t ends = starts;
    uint64_t left = 0;
    if (continues) ++ends;
    if (!last) {
      const bool next_continues = levels.repetitions[start] != levels.new_row;
      if (next_continues) {
        --ends;
        size_t from = repetitions.size();
        while (from != 0 && repetitions[from - 1] != levels.new_row) --from;
        left = from == 0 ? repetitions.size() : repetitions.size() - from + 1;
      }
    }
    index.AppendValue(ends);
    index.AppendValue(left);
  }
  return index;
}

// Words and sizes of a chunk have few bits.
Status CheckChunk(size_t bytes, size_t level_bytes, const FileVersion& version) {
  if (version < kFileVersion22 && bytes > kMostChunkBytes21) {
    return Error(
        ErrorCode::kUnsupported,
        "a chunk of values of {} bytes is not written: files of version 2.1 have chunks of "
        "{} at most",
        bytes, kMostChunkBytes21);
  }
  if (level_bytes > kMostLevelBytes) {
    return Error(ErrorCode::kUnsupported, "a chunk with levels of {} bytes is not written",
                 level_bytes);
  }
  return Status::OK();
}

// One kind of levels of a page, chunk by chunk.
class ChunkLevels {
 public:
  ChunkLevels(std::span<const uint8_t> levels, std::span<const uint32_t> lengths,
              const FileVersion& version) {
    if (!levels.empty()) encoder_.emplace(levels, lengths, version >= kFileVersion22);
  }

  bool present() const { return encoder_.has_value(); }
  size_t header_bytes() const { return encoder_ ? sizeof(uint16_t) : 0; }

  // Appends the block of one chunk; its bytes.
  size_t Append(size_t start, size_t count, ByteBuffer* out) const {
    if (!encoder_) return 0;
    const size_t before = out->size();
    encoder_->AppendBlock(start, count, out);
    const size_t bytes = out->size() - before;
    out->PadTo(kChunkAlignment, kChunkPad);
    return bytes;
  }
  void Describe(pb::CompressiveEncoding* encoding) const { encoder_->Describe(encoding); }

 private:
  std::optional<LevelEncoder> encoder_;
};

}  // namespace

ByteBuffer* ChunkBuffers::Begin() {
  start_ = out_->size();
  return out_;
}

void ChunkBuffers::End() {
  sizes_[count_++] = static_cast<uint32_t>(out_->size() - start_);
  out_->PadTo(kChunkAlignment, kChunkPad);
}

size_t MostChunkLevels(const FileVersion& version, unsigned level_bits) {
  if (version >= kFileVersion22) return kMostLevels;
  return std::min(kMostLevels21, kLevelBytes21 * 8 / std::max(level_bits, 1u));
}

bool FitsMiniBlocks(const PageLevels& levels, const FileVersion& version) {
  const unsigned level_bits = levels.repetition_width + levels.definition_width;
  return levels.num_values != 0 &&
         (!levels.has_specials() || levels.count <= MostChunkLevels(version, level_bits));
}

Result<MiniBlockPage> EncodeMiniBlock(ChunkSource* source, const PageLevels& levels,
                                      const FileVersion& version) {
  const bool large = version >= kFileVersion22;
  const std::vector<uint32_t> lengths = CutIntoChunks(*source, levels.num_values);
  const std::vector<uint32_t> level_lengths = CutLevels(lengths, levels);
  const ChunkLevels repetitions(levels.repetitions, level_lengths, version);
  const ChunkLevels definitions(levels.definitions, level_lengths, version);
  const int num_buffers = source->num_buffers();
  const size_t header_bytes = sizeof(uint16_t) + repetitions.header_bytes() +
                              definitions.header_bytes() +
                              num_buffers * (large ? sizeof(uint32_t) : sizeof(uint16_t));

  MiniBlockPage page;
  page.chunks.Reserve(source->BytesHint() + lengths.size() * 32 + levels.count / 4);
  page.chunk_words.Reserve(lengths.size() * sizeof(uint32_t));
  size_t start = 0;
  size_t level_start = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const size_t chunk_start = page.chunks.size();
    page.chunks.Extend(header_bytes);
    page.chunks.PadTo(kChunkAlignment, kChunkPad);
    const size_t repetition_bytes = repetitions.Append(level_start, level_lengths[i], &page.chunks);
    const size_t definition_bytes = definitions.Append(level_start, level_lengths[i], &page.chunks);
    ChunkBuffers buffers(&page.chunks);
    ARROW_RETURN_NOT_OK(source->AppendChunk(start, lengths[i], &buffers));
    ARROW_RETURN_NOT_OK(CheckChunk(page.chunks.size() - chunk_start,
                                   std::max(repetition_bytes, definition_bytes), version));

    uint8_t* header = page.chunks.data() + chunk_start;
    const auto put = [&header](auto value) {
      std::memcpy(header, &value, sizeof(value));
      header += sizeof(value);
    };
    const bool has_levels = repetitions.present() || definitions.present();
    put(static_cast<uint16_t>(has_levels ? level_lengths[i] : 0));
    if (repetitions.present()) put(static_cast<uint16_t>(repetition_bytes));
    if (definitions.present()) put(static_cast<uint16_t>(definition_bytes));
    for (int buffer = 0; buffer < num_buffers; ++buffer) {
      if (large) {
        put(buffers.size(buffer));
      } else {
        put(static_cast<uint16_t>(buffers.size(buffer)));
      }
    }
    const uint32_t word =
        ChunkWord(page.chunks.size() - chunk_start, lengths[i], i + 1 == lengths.size());
    if (large) {
      page.chunk_words.AppendValue(word);
    } else {
      page.chunk_words.AppendValue(static_cast<uint16_t>(word));
    }
    start += lengths[i];
    level_start += level_lengths[i];
  }

  if (repetitions.present()) {
    repetitions.Describe(page.layout.mutable_rep_compression());
    page.layout.set_repetition_index_depth(1);
    page.repetition_index = RepetitionIndex(level_lengths, levels);
  }
  if (definitions.present()) definitions.Describe(page.layout.mutable_def_compression());
  source->Describe(page.layout.mutable_value_compression());
  for (const pb::RepDefLayer layer : levels.layers) page.layout.add_layers(layer);
  page.layout.set_num_buffers(num_buffers);
  page.layout.set_num_items(levels.num_values);
  page.layout.set_has_large_chunk(large);
  return page;
}

}  // namespace lake::format
