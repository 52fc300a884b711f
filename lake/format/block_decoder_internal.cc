#include "lake/format/block_decoder_internal.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <arrow/buffer.h>

#include "lake/base/checked.h"
#include "lake/format/bitpacking.h"
#include "lake/format/container.h"

namespace lake::format {
namespace {

// What a fixed block is asked for: the words [from, from + count) of `total`.
struct Window {
  uint64_t total = 0;
  uint64_t from = 0;
  uint64_t count = 0;
  uint32_t bits = 0;

  uint64_t width() const { return bits / 8; }
};

const uint8_t* Bytes(std::string_view view) {
  return reinterpret_cast<const uint8_t*>(view.data());
}

Status TooShort(std::string_view encoding, uint64_t has, uint64_t needs) {
  return Error(ErrorCode::kCorrupt, "{} block has {} bytes, its values need {}", encoding, has,
               needs);
}

Status DecodeFlat(std::string_view bytes, const Window& window, uint8_t* out) {
  const auto needed = CheckedMul(window.total, window.width());
  if (!needed || *needed > bytes.size()) {
    return TooShort("Flat", bytes.size(), needed.value_or(std::numeric_limits<uint64_t>::max()));
  }
  if (window.count == 0) return Status::OK();
  std::memcpy(out, bytes.data() + window.from * window.width(), window.count * window.width());
  return Status::OK();
}

// Unpacks the packed block whose first value is `first` of the whole, and copies what the window
// wants.
template <typename T>
void UnpackIntoWindow(const uint8_t* packed, unsigned width, uint64_t first, const Window& window,
                      uint8_t* out) {
  const uint64_t begin = std::max(first, window.from);
  const uint64_t end = std::min(first + kBitpackBlock, window.from + window.count);
  if (begin >= end) return;
  T values[kBitpackBlock];
  UnpackBlock(packed, width, values);
  std::memcpy(out + (begin - window.from) * sizeof(T), values + (begin - first),
              (end - begin) * sizeof(T));
}

template <typename T>
Status DecodeInline(std::string_view bytes, const Window& window, uint8_t* out) {
  if (window.total > kBitpackBlock) {
    return Error(ErrorCode::kCorrupt, "InlineBitpacking block of {} values", window.total);
  }
  if (window.total == 0) return Status::OK();
  if (bytes.size() < sizeof(T)) return TooShort("InlineBitpacking", bytes.size(), sizeof(T));
  const uint64_t width = LoadLittle<T>(bytes.data());
  if (width > window.bits) {
    return Error(ErrorCode::kCorrupt, "InlineBitpacking of {} bits into words of {}", width,
                 window.bits);
  }
  const uint64_t needed = sizeof(T) + PackedBlockBytes(static_cast<unsigned>(width));
  if (bytes.size() < needed) return TooShort("InlineBitpacking", bytes.size(), needed);
  UnpackIntoWindow<T>(Bytes(bytes) + sizeof(T), static_cast<unsigned>(width), 0, window, out);
  return Status::OK();
}

template <typename T>
Status DecodeOutOfLine(std::string_view bytes, unsigned width, const Window& window, uint8_t* out) {
  const uint64_t full = window.total / kBitpackBlock;
  const uint64_t tail = window.total % kBitpackBlock;
  const uint64_t block = PackedBlockBytes(width);
  const auto packed = CheckedMul(full, block);
  if (!packed || *packed > bytes.size()) {
    return TooShort("OutOfLineBitpacking", bytes.size(),
                    packed.value_or(std::numeric_limits<uint64_t>::max()));
  }
  const uint64_t rest = bytes.size() - *packed;
  const bool raw_tail = tail != 0 && rest == tail * sizeof(T);
  if (tail != 0 && !raw_tail && rest < block) {
    return TooShort("OutOfLineBitpacking", bytes.size(), *packed + block);
  }
  const uint64_t end = window.from + window.count;
  for (uint64_t i = window.from / kBitpackBlock; i * kBitpackBlock < end; ++i) {
    const uint64_t first = i * kBitpackBlock;
    if (i == full && raw_tail) {
      const uint64_t begin = std::max(first, window.from);
      std::memcpy(out + (begin - window.from) * sizeof(T),
                  bytes.data() + *packed + (begin - first) * sizeof(T), (end - begin) * sizeof(T));
    } else {
      UnpackIntoWindow<T>(Bytes(bytes) + i * block, width, first, window, out);
    }
  }
  return Status::OK();
}

// u64 size of the values | values | run lengths of one byte.
template <typename T>
Status DecodeRuns(std::string_view bytes, const Window& window, uint8_t* out) {
  if (bytes.size() < 8) return TooShort("Rle", bytes.size(), 8);
  const uint64_t values_size = LoadLittle<uint64_t>(bytes.data());
  if (values_size > bytes.size() - 8 || values_size % sizeof(T) != 0) {
    return Error(ErrorCode::kCorrupt, "Rle block of {} bytes has {} bytes of values", bytes.size(),
                 values_size);
  }
  const char* const values = bytes.data() + 8;
  const uint8_t* const lengths = Bytes(bytes) + 8 + values_size;
  const uint64_t runs = values_size / sizeof(T);
  if (bytes.size() - 8 - values_size < runs) {
    return TooShort("Rle", bytes.size(), 8 + values_size + runs);
  }
  const uint64_t end = window.from + window.count;
  uint64_t row = 0;
  for (uint64_t i = 0; i < runs; ++i) {
    if (lengths[i] == 0) return Error(ErrorCode::kCorrupt, "Rle block has a run of length 0");
    const uint64_t begin = std::max(row, window.from);
    row += lengths[i];
    const uint64_t stop = std::min(row, end);
    const T value = LoadLittle<T>(values + i * sizeof(T));
    for (uint64_t j = begin; j < stop; ++j) {
      std::memcpy(out + (j - window.from) * sizeof(T), &value, sizeof(T));
    }
  }
  if (row != window.total) {
    return Error(ErrorCode::kCorrupt, "Rle block has {} values, not {}", row, window.total);
  }
  return Status::OK();
}

// Calls `decode` with a value of the unsigned type of `bits` bits.
template <typename Function>
Status DispatchWord(uint32_t bits, std::string_view encoding, Function decode) {
  switch (bits) {
    case 8:
      return decode(uint8_t{});
    case 16:
      return decode(uint16_t{});
    case 32:
      return decode(uint32_t{});
    case 64:
      return decode(uint64_t{});
    default:
      return Error(ErrorCode::kUnsupported, "{} of {} bits is not read", encoding, bits);
  }
}

Status ExpectWidth(std::string_view encoding, uint64_t has, uint32_t wanted) {
  if (has == wanted) return Status::OK();
  return Error(ErrorCode::kCorrupt, "{} block has values of {} bits, not {}", encoding, has,
               wanted);
}

Result<std::shared_ptr<arrow::Buffer>> Decompress(const pb::General& general,
                                                  std::string_view bytes, uint64_t max_size,
                                                  arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(const GeneralCodec codec, CodecOf(general.compression()));
  ARROW_ASSIGN_OR_RAISE(const CompressedBuffer compressed,
                        CompressedBuffer::Open(codec, bytes, max_size));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> decoded,
                        arrow::AllocateBuffer(static_cast<int64_t>(compressed.decoded_size), pool));
  ARROW_RETURN_NOT_OK(compressed.Decode(decoded->mutable_data()));
  return decoded;
}

Status DecodeWindow(const pb::CompressiveEncoding& encoding, std::string_view bytes,
                    const Window& window, bool may_nest, arrow::MemoryPool* pool, uint8_t* out) {
  switch (encoding.compression_case()) {
    case pb::CompressiveEncoding::kFlat:
      ARROW_RETURN_NOT_OK(ExpectFlat(encoding, window.bits, "block"));
      return DecodeFlat(bytes, window, out);
    case pb::CompressiveEncoding::kInlineBitpacking: {
      const auto& packing = encoding.inline_bitpacking();
      ARROW_RETURN_NOT_OK(
          ExpectWidth("InlineBitpacking", packing.uncompressed_bits_per_value(), window.bits));
      if (packing.has_values()) break;
      return DispatchWord(window.bits, "InlineBitpacking", [&](auto word) {
        return DecodeInline<decltype(word)>(bytes, window, out);
      });
    }
    case pb::CompressiveEncoding::kOutOfLineBitpacking: {
      const auto& packing = encoding.out_of_line_bitpacking();
      ARROW_RETURN_NOT_OK(
          ExpectWidth("OutOfLineBitpacking", packing.uncompressed_bits_per_value(), window.bits));
      if (!packing.values().has_flat() || packing.values().flat().has_data()) break;
      const uint64_t width = packing.values().flat().bits_per_value();
      if (width > window.bits) {
        return Error(ErrorCode::kCorrupt, "OutOfLineBitpacking of {} bits into words of {}", width,
                     window.bits);
      }
      return DispatchWord(window.bits, "OutOfLineBitpacking", [&](auto word) {
        return DecodeOutOfLine<decltype(word)>(bytes, static_cast<unsigned>(width), window, out);
      });
    }
    case pb::CompressiveEncoding::kRle:
      ARROW_RETURN_NOT_OK(ExpectFlat(encoding.rle().values(), window.bits, "Rle values"));
      ARROW_RETURN_NOT_OK(ExpectRunLengths(encoding.rle().run_lengths()));
      return DispatchWord(window.bits, "Rle", [&](auto word) {
        return DecodeRuns<decltype(word)>(bytes, window, out);
      });
    case pb::CompressiveEncoding::kGeneral: {
      if (!may_nest) break;
      // No encoding of words takes more than the plain words and a header.
      const uint64_t max_size =
          CheckedMul(window.total, 2 * window.width()).value_or(uint64_t{1} << 40) + 1024;
      ARROW_ASSIGN_OR_RAISE(const auto decoded,
                            Decompress(encoding.general(), bytes, max_size, pool));
      return DecodeWindow(encoding.general().values(), std::string_view(*decoded), window, false,
                          pool, out);
    }
    default:
      break;
  }
  return Error(ErrorCode::kUnsupported, "block encoding {} is not read", EncodingName(encoding));
}

// u32 width | position of the bytes | offsets | bytes; numbers after the first are as wide as it
// says.
template <typename Offset>
Result<VariableBlock> DecodeOffsets(std::string_view bytes, uint64_t total,
                                    arrow::MemoryPool* pool) {
  constexpr uint64_t kWidth = sizeof(Offset);
  if (bytes.size() < 2 * kWidth) return TooShort("Variable", bytes.size(), 2 * kWidth);
  const uint64_t start = LoadLittle<Offset>(bytes.data() + kWidth);
  const auto offsets_size = CheckedMul(total + 1, kWidth);
  if (!offsets_size || start > bytes.size() || start < 2 * kWidth ||
      start - 2 * kWidth < *offsets_size) {
    return Error(ErrorCode::kCorrupt, "Variable block of {} values has its bytes at {} of {}",
                 total, start, bytes.size());
  }
  const uint64_t size = bytes.size() - start;
  if (size > std::numeric_limits<uint32_t>::max()) {
    return Error(ErrorCode::kUnsupported, "Variable block of more than 4 GiB is not read");
  }
  VariableBlock block;
  block.offsets.resize(total + 1);
  uint64_t last = 0;
  bool ascending = true;
  for (uint64_t i = 0; i <= total; ++i) {
    const uint64_t offset = LoadLittle<Offset>(bytes.data() + 2 * kWidth + i * kWidth);
    ascending &= offset >= last && offset <= size;
    last = offset;
    block.offsets[i] = static_cast<uint32_t>(offset);
  }
  if (!ascending) {
    return Error(ErrorCode::kCorrupt, "Variable block has offsets that do not ascend within it");
  }
  constexpr size_t kPadding = 16;
  ARROW_ASSIGN_OR_RAISE(auto copy,
                        arrow::AllocateBuffer(static_cast<int64_t>(size + kPadding), pool));
  if (size > 0) std::memcpy(copy->mutable_data(), bytes.data() + start, size);
  std::memset(copy->mutable_data() + size, 0, kPadding);
  block.bytes = std::move(copy);
  return block;
}

}  // namespace

