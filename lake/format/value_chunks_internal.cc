#include "lake/format/value_chunks_internal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include <arrow/util/bitmap_ops.h>

#include "lake/format/bitpacking.h"
#include "lake/format/run_length.h"

namespace lake::format {
namespace {

constexpr size_t kChunkAlignment = 8;
constexpr size_t kSplitChunkBytes = 4096;
constexpr uint8_t kVariablePad = 'H';

// The largest power of two of values of `bits` bits that fits a chunk; at least 2.
size_t FixedChunkLength(size_t bits) {
  size_t length = kMaxChunkValues;
  while (length > 2 && length * bits >= kMaxChunkBytes * 8) length /= 2;
  return length;
}

class FlatChunks : public ChunkSource {
 public:
  FlatChunks(std::span<const uint8_t> values, size_t width)
      : values_(values), width_(width), length_(FixedChunkLength(width * 8)) {}

  int num_buffers() const override { return 1; }
  size_t BytesHint() const override { return values_.size(); }
  size_t ChunkLength(size_t start) const override {
    return std::min(length_, values_.size() / width_ - start);
  }
  Status AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    out->Begin()->Append(values_.data() + start * width_, count * width_);
    out->End();
    return Status::OK();
  }
  void Describe(pb::CompressiveEncoding* encoding) const override {
    encoding->mutable_flat()->set_bits_per_value(width_ * 8);
  }

 private:
  const std::span<const uint8_t> values_;
  const size_t width_;
  const size_t length_;
};

class PackedChunks final : public FlatChunks {
 public:
  PackedChunks(std::span<const uint8_t> rows, size_t width, std::vector<uint64_t> field_bits)
      : FlatChunks(rows, width), field_bits_(std::move(field_bits)) {}

  void Describe(pb::CompressiveEncoding* encoding) const override {
    pb::PackedStruct* const packed = encoding->mutable_packed_struct();
    for (const uint64_t bits : field_bits_) packed->add_bits_per_value(bits);
    FlatChunks::Describe(packed->mutable_values());
  }

 private:
  const std::vector<uint64_t> field_bits_;
};

class BoolChunks final : public ChunkSource {
 public:
  explicit BoolChunks(std::span<const uint8_t> values) : values_(values) {}

  int num_buffers() const override { return 1; }
  size_t BytesHint() const override { return values_.size() / 8; }
  size_t ChunkLength(size_t start) const override {
    return std::min(kMaxChunkValues, values_.size() - start);
  }
  Status AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    const size_t bytes = (count + 7) / 8;
    uint8_t* const bits = out->Begin()->Extend(bytes);
    std::fill_n(bits, bytes, uint8_t{0});
    const uint8_t* const values = values_.data() + start;
    for (size_t i = 0; i < count; ++i) bits[i / 8] |= values[i] << (i % 8);
    out->End();
    return Status::OK();
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
  Status AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
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
    return Status::OK();
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
    size_t length = std::min(kMaxChunkValues, values_.size() - start);
    // Runs pay for the page as a whole, but a chunk may have next to none.
    while (length > kFewValues && MostRuns(start, length) * (sizeof(T) + 1) > kMostRunBytes) {
      length = std::bit_floor(length - 1);
    }
    return length;
  }
  Status AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    lengths_.Truncate(0);
    EncodeRuns<T>(values_.data() + start, count, out->Begin(), &lengths_);
    out->End();
    out->Begin()->Append(lengths_.data(), lengths_.size());
    out->End();
    return Status::OK();
  }
  void Describe(pb::CompressiveEncoding* encoding) const override {
    pb::Rle* const rle = encoding->mutable_rle();
    rle->mutable_values()->mutable_flat()->set_bits_per_value(sizeof(T) * 8);
    rle->mutable_run_lengths()->mutable_flat()->set_bits_per_value(8);
  }

 private:
  // What leaves room for levels in a chunk of version 2.1.
  static constexpr size_t kMostRunBytes = 12'000;
  static constexpr size_t kFewValues = 1024;

  size_t MostRuns(size_t start, size_t count) const {
    const std::span<const T> values = values_.subspan(start, count);
    size_t runs = 1 + count / UINT8_MAX;
    for (size_t i = 1; i < count; ++i) runs += static_cast<size_t>(values[i] != values[i - 1]);
    return runs;
  }

  const std::span<const T> values_;
  ByteBuffer lengths_;
};

