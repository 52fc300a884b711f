#include "lake/format/value_chunks_internal.h"

#include <algorithm>
#include <array>
#include <bit>

#include "lake/format/bitpacking.h"
#include "lake/format/run_length.h"

namespace lake::format {
namespace {

// Chunks of strings are smaller: one is read for one value, and its bytes cannot be skipped.
constexpr size_t kVariableChunkBytes = 4096;
constexpr uint8_t kVariablePad = 'H';

// The largest power of two of values of `bits` bits that fits a chunk; at least 2.
size_t FixedChunkLength(size_t bits) {
  size_t length = kMaxChunkValues;
  while (length > 2 && length * bits >= kMaxChunkBytes * 8) length /= 2;
  return length;
}

class FlatChunks final : public ChunkSource {
 public:
  FlatChunks(std::span<const uint8_t> values, size_t width)
      : values_(values), width_(width), length_(FixedChunkLength(width * 8)) {}

  int num_buffers() const override { return 1; }
  size_t BytesHint() const override { return values_.size(); }
  size_t ChunkLength(size_t start) const override {
    return std::min(length_, values_.size() / width_ - start);
  }
  void AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    out->Begin()->Append(values_.data() + start * width_, count * width_);
    out->End();
  }
  void Describe(pb::CompressiveEncoding* encoding) const override {
    encoding->mutable_flat()->set_bits_per_value(width_ * 8);
  }

 private:
  const std::span<const uint8_t> values_;
  const size_t width_;
  const size_t length_;
};

class BoolChunks final : public ChunkSource {
 public:
  explicit BoolChunks(std::span<const uint8_t> values) : values_(values) {}

  int num_buffers() const override { return 1; }
  size_t BytesHint() const override { return values_.size() / 8; }
  size_t ChunkLength(size_t start) const override {
    return std::min(kMaxChunkValues, values_.size() - start);
  }
  void AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    const size_t bytes = (count + 7) / 8;
    uint8_t* const bits = out->Begin()->Extend(bytes);
    std::fill_n(bits, bytes, uint8_t{0});
    const uint8_t* const values = values_.data() + start;
    for (size_t i = 0; i < count; ++i) bits[i / 8] |= values[i] << (i % 8);
    out->End();
  }
  void Describe(pb::CompressiveEncoding* encoding) const override {
    encoding->mutable_flat()->set_bits_per_value(1);
  }

 private:
  const std::span<const uint8_t> values_;
};

template <typename T>
class BitpackedChunks final : public ChunkSource {
 public:
  explicit BitpackedChunks(std::span<const T> values) : values_(values) {}

  int num_buffers() const override { return 1; }
  size_t BytesHint() const override { return values_.size_bytes(); }
  size_t ChunkLength(size_t start) const override {
    return std::min(kBitpackBlock, values_.size() - start);
  }
  void AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    const T* values = values_.data() + start;
    std::array<T, kBitpackBlock> padded;
    if (count < kBitpackBlock) {
      std::copy_n(values, count, padded.begin());
      std::fill(padded.begin() + count, padded.end(), T{0});
      values = padded.data();
    }
    const unsigned width = BitWidth(values, kBitpackBlock);
    ByteBuffer* const buffer = out->Begin();
    buffer->AppendValue<T>(static_cast<T>(width));
    PackBlock(values, width, buffer->Extend(PackedBlockBytes(width)));
    out->End();
  }
  void Describe(pb::CompressiveEncoding* encoding) const override {
    encoding->mutable_inline_bitpacking()->set_uncompressed_bits_per_value(sizeof(T) * 8);
  }

 private:
  const std::span<const T> values_;
};

template <typename T>
class RunChunks final : public ChunkSource {
 public:
  explicit RunChunks(std::span<const T> values) : values_(values) {}

  int num_buffers() const override { return 2; }
  size_t BytesHint() const override { return 0; }
  size_t ChunkLength(size_t start) const override {
    return std::min(kMaxChunkValues, values_.size() - start);
  }
  void AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    lengths_.Truncate(0);
    EncodeRuns<T>(values_.data() + start, count, out->Begin(), &lengths_);
    out->End();
    out->Begin()->Append(lengths_.data(), lengths_.size());
    out->End();
  }
  void Describe(pb::CompressiveEncoding* encoding) const override {
    pb::Rle* const rle = encoding->mutable_rle();
    rle->mutable_values()->mutable_flat()->set_bits_per_value(sizeof(T) * 8);
    rle->mutable_run_lengths()->mutable_flat()->set_bits_per_value(8);
  }

 private:
  const std::span<const T> values_;
  ByteBuffer lengths_;
};

class ListChunks final : public ChunkSource {
 public:
  ListChunks(const ValueShape& type, std::span<const uint8_t> values,
             std::span<const uint8_t> item_validity)
      : type_(type),
        values_(values),
        item_validity_(item_validity),
        length_(FixedChunkLength(type.row_width() * 8 + (item_validity.empty() ? 0 : type.items))) {
  }