std::string_view VariableBlock::Value(size_t i) const {
  return {reinterpret_cast<const char*>(bytes->data()) + offsets[i], offsets[i + 1] - offsets[i]};
}

Status DecodeFixedBlock(const pb::CompressiveEncoding& encoding, std::string_view bytes,
                        uint64_t total, uint64_t from, uint64_t count, uint32_t bits,
                        arrow::MemoryPool* pool, uint8_t* out) {
  if (!RangeFits(from, count, total)) {
    return Error(ErrorCode::kCorrupt, "block of {} values is asked for {} from {}", total, count,
                 from);
  }
  return DecodeWindow(encoding, bytes, {total, from, count, bits}, true, pool, out);
}

Status DecodeBitBlock(const pb::CompressiveEncoding& encoding, std::string_view bytes,
                      uint64_t total, arrow::MemoryPool* pool, uint8_t* out) {
  const uint64_t size = CeilDiv<uint64_t>(total, 8);
  std::shared_ptr<arrow::Buffer> decoded;
  const pb::CompressiveEncoding* inner = &encoding;
  if (encoding.has_general()) {
    ARROW_ASSIGN_OR_RAISE(decoded, Decompress(encoding.general(), bytes, size + 1024, pool));
    bytes = std::string_view(*decoded);
    inner = &encoding.general().values();
  }
  ARROW_RETURN_NOT_OK(ExpectFlat(*inner, 1, "block"));
  if (bytes.size() < size) return TooShort("Flat", bytes.size(), size);
  if (size > 0) std::memcpy(out, bytes.data(), size);
  return Status::OK();
}