// Bits `first` .. `first + count` of a bitmap, from bit 0 on.
void AppendBits(const uint8_t* source, size_t first, size_t count, ByteBuffer* out) {
  uint8_t* const bits = out->Extend((count + 7) / 8);
  std::fill_n(bits, (count + 7) / 8, uint8_t{0});
  arrow::internal::CopyBitmap(source, static_cast<int64_t>(first), static_cast<int64_t>(count),
                              bits, 0);
}

void AppendBools(const uint8_t* values, size_t count, ByteBuffer* out) {
  uint8_t* const bits = out->Extend((count + 7) / 8);
  std::fill_n(bits, (count + 7) / 8, uint8_t{0});
  for (size_t i = 0; i < count; ++i) bits[i / 8] |= values[i] << (i % 8);
}

class ListChunks final : public ChunkSource {
 public:
  ListChunks(const ValueShape& shape, const PageData& page) : shape_(shape), page_(page) {
    size_t items = 1;
    size_t row_bits = shape.items * (shape.is_bool ? 1 : shape.width * 8);
    for (size_t i = 0; i < shape.dimensions.size(); ++i) {
      items *= shape.dimensions[i];
      if (page.item_validity[i].empty()) continue;
      validity_.push_back({page.item_validity[i].data(), items});
      row_bits += items;
    }
    length_ = FixedChunkLength(row_bits);
  }

  int num_buffers() const override { return static_cast<int>(validity_.size()) + 1; }
  size_t BytesHint() const override { return page_.MemoryUse(); }
  size_t ChunkLength(size_t start) const override {
    return std::min(length_, page_.num_values - start);
  }
  Status AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    for (const Validity& validity : validity_) {
      AppendBits(validity.bits, start * validity.items, count * validity.items, out->Begin());
      out->End();
    }
    const size_t row_width = shape_.row_width();
    const uint8_t* const values = page_.values.data() + start * row_width;
    if (shape_.is_bool) {
      AppendBools(values, count * shape_.items, out->Begin());
    } else {
      out->Begin()->Append(values, count * row_width);
    }
    out->End();
    return Status::OK();
  }
  void Describe(pb::CompressiveEncoding* encoding) const override {
    for (size_t i = 0; i < shape_.dimensions.size(); ++i) {
      pb::FixedSizeList* const list = encoding->mutable_fixed_size_list();
      list->set_items_per_value(shape_.dimensions[i]);
      list->set_has_validity(!page_.item_validity[i].empty());
      encoding = list->mutable_values();
    }
    encoding->mutable_flat()->set_bits_per_value(shape_.is_bool ? 1 : shape_.width * 8);
  }

 private:
  struct Validity {
    const uint8_t* bits;
    // Per value.
    size_t items;
  };
  const ValueShape& shape_;
  const PageData& page_;
  std::vector<Validity> validity_;
  size_t length_ = 0;
};

template <typename T>
class SplitChunks final : public ChunkSource {
 public:
  explicit SplitChunks(std::span<const uint8_t> values)
      : values_(values), count_(values.size() / sizeof(T)) {}

  int num_buffers() const override { return 1; }
  size_t BytesHint() const override { return values_.size(); }
  size_t ChunkLength(size_t start) const override {
    return std::min(kSplitChunkBytes / sizeof(T), count_ - start);
  }
  Status AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    const uint8_t* const values = values_.data() + start * sizeof(T);
    uint8_t* target = out->Begin()->Extend(count * sizeof(T));
    for (size_t byte = 0; byte < sizeof(T); ++byte) {
      for (size_t i = 0; i < count; ++i) *target++ = values[i * sizeof(T) + byte];
    }
    out->End();
    return Status::OK();
  }
  void Describe(pb::CompressiveEncoding* encoding) const override {
    encoding->mutable_byte_stream_split()->mutable_values()->mutable_flat()->set_bits_per_value(
        sizeof(T) * 8);
  }

 private:
  const std::span<const uint8_t> values_;
  const size_t count_;
};

class CompressedChunks final : public ChunkSource {
 public:
  CompressedChunks(std::shared_ptr<ChunkSource> inner, Compressor compressor)
      : inner_(std::move(inner)), compressor_(compressor) {}

