#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lake/base/error.h"
#include "lake/format/byte_buffer.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/level_encoder_internal.h"
#include "lake/format/version.h"

namespace lake::format {

/// Chunks aim at these limits; upstream uses the same.
inline constexpr size_t kMaxChunkBytes = 8186;
inline constexpr size_t kMaxChunkValues = 4096;

/// The value buffers of one chunk while they are written: each is padded, its size noted.
class ChunkBuffers {
 public:
  explicit ChunkBuffers(ByteBuffer* out) : out_(out) {}

  /// Where to append the bytes of the next value buffer.
  ByteBuffer* Begin();
  void End();

  static constexpr int kMaxBuffers = 16;
  int count() const { return count_; }
  uint32_t size(int index) const { return sizes_[index]; }

 private:
  ByteBuffer* const out_;
  size_t start_ = 0;
  int count_ = 0;
  uint32_t sizes_[kMaxBuffers] = {};
};

/// The values of a page in one mini-block encoding.
class ChunkSource {
 public:
  virtual ~ChunkSource() = default;

  /// Value buffers per chunk.
  virtual int num_buffers() const = 0;

  /// About how many bytes all chunks take; for reserving memory.
  virtual size_t BytesHint() const = 0;

  /// How many of the values from `start` make the next chunk: a power of two >= 2, or the whole
  /// rest.
  virtual size_t ChunkLength(size_t start) const = 0;

  /// Writes the value buffers of one chunk.
  virtual Status AppendChunk(size_t start, size_t count, ChunkBuffers* out) = 0;

  virtual void Describe(pb::CompressiveEncoding* encoding) const = 0;
};

/// A page in mini-block layout, without dictionary.
struct MiniBlockPage {
  pb::MiniBlockLayout layout;
  ByteBuffer chunk_words;
  ByteBuffer chunks;
  /// With lists: which rows end in each chunk; else empty.
  ByteBuffer repetition_index;
};

/// The most levels that one chunk holds beside its values, if a repetition level and a definition
/// level take `level_bits` together.
size_t MostChunkLevels(const FileVersion& version, unsigned level_bits);

/// Whether the levels of a page fit chunks: null and empty lists go into the chunk of the value
/// after them, however many they are.
bool FitsMiniBlocks(const PageLevels& levels, const FileVersion& version);

/// Lays the `levels.num_values` values of `source` and their levels out as a page of `version`.
/// kUnsupported for a chunk that is larger than the version counts. REQUIRES: FitsMiniBlocks.
Result<MiniBlockPage> EncodeMiniBlock(ChunkSource* source, const PageLevels& levels,
                                      const FileVersion& version);

}  // namespace lake::format