uint64_t MaxBlockValues(const pb::CompressiveEncoding& encoding, uint64_t bytes, uint32_t bits) {
  constexpr uint64_t kMany = uint64_t{1} << 32;
  bytes = std::min(bytes, kMany);
  switch (encoding.compression_case()) {
    case pb::CompressiveEncoding::kOutOfLineBitpacking: {
      const uint64_t width = encoding.out_of_line_bitpacking().values().flat().bits_per_value();
      return width == 0 ? kBitpackBlock : bytes * 8 / width + kBitpackBlock;
    }
    case pb::CompressiveEncoding::kInlineBitpacking:
      return kBitpackBlock;
    case pb::CompressiveEncoding::kRle:
      // A run has a value and a byte of length.
      return bytes / (bits / 8 + 1) * std::numeric_limits<uint8_t>::max();
    case pb::CompressiveEncoding::kGeneral: {
      // What the codec really makes is checked when it decodes. Compressed runs or packed values
      // could hold more still, but nobody writes them.
      const auto codec = CodecOf(encoding.general().compression());
      if (!codec.ok() || !encoding.general().values().has_flat()) return bytes * 255;
      return bytes * MaxRatio(*codec) * 8 / bits;
    }
    case pb::CompressiveEncoding::kFlat:
      return bytes * 8 / bits;
    default:
      return bytes;
  }
}

