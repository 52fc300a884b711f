#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lake/format/byte_buffer.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// The definition levels of a page without lists: 0 for a value, larger for a null further out.
struct PageLevels {
  /// The leaf's layer, then the struct's if there is one.
  std::vector<pb::RepDefLayer> layers;
  /// One per row; empty if no layer has nulls. Borrowed from the page's states.
  std::span<const uint8_t> levels;
  /// Bits of the largest level.
  unsigned width = 0;

  /// Turns `page->states` into levels in place.
  static PageLevels Make(PageData* page, bool in_struct);
};

/// Writes levels as blocks of u16 words, one block per chunk, all in the way that is smallest for
/// the page.
class LevelEncoder {
 public:
  /// `levels` are cut into blocks of these lengths, whose sum is levels.size(). Both outlive this
  /// object.
  LevelEncoder(std::span<const uint8_t> levels, std::span<const uint32_t> block_lengths);

  void Describe(pb::CompressiveEncoding* encoding) const;

  /// Appends the block of the `count` levels from `start`.
  void AppendBlock(size_t start, size_t count, ByteBuffer* out) const;

 private:
  enum class Scheme { kFlat, kInline, kOutOfLine, kRuns };

  const std::span<const uint8_t> levels_;
  unsigned width_ = 0;
  Scheme scheme_ = Scheme::kFlat;
};

}  // namespace lake::format