  int num_buffers() const override { return item_validity_.empty() ? 1 : 2; }
  size_t BytesHint() const override { return values_.size() + item_validity_.size(); }
  size_t ChunkLength(size_t start) const override {
    return std::min(length_, values_.size() / type_.row_width() - start);
  }
  void AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    if (!item_validity_.empty()) {
      AppendBits(start * type_.items, count * type_.items, out->Begin());
      out->End();
    }
    out->Begin()->Append(values_.data() + start * type_.row_width(), count * type_.row_width());
    out->End();
  }
  void Describe(pb::CompressiveEncoding* encoding) const override {
    pb::FixedSizeList* const list = encoding->mutable_fixed_size_list();
    list->set_items_per_value(type_.items);
    list->set_has_validity(!item_validity_.empty());
    list->mutable_values()->mutable_flat()->set_bits_per_value(type_.width * 8);
  }

 private:
  void AppendBits(size_t first, size_t count, ByteBuffer* out) const {
    uint8_t* const bits = out->Extend((count + 7) / 8);
    std::fill_n(bits, (count + 7) / 8, uint8_t{0});
    for (size_t i = 0; i < count; ++i) {
      const size_t at = first + i;
      bits[i / 8] |= (item_validity_[at / 8] >> (at % 8) & 1) << (i % 8);
    }
  }

  const ValueShape type_;
  const std::span<const uint8_t> values_;
  const std::span<const uint8_t> item_validity_;
  const size_t length_;
};

template <typename Offset>
class VariableChunks final : public ChunkSource {
 public:
  VariableChunks(std::span<const uint32_t> offsets, std::span<const uint8_t> bytes)
      : offsets_(offsets), bytes_(bytes) {}

  int num_buffers() const override { return 1; }
  size_t BytesHint() const override { return offsets_.size() * sizeof(Offset) + bytes_.size(); }

  size_t ChunkLength(size_t start) const override {
    const size_t rest = offsets_.size() - 1 - start;
    if (rest <= kMaxChunkValues && ChunkBytes(start, rest) <= kVariableChunkBytes) return rest;
    size_t length = 2;
    while (length < kMaxChunkValues && length * 2 <= rest &&
           ChunkBytes(start, length * 2) <= kVariableChunkBytes) {
      length *= 2;
    }
    return std::min(length, rest);
  }

  void AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    ByteBuffer* const buffer = out->Begin();
    const size_t begin = buffer->size();
    const uint32_t* const ends = offsets_.data() + start;
    const Offset base = static_cast<Offset>((count + 1) * sizeof(Offset));
    uint8_t* target = buffer->Extend((count + 1) * sizeof(Offset));
    for (size_t i = 0; i <= count; ++i) {
      const Offset offset = base + static_cast<Offset>(ends[i] - ends[0]);
      std::memcpy(target + i * sizeof(Offset), &offset, sizeof(Offset));
    }
    buffer->Append(bytes_.data() + ends[0], ends[count] - ends[0]);
    const size_t excess = (buffer->size() - begin) % sizeof(Offset);
    if (excess != 0) buffer->AppendFill(sizeof(Offset) - excess, kVariablePad);
    out->End();
  }

  void Describe(pb::CompressiveEncoding* encoding) const override {
    encoding->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(
        sizeof(Offset) * 8);
  }

 private:
  size_t ChunkBytes(size_t start, size_t count) const {
    return (count + 1) * sizeof(Offset) + (offsets_[start + count] - offsets_[start]);
  }

  const std::span<const uint32_t> offsets_;
  const std::span<const uint8_t> bytes_;
};

}  // namespace

std::unique_ptr<ChunkSource> MakeFlatChunks(std::span<const uint8_t> values, size_t width) {
  return std::make_unique<FlatChunks>(values, width);
}

std::unique_ptr<ChunkSource> MakeBoolChunks(std::span<const uint8_t> values) {
  return std::make_unique<BoolChunks>(values);
}

template <typename T>
std::unique_ptr<ChunkSource> MakeBitpackedChunks(std::span<const T> values) {
  return std::make_unique<BitpackedChunks<T>>(values);
}

template <typename T>
std::unique_ptr<ChunkSource> MakeRunChunks(std::span<const T> values) {
  return std::make_unique<RunChunks<T>>(values);
}

template std::unique_ptr<ChunkSource> MakeBitpackedChunks(std::span<const uint8_t>);
template std::unique_ptr<ChunkSource> MakeBitpackedChunks(std::span<const uint16_t>);
template std::unique_ptr<ChunkSource> MakeBitpackedChunks(std::span<const uint32_t>);
template std::unique_ptr<ChunkSource> MakeBitpackedChunks(std::span<const uint64_t>);
template std::unique_ptr<ChunkSource> MakeRunChunks(std::span<const uint8_t>);
template std::unique_ptr<ChunkSource> MakeRunChunks(std::span<const uint16_t>);
template std::unique_ptr<ChunkSource> MakeRunChunks(std::span<const uint32_t>);
template std::unique_ptr<ChunkSource> MakeRunChunks(std::span<const uint64_t>);

std::unique_ptr<ChunkSource> MakeListChunks(const ValueShape& type, std::span<const uint8_t> values,
                                            std::span<const uint8_t> item_validity) {
  return std::make_unique<ListChunks>(type, values, item_validity);
}

std::unique_ptr<ChunkSource> MakeVariableChunks(std::span<const uint32_t> offsets,
                                                std::span<const uint8_t> bytes,
                                                unsigned offset_bits) {
  if (offset_bits == 32) return std::make_unique<VariableChunks<uint32_t>>(offsets, bytes);
  return std::make_unique<VariableChunks<uint64_t>>(offsets, bytes);
}

}  // namespace lake::format