Result<VariableBlock> DecodeVariableBlock(const pb::CompressiveEncoding& encoding,
                                          std::string_view bytes, uint64_t total,
                                          arrow::MemoryPool* pool) {
  std::shared_ptr<arrow::Buffer> decoded;
  const pb::CompressiveEncoding* inner = &encoding;
  if (encoding.has_general()) {
    ARROW_ASSIGN_OR_RAISE(
        decoded, Decompress(encoding.general(), bytes, std::numeric_limits<int32_t>::max(), pool));
    bytes = std::string_view(*decoded);
    inner = &encoding.general().values();
  }
  if (!inner->has_variable() || inner->variable().has_values()) {
    return Error(ErrorCode::kUnsupported, "block encoding {} of strings is not read",
                 EncodingName(*inner));
  }
  if (total > bytes.size()) return TooShort("Variable", bytes.size(), total);
  if (bytes.size() < 4) return TooShort("Variable", bytes.size(), 4);
  switch (LoadLittle<uint32_t>(bytes.data())) {
    case 32:
      return DecodeOffsets<uint32_t>(bytes, total, pool);
    case 64:
      return DecodeOffsets<uint64_t>(bytes, total, pool);
    default:
      return Error(ErrorCode::kUnsupported,
                   "Variable block in the form of unfinished 2.1 writers is not read");
  }
}