  int num_buffers() const override { return inner_->num_buffers(); }
  size_t BytesHint() const override { return inner_->BytesHint() / 2; }
  size_t ChunkLength(size_t start) const override { return inner_->ChunkLength(start); }
  Status AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
    plain_.Truncate(0);
    ChunkBuffers buffers(&plain_);
    ARROW_RETURN_NOT_OK(inner_->AppendChunk(start, count, &buffers));
    const std::span<const uint8_t> bytes = plain_.as<uint8_t>();
    size_t at = 0;
    for (int i = 0; i < buffers.count(); ++i) {
      const std::span<const uint8_t> buffer = bytes.subspan(at, buffers.size(i));
      if (i == 0) {
        ARROW_RETURN_NOT_OK(compressor_.Append(buffer, out->Begin()));
      } else {
        out->Begin()->Append(buffer.data(), buffer.size());
      }
      out->End();
      at += (buffer.size() + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
    }
    return Status::OK();
  }
  void Describe(pb::CompressiveEncoding* encoding) const override {
    pb::General* const general = encoding->mutable_general();
    compressor_.Describe(general->mutable_compression());
    inner_->Describe(general->mutable_values());
  }

 private:
  const std::shared_ptr<ChunkSource> inner_;
  const Compressor compressor_;
  ByteBuffer plain_;
};

template <typename Offset>
class VariableChunks final : public ChunkSource {
 public:
  VariableChunks(std::span<const uint32_t> offsets, std::span<const uint8_t> bytes,
                 size_t chunk_bytes)
      : offsets_(offsets), bytes_(bytes), chunk_bytes_(chunk_bytes) {}

  int num_buffers() const override { return 1; }
  size_t BytesHint() const override { return offsets_.size() * sizeof(Offset) + bytes_.size(); }

  size_t ChunkLength(size_t start) const override {
    const size_t rest = offsets_.size() - 1 - start;
    if (rest <= kMaxChunkValues && ChunkBytes(start, rest) <= chunk_bytes_) return rest;
    size_t length = 2;
    while (length < kMaxChunkValues && length * 2 <= rest &&
           ChunkBytes(start, length * 2) <= chunk_bytes_) {
      length *= 2;
    }
    return std::min(length, rest);
  }

  Status AppendChunk(size_t start, size_t count, ChunkBuffers* out) override {
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
    return Status::OK();
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
  const size_t chunk_bytes_;
};

}  // namespace

std::unique_ptr<ChunkSource> MakeFlatChunks(std::span<const uint8_t> values, size_t width) {
  return std::make_unique<FlatChunks>(values, width);
}

std::unique_ptr<ChunkSource> MakePackedChunks(std::span<const uint8_t> rows,
                                              const std::vector<PackedField>& fields) {
  size_t width = 0;
  std::vector<uint64_t> bits;
  for (const PackedField& field : fields) {
    width += field.width;
    bits.push_back(field.width * 8);
  }
  return std::make_unique<PackedChunks>(rows, width, std::move(bits));
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

std::unique_ptr<ChunkSource> MakeListChunks(const ValueShape& shape, const PageData& page) {
  return std::make_unique<ListChunks>(shape, page);
}

std::unique_ptr<ChunkSource> MakeVariableChunks(std::span<const uint32_t> offsets,
                                                std::span<const uint8_t> bytes,
                                                unsigned offset_bits, size_t chunk_bytes) {
  if (offset_bits == 32) {
    return std::make_unique<VariableChunks<uint32_t>>(offsets, bytes, chunk_bytes);
  }
  return std::make_unique<VariableChunks<uint64_t>>(offsets, bytes, chunk_bytes);
}

std::unique_ptr<ChunkSource> MakeSplitChunks(std::span<const uint8_t> values, size_t width) {
  if (width == sizeof(float)) return std::make_unique<SplitChunks<float>>(values);
  return std::make_unique<SplitChunks<double>>(values);
}

std::unique_ptr<ChunkSource> MakeCompressedChunks(std::shared_ptr<ChunkSource> inner,
                                                  const Compressor& compressor) {
  return std::make_unique<CompressedChunks>(std::move(inner), compressor);
}

}  // namespace lake::format
