#include "lake/format/level_encoder_internal.h"

#include <algorithm>
#include <array>

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

PageLevels PageLevels::Make(PageData* page, bool in_struct) {
  PageLevels result;
  // A page without any value always has a leaf that can be null: readers tell it by that.
  const bool leaf_nulls = page->num_null != 0 || page->num_valid() == 0;
  const bool struct_nulls = page->num_struct_null != 0;
  result.layers.push_back(leaf_nulls ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM);
  if (in_struct) result.layers.push_back(struct_nulls ? pb::NULLABLE_ITEM : pb::ALL_VALID_ITEM);
  if (page->num_null == 0 && !struct_nulls) return result;
  if (!leaf_nulls) {
    // The struct's level is 1 where the leaf has none.
    for (uint8_t& state : page->states.as<uint8_t>()) state = state != PageData::kValid;
  }
  result.levels = page->states.as<uint8_t>();
  result.width = leaf_nulls && struct_nulls ? 2 : 1;
  return result;
}

LevelEncoder::LevelEncoder(std::span<const uint8_t> levels, std::span<const uint32_t> block_lengths)
    : levels_(levels), width_(BitWidth(levels.data(), levels.size())) {
  if (levels.size() == 1) return;
  size_t packed_bytes = 0;
  size_t run_bytes = 0;
  size_t start = 0;
  for (const uint32_t length : block_lengths) {
    packed_bytes += OutOfLineBytes(length, width_);
    run_bytes += RunBytes(levels.data() + start, length);
    start += length;
  }
  scheme_ = Scheme::kOutOfLine;
  if (block_lengths.size() == 1 && levels.size() <= kBitpackBlock &&
      !TailIsRaw(levels.size(), width_)) {
    // What upstream writes for a small page.
    scheme_ = Scheme::kInline;
    packed_bytes = sizeof(uint16_t) + PackedBlockBytes(width_);
  }
  if (run_bytes < packed_bytes) scheme_ = Scheme::kRuns;
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