Result<GeneralCodec> CodecOf(const pb::BufferCompression& compression) {
  switch (compression.scheme()) {
    case pb::BufferCompression::LZ4:
      return GeneralCodec::kLz4;
    case pb::BufferCompression::ZSTD:
      return GeneralCodec::kZstd;
    default:
      return Error(ErrorCode::kUnsupported, "compression scheme {} is not read",
                   static_cast<int>(compression.scheme()));
  }
}

Status ExpectFlat(const pb::CompressiveEncoding& encoding, uint64_t bits, std::string_view what) {
  if (!encoding.has_flat() || encoding.flat().has_data()) {
    return Error(ErrorCode::kUnsupported, "{} encoded as {}{} are not read", what,
                 encoding.has_flat() ? "compressed " : "", EncodingName(encoding));
  }
  if (encoding.flat().bits_per_value() != bits) {
    return Error(ErrorCode::kCorrupt, "{} have {} bits, not {}", what,
                 encoding.flat().bits_per_value(), bits);
  }
  return Status::OK();
}

Status ExpectRunLengths(const pb::CompressiveEncoding& encoding) {
  const uint64_t bits = encoding.flat().bits_per_value();
  if (bits == 16 || bits == 32) {
    return Error(ErrorCode::kUnsupported, "Rle run lengths of {} bits are not read", bits);
  }
  return ExpectFlat(encoding, 8, "Rle run lengths");
}

std::string_view EncodingName(const pb::CompressiveEncoding& encoding) {
  switch (encoding.compression_case()) {
    case pb::CompressiveEncoding::kFlat:
      return "Flat";
    case pb::CompressiveEncoding::kVariable:
      return "Variable";
    case pb::CompressiveEncoding::kConstant:
      return "Constant";
    case pb::CompressiveEncoding::kOutOfLineBitpacking:
      return "OutOfLineBitpacking";
    case pb::CompressiveEncoding::kInlineBitpacking:
      return "InlineBitpacking";
    case pb::CompressiveEncoding::kFsst:
      return "Fsst";
    case pb::CompressiveEncoding::kDictionary:
      return "Dictionary";
    case pb::CompressiveEncoding::kRle:
      return "Rle";
    case pb::CompressiveEncoding::kByteStreamSplit:
      return "ByteStreamSplit";
    case pb::CompressiveEncoding::kGeneral:
      return "General";
    case pb::CompressiveEncoding::kFixedSizeList:
      return "FixedSizeList";
    case pb::CompressiveEncoding::kPackedStruct:
      return "PackedStruct";
    case pb::CompressiveEncoding::kVariablePackedStruct:
      return "VariablePackedStruct";
    case pb::CompressiveEncoding::kRange:
      return "Range";
    case pb::CompressiveEncoding::kDelta:
      return "Delta";
    case pb::CompressiveEncoding::COMPRESSION_NOT_SET:
      break;
  }
  return "unknown";
}

}  // namespace lake::format
