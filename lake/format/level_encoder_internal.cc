#include "lake/format/level_encoder_internal.h"

#include <algorithm>
#include <array>
#include <bit>

#include "lake/format/bitpacking.h"
#include "lake/format/run_length.h"

namespace lake::format {
namespace {

constexpr unsigned kWordBits = 16;

// The last levels of a block are raw words where that is not larger than a whole packed block.
bool TailIsRaw(size_t tail, unsigned width) {
  return tail * sizeof(uint16_t) <= PackedBlockBytes(width);
}

size_t OutOfLineBytes(size_t count, unsigned width) {
  const size_t tail = count % kBitpackBlock;
  const size_t blocks = count / kBitpackBlock;
  const size_t tail_bytes =
      TailIsRaw(tail, width) ? tail * sizeof(uint16_t) : PackedBlockBytes(width);
  return blocks * PackedBlockBytes(width) + tail_bytes;
}

size_t RunBytes(const uint8_t* levels, size_t count) {
  return sizeof(uint64_t) + CountRunPieces(levels, count) * (sizeof(uint16_t) + 1);
}

void AppendRaw(std::span<const uint8_t> levels, ByteBuffer* out) {
  for (const uint8_t level : levels) out->AppendValue<uint16_t>(level);
}

void AppendPacked(std::span<const uint8_t> levels, unsigned width, ByteBuffer* out) {
  std::array<uint16_t, kBitpackBlock> block{};
  std::copy(levels.begin(), levels.end(), block.begin());
  PackBlock(block.data(), width, out->Extend(PackedBlockBytes(width)));
}

}  // namespace

PageLevels PageLevels::Make(PageData* page, const LevelShape& shape, bool has_values) {
  const bool has_lists = shape.num_lists() != 0;
  const std::span<uint8_t> codes =
      has_lists ? page->codes.as<uint8_t>() : page->states.as<uint8_t>();
  std::array<bool, 256> used{};
  for (const uint8_t code : codes) used[code] = true;
  // A page whose slots are all null always has a leaf that can be null: readers tell it by that.
  if (!has_values || (page->num_valid() == 0 && (!has_lists || page->num_values != 0))) {
    used[shape.null_code(0)] = true;
  }
  // A list below a null struct counts as null, even if no list itself is: readers look for its
  // level.
  for (size_t i = 0; i + 1 < shape.layers().size(); ++i) {
    if (shape.layers()[i] != LevelShape::Layer::kList) continue;
    for (size_t outer = i + 1; outer < shape.layers().size(); ++outer) {
      if (shape.layers()[outer] == LevelShape::Layer::kList) break;
      if (used[shape.null_code(outer)]) used[shape.null_code(i)] = true;
    }
  }

  PageLevels result;
  std::array<uint8_t, 256> level_of{};
  uint8_t next = 1;
  bool in_values = true;
  for (size_t i = 0; i < shape.layers().size(); ++i) {
    const uint8_t null_code = shape.null_code(i);
    const bool nullable = used[null_code];
    if (nullable) level_of[null_code] = next++;
    if (shape.layers()[i] == LevelShape::Layer::kItem) {
      result.layers.push_back(nullable ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM);
    } else {
      in_values = false;
      const bool emptyable = used[null_code + 1];
      if (emptyable) level_of[null_code + 1] = next++;
      result.layers.push_back(nullable && emptyable ? pb::NULL_AND_EMPTY_LIST
                              : nullable            ? pb::NULLABLE_LIST
                              : emptyable           ? pb::EMPTYABLE_LIST
                                                    : pb::ALL_VALID_LIST);
    }
    if (in_values) result.last_value_level = next - 1;
  }
  result.num_values = page->num_values;
  result.count = has_lists ? codes.size() : page->num_values;
  if (has_lists) {
    result.repetitions = page->repetitions.as<uint8_t>();
    result.new_row = shape.num_lists();
    result.repetition_width = static_cast<unsigned>(std::bit_width(shape.num_lists()));
  }
  if (page->num_null == 0 && page->num_special() == 0) return result;
  uint8_t largest = 0;
  for (uint8_t& code : codes) {
    code = level_of[code];
    largest = std::max(largest, code);
  }
  result.definitions = codes;
  result.definition_width = static_cast<unsigned>(std::bit_width(largest));
  return result;
}

LevelEncoder::LevelEncoder(std::span<const uint8_t> levels, std::span<const uint32_t> block_lengths,
                           bool runs_allowed)
    : levels_(levels), width_(BitWidth(levels.data(), levels.size())) {
  if (levels.size() == 1) return;
  size_t packed_bytes = 0;
  size_t run_bytes = 0;
  size_t start = 0;
  for (const uint32_t length : block_lengths) {
    packed_bytes += OutOfLineBytes(length, width_);
    if (runs_allowed) run_bytes += RunBytes(levels.data() + start, length);
    start += length;
  }
  scheme_ = Scheme::kOutOfLine;
  if (block_lengths.size() == 1 && levels.size() <= kBitpackBlock &&
      !TailIsRaw(levels.size(), width_)) {
    // What upstream writes for a small page.
    scheme_ = Scheme::kInline;
    packed_bytes = sizeof(uint16_t) + PackedBlockBytes(width_);
  }
  if (runs_allowed && run_bytes < packed_bytes) scheme_ = Scheme::kRuns;
}

void LevelEncoder::Describe(pb::CompressiveEncoding* encoding) const {
  switch (scheme_) {
    case Scheme::kFlat:
      encoding->mutable_flat()->set_bits_per_value(kWordBits);
      return;
    case Scheme::kInline:
      encoding->mutable_inline_bitpacking()->set_uncompressed_bits_per_value(kWordBits);
      return;
    case Scheme::kOutOfLine: {
      pb::OutOfLineBitpacking* const packed = encoding->mutable_out_of_line_bitpacking();
      packed->set_uncompressed_bits_per_value(kWordBits);
      packed->mutable_values()->mutable_flat()->set_bits_per_value(width_);
      return;
    }
    case Scheme::kRuns: {
      pb::Rle* const rle = encoding->mutable_rle();
      rle->mutable_values()->mutable_flat()->set_bits_per_value(kWordBits);
      rle->mutable_run_lengths()->mutable_flat()->set_bits_per_value(8);
      return;
    }
  }
}

void LevelEncoder::AppendBlock(size_t start, size_t count, ByteBuffer* out) const {
  const std::span<const uint8_t> levels = levels_.subspan(start, count);
  switch (scheme_) {
    case Scheme::kFlat:
      return AppendRaw(levels, out);
    case Scheme::kInline:
      out->AppendValue<uint16_t>(static_cast<uint16_t>(width_));
      return AppendPacked(levels, width_, out);
    case Scheme::kOutOfLine: {
      size_t at = 0;
      for (; at + kBitpackBlock <= count; at += kBitpackBlock) {
        AppendPacked(levels.subspan(at, kBitpackBlock), width_, out);
      }
      if (at == count) return;
      const std::span<const uint8_t> tail = levels.subspan(at);
      return TailIsRaw(tail.size(), width_) ? AppendRaw(tail, out)
                                            : AppendPacked(tail, width_, out);
    }
    case Scheme::kRuns: {
      const size_t header = out->size();
      out->AppendValue<uint64_t>(0);
      ByteBuffer lengths;
      EncodeRuns<uint16_t>(levels.data(), count, out, &lengths);
      const uint64_t value_bytes = out->size() - header - sizeof(uint64_t);
      std::memcpy(out->data() + header, &value_bytes, sizeof(value_bytes));
      out->Append(lengths.data(), lengths.size());
      return;
    }
  }
}

}  // namespace lake::format
