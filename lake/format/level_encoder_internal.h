#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lake/format/byte_buffer.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// The levels of a page: definition 0 for a value and larger for what is null or empty further out;
/// repetition, if there are lists, as many as there are lists for a new row, 0 for a further item
/// of the innermost list.
struct PageLevels {
  /// From the leaf outwards.
  std::vector<pb::RepDefLayer> layers;
  /// One per slot; empty if no layer has nulls or empty lists. Borrowed from the page.
  std::span<const uint8_t> definitions;
  /// One per slot; empty without lists. Borrowed from the page.
  std::span<const uint8_t> repetitions;
  /// Bits of the largest levels.
  unsigned definition_width = 0;
  unsigned repetition_width = 0;
  /// Slots with a level up to this have a value.
  uint8_t last_value_level = 0;
  /// The repetition level of a new row.
  uint8_t new_row = 0;
  /// Slots: values, null and empty lists.
  size_t count = 0;
  size_t num_values = 0;

  bool has_specials() const { return count != num_values; }

  /// Turns the page's codes into levels in place: a layer without nulls takes no number. The leaf
  /// of a type without values takes one whatever its rows are: readers want its layer nullable.
  static PageLevels Make(PageData* page, const LevelShape& shape, bool has_values = true);
};

/// Writes levels as blocks of u16 words, one block per chunk, all in the way that is smallest for
/// the page.
class LevelEncoder {
 public:
  /// `levels` are cut into blocks of these lengths, whose sum is levels.size(). Both outlive this
  /// object. Runs are known from version 2.2 on.
  LevelEncoder(std::span<const uint8_t> levels, std::span<const uint32_t> block_lengths,
               bool runs_allowed);

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
