#include "lake/format/v20_fixed_internal.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/util/bitmap_ops.h>

#include "lake/base/checked.h"
#include "lake/format/bitpacking.h"
#include "lake/format/general_compression.h"

namespace lake::format {
namespace {

// No type is wider than this; what is wider is a mistake.
constexpr uint64_t kMaxBits = uint64_t{1} << 34;

bool IsWordSize(uint64_t bits) { return bits == 8 || bits == 16 || bits == 32 || bits == 64; }

// Up to 64 bits from bit `bit` of `bytes`, as far as there are any.
uint64_t LoadBits(std::string_view bytes, uint64_t bit, uint64_t width) {
  unsigned __int128 word = 0;
  const uint64_t byte = bit / 8;
  std::memcpy(&word, bytes.data() + byte, std::min<uint64_t>(sizeof(word), bytes.size() - byte));
  const uint64_t value = static_cast<uint64_t>(word >> (bit % 8));
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

template <typename T>
void UnpackBlocks(std::string_view bytes, const RowRange& range, unsigned width, uint8_t* out) {
  T block[kBitpackBlock];
  const uint64_t first_block = range.start / kBitpackBlock;
  for (uint64_t at = range.start; at < range.end();) {
    const uint64_t number = at / kBitpackBlock;
    UnpackBlock<T>(reinterpret_cast<const uint8_t*>(bytes.data()) +
                       (number - first_block) * PackedBlockBytes(width),
                   width, block);
    const uint64_t count = std::min(range.end(), (number + 1) * kBitpackBlock) - at;
    std::memcpy(out, block + at % kBitpackBlock, count * sizeof(T));
    out += count * sizeof(T);
    at += count;
  }
}

}  // namespace

Result<V20FixedValues> V20FixedValues::Make(const V20PageContext& context,
                                            const pb::ArrayEncoding& wrapped) {
  V20FixedValues values;
  values.pool_ = context.pool;
  const pb::ArrayEncoding& encoding = WithoutNoNulls(wrapped);
  const auto set_packed = [&](const auto& packed) -> Status {
    values.bits_ = packed.uncompressed_bits_per_value();
    values.packed_bits_ = packed.compressed_bits_per_value();
    if (!IsWordSize(values.bits_) || values.packed_bits_ == 0 ||
        values.packed_bits_ > values.bits_) {
      return Error(ErrorCode::kCorrupt, "values of {} bits are packed in {}", values.bits_,
                   values.packed_bits_);
    }
    ARROW_ASSIGN_OR_RAISE(values.buffer_, context.Buffer(packed.buffer()));
    return Status::OK();
  };
  switch (encoding.array_encoding_case()) {
    case pb::ArrayEncoding::kFlat: {
      const pb::ArrayFlat& flat = encoding.flat();
      values.bits_ = values.packed_bits_ = flat.bits_per_value();
      values.scheme_ = flat.compression().scheme();
      values.compressed_ = !values.scheme_.empty() && values.scheme_ != "none";
      ARROW_ASSIGN_OR_RAISE(values.buffer_, context.Buffer(flat.buffer()));
      break;
    }
    case pb::ArrayEncoding::kFixedSizeBinary: {
      ARROW_ASSIGN_OR_RAISE(values, Make(context, encoding.fixed_size_binary().bytes()));
      if (values.packing_ != Packing::kFlat || values.bits_ != 8) {
        return Error(ErrorCode::kUnsupported, "bytes of fixed-size binary values are packed");
      }
      values.bits_ = values.packed_bits_ = uint64_t{encoding.fixed_size_binary().byte_width()} * 8;
      break;
    }
    case pb::ArrayEncoding::kBitpacked:
      values.packing_ = Packing::kBits;
      values.is_signed_ = encoding.bitpacked().signed_();
      ARROW_RETURN_NOT_OK(set_packed(encoding.bitpacked()));
      break;
    case pb::ArrayEncoding::kBitpackedForNonNeg:
      values.packing_ = Packing::kBlocks;
      ARROW_RETURN_NOT_OK(set_packed(encoding.bitpacked_for_non_neg()));
      break;
    default:
      return Error(ErrorCode::kUnsupported, "encoding {} is not of fixed width",
                   V20EncodingName(encoding));
  }
  if (values.bits_ == 0 || values.bits_ > kMaxBits ||
      (values.bits_ != 1 && values.bits_ % 8 != 0)) {
    return Error(ErrorCode::kCorrupt, "values have {} bits", values.bits_);
  }
  return values;
}

ByteRange V20FixedValues::Place(const RowRange& range) const {
  if (packing_ == Packing::kBlocks) {
    const uint64_t bytes = PackedBlockBytes(static_cast<unsigned>(packed_bits_));
    const uint64_t first = range.start / kBitpackBlock * bytes;
    return {first, CeilDiv<uint64_t>(range.end(), kBitpackBlock) * bytes - first};
  }
  const uint64_t first = range.start * packed_bits_ / 8;
  return {first, CeilDiv<uint64_t>(range.end() * packed_bits_, 8) - first};
}

Status V20FixedValues::Plan(const RowSelection& values, RangeReads* reads) {
  values_ = values;
  if (values.empty()) return Status::OK();
  if (compressed_) {
    reads_.push_back(reads->Add(buffer_));
    return Status::OK();
  }
  // Far above what a buffer can hold, so that products do not overflow.
  const uint64_t last = values.ranges().back().end();
  const uint64_t most = std::numeric_limits<uint64_t>::max() / (packed_bits_ * 8) / 2;
  if (last > most || Place(values.ranges().back()).end() > buffer_.length) {
    return Error(ErrorCode::kCorrupt, "a buffer of {} bytes ends before value {} of {} bits",
                 buffer_.length, last, packed_bits_);
  }
  for (const RowRange& range : values.ranges()) {
    const ByteRange place = Place(range);
    reads_.push_back(reads->Add({buffer_.offset + place.offset, place.length}));
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::Buffer>> V20FixedValues::Decompress(std::string_view bytes) const {
  if (scheme_ != "zstd" && scheme_ != "lz4") {
    return Error(ErrorCode::kUnsupported, "compression '{}' is not read", scheme_.substr(0, 40));
  }
  const GeneralCodec codec = scheme_ == "zstd" ? GeneralCodec::kZstd : GeneralCodec::kLz4;
  ARROW_ASSIGN_OR_RAISE(const CompressedBuffer compressed,
                        CompressedBuffer::Open(codec, bytes, uint64_t{1} << 40));
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::Buffer> out,
      arrow::AllocateBuffer(static_cast<int64_t>(compressed.decoded_size), pool_));
  ARROW_RETURN_NOT_OK(compressed.Decode(out->mutable_data()));
  return out;
}

Status V20FixedValues::DecodeRange(std::string_view bytes, const RowRange& range, uint64_t at,
                                   uint8_t* out) const {
  if (packing_ == Packing::kFlat) {
    if (bits_ % 8 == 0) {
      std::memcpy(out + at * (bits_ / 8), bytes.data(), range.count * (bits_ / 8));
    } else {
      arrow::internal::CopyBitmap(reinterpret_cast<const uint8_t*>(bytes.data()),
                                  static_cast<int64_t>(range.start % 8),
                                  static_cast<int64_t>(range.count), out, static_cast<int64_t>(at));
    }
    return Status::OK();
  }
  out += at * (bits_ / 8);
  if (packing_ == Packing::kBlocks) {
    const unsigned width = static_cast<unsigned>(packed_bits_);
    switch (bits_) {
      case 8:
        UnpackBlocks<uint8_t>(bytes, range, width, out);
        break;
      case 16:
        UnpackBlocks<uint16_t>(bytes, range, width, out);
        break;
      case 32:
        UnpackBlocks<uint32_t>(bytes, range, width, out);
        break;
      default:
        UnpackBlocks<uint64_t>(bytes, range, width, out);
    }
    return Status::OK();
  }
  uint64_t bit = range.start * packed_bits_ % 8;
  for (uint64_t i = 0; i < range.count; ++i, bit += packed_bits_, out += bits_ / 8) {
    uint64_t value = LoadBits(bytes, bit, packed_bits_);
    if (is_signed_ && (value >> (packed_bits_ - 1) & 1) != 0 && packed_bits_ < 64) {
      value |= ~uint64_t{0} << packed_bits_;
    }
    std::memcpy(out, &value, bits_ / 8);
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::Buffer>> V20FixedValues::Decode(const RangeReads& reads) const {
  const auto bits = CheckedMul<uint64_t>(values_.num_rows(), bits_);
  if (!bits || *bits > uint64_t{std::numeric_limits<int64_t>::max()} - 7) {
    return Error(ErrorCode::kInvalidArgument, "too many values of {} bits at once: {}", bits_,
                 values_.num_rows());
  }
  std::shared_ptr<arrow::Buffer> whole;
  std::string_view bytes;
  if (compressed_ && !values_.empty()) {
    ARROW_ASSIGN_OR_RAISE(whole, Decompress(reads.Get(reads_[0])));
    bytes = {reinterpret_cast<const char*>(whole->data()), static_cast<size_t>(whole->size())};
    const uint64_t held = bytes.size() * 8 / packed_bits_;
    if (values_.ranges().back().end() > held) {
      return Error(ErrorCode::kCorrupt, "a decompressed buffer holds {} values, not {}", held,
                   values_.ranges().back().end());
    }
  }
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::Buffer> out,
      arrow::AllocateBuffer(static_cast<int64_t>(CeilDiv<uint64_t>(*bits, 8)), pool_));
  if (*bits % 8 != 0) out->mutable_data()[out->size() - 1] = 0;
  uint64_t at = 0;
  for (size_t i = 0; i < values_.ranges().size(); ++i) {
    const RowRange& range = values_.ranges()[i];
    const ByteRange place = Place(range);
    ARROW_RETURN_NOT_OK(
        DecodeRange(compressed_ ? bytes.substr(place.offset, place.length) : reads.Get(reads_[i]),
                    range, at, out->mutable_data()));
    at += range.count;
  }
  return out;
}

}  // namespace lake::format
