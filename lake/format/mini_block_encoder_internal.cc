#include "lake/format/mini_block_encoder_internal.h"

#include <bit>
#include <optional>
#include <vector>

namespace lake::format {
namespace {

constexpr size_t kChunkAlignment = 8;
constexpr uint8_t kChunkPad = 0xfe;

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

}  // namespace

ByteBuffer* ChunkBuffers::Begin() {
  start_ = out_->size();
  return out_;
}

void ChunkBuffers::End() {
  sizes_[count_++] = static_cast<uint32_t>(out_->size() - start_);
  out_->PadTo(kChunkAlignment, kChunkPad);
}

MiniBlockPage EncodeMiniBlock(ChunkSource* source, size_t count, const PageLevels& levels) {
  const std::vector<uint32_t> lengths = CutIntoChunks(*source, count);
  std::optional<LevelEncoder> level_encoder;
  if (!levels.levels.empty()) level_encoder.emplace(levels.levels, lengths);
  const int num_buffers = source->num_buffers();
  const size_t header_bytes =
      sizeof(uint16_t) + (level_encoder ? sizeof(uint16_t) : 0) + num_buffers * sizeof(uint32_t);

  MiniBlockPage page;
  page.chunks.Reserve(source->BytesHint() + lengths.size() * 32 + levels.levels.size() / 4);
  page.chunk_words.Reserve(lengths.size() * sizeof(uint32_t));
  size_t start = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const uint32_t length = lengths[i];
    const size_t chunk_start = page.chunks.size();
    page.chunks.Extend(header_bytes);
    page.chunks.PadTo(kChunkAlignment, kChunkPad);
    uint16_t level_bytes = 0;
    if (level_encoder) {
      const size_t before = page.chunks.size();
      level_encoder->AppendBlock(start, length, &page.chunks);
      level_bytes = static_cast<uint16_t>(page.chunks.size() - before);
      page.chunks.PadTo(kChunkAlignment, kChunkPad);
    }
    ChunkBuffers buffers(&page.chunks);
    source->AppendChunk(start, length, &buffers);

    uint8_t* header = page.chunks.data() + chunk_start;
    const auto put = [&header](auto value) {
      std::memcpy(header, &value, sizeof(value));
      header += sizeof(value);
    };
    put(static_cast<uint16_t>(level_encoder ? length : 0));
    if (level_encoder) put(level_bytes);
    for (int buffer = 0; buffer < num_buffers; ++buffer) put(buffers.size(buffer));
    page.chunk_words.AppendValue<uint32_t>(
        ChunkWord(page.chunks.size() - chunk_start, length, i + 1 == lengths.size()));
    start += length;
  }

  if (level_encoder) level_encoder->Describe(page.layout.mutable_def_compression());
  source->Describe(page.layout.mutable_value_compression());
  for (const pb::RepDefLayer layer : levels.layers) page.layout.add_layers(layer);
  page.layout.set_num_buffers(num_buffers);
  page.layout.set_num_items(count);
  page.layout.set_has_large_chunk(true);
  return page;
}

}  // namespace lake::format
