#include "lake/format/mini_block_values_internal.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <arrow/type.h>

#include "lake/base/checked.h"
#include "lake/format/bitpacking.h"
#include "lake/format/block_decoder_internal.h"
#include "lake/format/container.h"

namespace lake::format {
namespace {

constexpr uint64_t kMaxDecompressedChunk = 64 << 20;
// So few packed values are unpacked one by one.
constexpr uint64_t kFewValues = 16;
// Codes that are decoded at once; the ends of all of them are in memory then.
constexpr uint64_t kMaxCodesAtOnce = 1 << 18;

const uint8_t* Bytes(std::string_view view) {
  return reinterpret_cast<const uint8_t*>(view.data());
}

Status TooShort(std::string_view encoding, uint64_t has, uint64_t values) {
  return Error(ErrorCode::kCorrupt, "{} chunk has {} bytes, too few for its {} values", encoding,
               has, values);
}

Status Refuse(const pb::CompressiveEncoding& encoding, const LeafType& type) {
  return Error(ErrorCode::kUnsupported, "mini-block encoding {} of {} is not read",
               EncodingName(encoding),
               type.kind == LeafType::Kind::kVariable ? "strings"
               : type.kind == LeafType::Kind::kList   ? "lists"
               : type.is_packed()                     ? "packed structs"
                                                      : fmt::format("{} bits", type.item_bits));
}

template <typename T>
Status DecodeBitpacked(std::string_view buffer, uint64_t total, uint64_t from, uint64_t count,
                       uint8_t* out) {
  if (total > kBitpackBlock) {
    return Error(ErrorCode::kCorrupt, "InlineBitpacking chunk has {} values", total);
  }
  if (buffer.size() < sizeof(T)) return TooShort("InlineBitpacking", buffer.size(), total);
  const uint64_t width = LoadLittle<T>(buffer.data());
  if (width > 8 * sizeof(T) ||
      buffer.size() - sizeof(T) < PackedBlockBytes(static_cast<unsigned>(width))) {
    return Error(ErrorCode::kCorrupt, "InlineBitpacking chunk of {} bytes has values of {} bits",
                 buffer.size(), width);
  }
  const uint8_t* const packed = Bytes(buffer) + sizeof(T);
  if (count == kBitpackBlock) {
    UnpackBlock(packed, static_cast<unsigned>(width), reinterpret_cast<T*>(out));
    return Status::OK();
  }
  if (count <= kFewValues) {
    UnpackValues(packed, static_cast<unsigned>(width), from, count, reinterpret_cast<T*>(out));
    return Status::OK();
  }
  T values[kBitpackBlock];
  UnpackBlock(packed, static_cast<unsigned>(width), values);
  std::memcpy(out, values + from, count * sizeof(T));
  return Status::OK();
}

// Run values, and run lengths of one byte. Older writers let the last run pass the chunk's end.
template <typename T>
Status DecodeRuns(std::string_view values, std::string_view lengths, uint64_t total, uint64_t from,
                  uint64_t count, uint8_t* out) {
  const uint64_t runs = std::min<uint64_t>(values.size() / sizeof(T), lengths.size());
  const uint64_t end = from + count;
  uint64_t row = 0;
  for (uint64_t i = 0; i < runs && row < end; ++i) {
    const uint64_t length = Bytes(lengths)[i];
    if (length == 0) return Error(ErrorCode::kCorrupt, "Rle chunk has a run of length 0");
    const uint64_t begin = std::max(row, from);
    row += length;
    const uint64_t stop = std::min(row, end);
    if (begin >= stop) continue;
    const T value = LoadLittle<T>(values.data() + i * sizeof(T));
    std::fill_n(reinterpret_cast<T*>(out) + (begin - from), stop - begin, value);
  }
  if (row < end) {
    return Error(ErrorCode::kCorrupt, "Rle chunk of {} values ends after {}", total, row);
  }
  return Status::OK();
}

// Byte p of value i lies at p * total + i.
template <typename T>
Status DecodeSplit(std::string_view buffer, uint64_t total, uint64_t from, uint64_t count,
                   uint8_t* out) {
  if (buffer.size() / sizeof(T) < total) {
    return TooShort("ByteStreamSplit", buffer.size(), total);
  }
  for (size_t plane = 0; plane < sizeof(T); ++plane) {
    const char* const in = buffer.data() + plane * total + from;
    for (uint64_t i = 0; i < count; ++i) {
      out[i * sizeof(T) + plane] = static_cast<uint8_t>(in[i]);
    }
  }
  return Status::OK();
}

// Appends `ranges` of words of which the first is value `from`.
template <typename Word>
void PickWords(const uint8_t* words, uint64_t from, std::span<const RowRange> ranges,
               LeafBuilder* builder) {
  for (const RowRange& range : ranges) {
    const uint8_t* const in = words + (range.start - from) * sizeof(Word);
    uint8_t* const out = builder->AppendFixed(range.count);
    if (range.count == 1) {
      std::memcpy(out, in, sizeof(Word));
    } else {
      std::memcpy(out, in, range.count * sizeof(Word));
    }
  }
}

}  // namespace

Result<MiniBlockValues> MiniBlockValues::From(const pb::CompressiveEncoding& encoding,
                                              const LeafType& type, uint64_t num_buffers) {
  MiniBlockValues values;
  values.type_ = type;
  const pb::CompressiveEncoding* inner = &encoding;
  if (encoding.has_general()) {
    ARROW_ASSIGN_OR_RAISE(values.general_, CodecOf(encoding.general().compression()));
    inner = &encoding.general().values();
  }
  switch (type.kind) {
    case LeafType::Kind::kFixed:
      ARROW_RETURN_NOT_OK(values.SetFixed(*inner));
      break;
    case LeafType::Kind::kList:
      ARROW_RETURN_NOT_OK(values.SetList(*inner));
      break;
    case LeafType::Kind::kVariable:
      ARROW_RETURN_NOT_OK(values.SetVariable(*inner));
      break;
    case LeafType::Kind::kPacked:
    case LeafType::Kind::kBlob:
      ARROW_RETURN_NOT_OK(values.SetPacked(*inner));
      break;
    case LeafType::Kind::kDictionary:
    case LeafType::Kind::kNothing:
      return Refuse(*inner, type);
  }
  if (num_buffers != values.num_buffers_) {
    return Error(ErrorCode::kCorrupt, "chunks of {} have {} value buffers, not {}",
                 EncodingName(*inner), num_buffers, values.num_buffers_);
  }
  return values;
}

Result<MiniBlockValues> MiniBlockValues::ForIndices(const pb::CompressiveEncoding& encoding,
                                                    uint64_t num_buffers, uint32_t bits) {
  LeafType type;
  type.item_bits = bits;
  return From(encoding, type, num_buffers);
}

Status MiniBlockValues::SetFixed(const pb::CompressiveEncoding& encoding) {
  const uint32_t bits = type_.item_bits;
  const bool is_word = bits == 8 || bits == 16 || bits == 32 || bits == 64;
  if (encoding.has_flat()) {
    codec_ = Codec::kFlat;
    return ExpectFlat(encoding, bits, "values");
  }
  if (encoding.has_inline_bitpacking() && is_word && !encoding.inline_bitpacking().has_values()) {
    codec_ = Codec::kBitpacked;
    const uint64_t stored = encoding.inline_bitpacking().uncompressed_bits_per_value();
    if (stored == bits) return Status::OK();
    return Error(ErrorCode::kCorrupt, "InlineBitpacking has values of {} bits, not {}", stored,
                 bits);
  }
  if (encoding.has_rle() && is_word) {
    codec_ = Codec::kRle;
    num_buffers_ = 2;
    ARROW_RETURN_NOT_OK(ExpectFlat(encoding.rle().values(), bits, "Rle values"));
    return ExpectRunLengths(encoding.rle().run_lengths());
  }
  if (encoding.has_byte_stream_split() && (bits == 32 || bits == 64)) {
    codec_ = Codec::kByteStreamSplit;
    return ExpectFlat(encoding.byte_stream_split().values(), bits, "ByteStreamSplit values");
  }
  return Refuse(encoding, type_);
}

Status MiniBlockValues::SetList(const pb::CompressiveEncoding& encoding) {
  ARROW_ASSIGN_OR_RAISE(items_, ListItems::From(encoding, type_, "mini-block"));
  codec_ = items_.all_null ? Codec::kZeros : Codec::kFlat;
  num_buffers_ = items_.all_null ? 0 : 1;
  for (const ListItems::Level& level : items_.levels) num_buffers_ += level.has_validity ? 1 : 0;
  return Status::OK();
}

Status MiniBlockValues::SetPacked(const pb::CompressiveEncoding& encoding) {
  if (!encoding.has_packed_struct()) return Refuse(encoding, type_);
  const pb::PackedStruct& packed = encoding.packed_struct();
  uint64_t bits = 0;
  bool fits = packed.bits_per_value_size() == static_cast<int>(type_.parts.size());
  for (int i = 0; fits && i < packed.bits_per_value_size(); ++i) {
    const LeafType& part = type_.parts[i];
    fits = part.kind != LeafType::Kind::kVariable && packed.bits_per_value(i) == part.value_bits();
    bits += part.value_bits();
  }
  if (!fits) {
    return Error(ErrorCode::kCorrupt, "packed struct has other parts than its type, {}",
                 type_.type->ToString());
  }
  codec_ = Codec::kFlat;
  packed_width_ = bits / 8;
  return ExpectFlat(packed.values(), bits, "rows of a packed struct");
}

Status MiniBlockValues::SetVariable(const pb::CompressiveEncoding& encoding) {
  const pb::CompressiveEncoding* inner = &encoding;
  codec_ = Codec::kVariable;
  if (encoding.has_fsst()) {
    ARROW_ASSIGN_OR_RAISE(fsst_, FsstDecoder::DecodeFrom(encoding.fsst().symbol_table()));
    if (fsst_.enabled()) codec_ = Codec::kFsst;
    inner = &encoding.fsst().values();
  }
  if (!inner->has_variable() || inner->variable().has_values()) return Refuse(*inner, type_);
  const pb::CompressiveEncoding& offsets = inner->variable().offsets();
  stored_offset_bits_ = offsets.flat().bits_per_value() == 64 ? 64 : 32;
  return ExpectFlat(offsets, stored_offset_bits_, "string offsets");
}

Status MiniBlockValues::Decompress(uint64_t total, std::span<std::string_view> buffers,
                                   DecodeScratch* scratch) const {
  if (!general_) return Status::OK();
  uint64_t max_size = kMaxDecompressedChunk;
  if (codec_ == Codec::kFlat || codec_ == Codec::kByteStreamSplit) {
    const uint64_t bits = type_.is_packed() ? packed_width_ * 8 : type_.value_bits();
    max_size = CheckedMul(total, bits).value_or(max_size) / 8 + 8;
  }
  ARROW_ASSIGN_OR_RAISE(
      const CompressedBuffer compressed,
      CompressedBuffer::Open(*general_, buffers[0], std::min(max_size, kMaxDecompressedChunk)));
  scratch->decompressed.resize(compressed.decoded_size);
  ARROW_RETURN_NOT_OK(compressed.Decode(scratch->decompressed.data()));
  buffers[0] = {reinterpret_cast<const char*>(scratch->decompressed.data()),
                scratch->decompressed.size()};
  return Status::OK();
}

Status MiniBlockValues::DecodeWords(std::span<const std::string_view> buffers, uint64_t total,
                                    uint64_t from, uint64_t count, uint8_t* out) const {
  const auto decode = [&](auto word) -> Status {
    using T = decltype(word);
    switch (codec_) {
      case Codec::kBitpacked:
        return DecodeBitpacked<T>(buffers[0], total, from, count, out);
      case Codec::kRle:
        return DecodeRuns<T>(buffers[0], buffers[1], total, from, count, out);
      case Codec::kByteStreamSplit:
        return DecodeSplit<T>(buffers[0], total, from, count, out);
      default:
        if (buffers[0].size() / sizeof(T) < total)
          return TooShort("Flat", buffers[0].size(), total);
        if (count > 0) {
          std::memcpy(out, buffers[0].data() + from * sizeof(T), count * sizeof(T));
        }
        return Status::OK();
    }
  };
  switch (type_.item_bits) {
    case 8:
      return decode(uint8_t{});
    case 16:
      return decode(uint16_t{});
    case 32:
      return decode(uint32_t{});
    default:
      return decode(uint64_t{});
  }
}

Status MiniBlockValues::DecodeIndices(std::span<const std::string_view> buffers, uint64_t total,
                                      uint64_t from, uint64_t count, DecodeScratch* scratch,
                                      uint32_t* out) const {
  if (type_.item_bits == 32) {
    return DecodeWords(buffers, total, from, count, reinterpret_cast<uint8_t*>(out));
  }
  scratch->words.resize(count * (type_.item_bits / 8));
  uint8_t* const words = scratch->words.data();
  ARROW_RETURN_NOT_OK(DecodeWords(buffers, total, from, count, words));
  const auto widen = [&](auto word) {
    using T = decltype(word);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t index = LoadLittle<T>(reinterpret_cast<const char*>(words) + i * sizeof(T));
      out[i] =
          static_cast<uint32_t>(std::min<uint64_t>(index, std::numeric_limits<uint32_t>::max()));
    }
  };
  switch (type_.item_bits) {
    case 8:
      widen(uint8_t{});
      break;
    case 16:
      widen(uint16_t{});
      break;
    default:
      widen(uint64_t{});
  }
  return Status::OK();
}

Status MiniBlockValues::AppendFixed(std::span<const std::string_view> buffers, uint64_t total,
                                    std::span<const RowRange> ranges, DecodeScratch* scratch,
                                    LeafBuilder* builder) const {
  if (codec_ == Codec::kFlat) {
    const std::string_view values = buffers.back();
    const auto bits = CheckedMul(total, type_.value_bits());
    if (!bits || CeilDiv<uint64_t>(*bits, 8) > values.size()) {
      return TooShort("Flat", values.size(), total);
    }
    for (const RowRange& range : ranges) {
      builder->AppendBits(Bytes(values), range.start * type_.value_bits(), range.count);
    }
    return Status::OK();
  }
  if (codec_ == Codec::kZeros) {
    for (const RowRange& range : ranges) builder->AppendZeros(range.count);
    return Status::OK();
  }
  if (ranges.size() == 1) {
    return DecodeWords(buffers, total, ranges[0].start, ranges[0].count,
                       builder->AppendFixed(ranges[0].count));
  }
  if (ranges.size() <= kFewValues && codec_ == Codec::kBitpacked) {
    for (const RowRange& range : ranges) {
      ARROW_RETURN_NOT_OK(
          DecodeWords(buffers, total, range.start, range.count, builder->AppendFixed(range.count)));
    }
    return Status::OK();
  }
  // The whole span is decoded once; the ranges are picked from it.
  const uint64_t width = type_.item_bits / 8;
  const uint64_t from = ranges.front().start;
  const uint64_t count = ranges.back().end() - from;
  scratch->words.resize(count * width);
  ARROW_RETURN_NOT_OK(DecodeWords(buffers, total, from, count, scratch->words.data()));
  switch (width) {
    case 4:
      PickWords<uint32_t>(scratch->words.data(), from, ranges, builder);
      break;
    case 8:
      PickWords<uint64_t>(scratch->words.data(), from, ranges, builder);
      break;
    default:
      for (const RowRange& range : ranges) {
        std::memcpy(builder->AppendFixed(range.count),
                    scratch->words.data() + (range.start - from) * width, range.count * width);
      }
  }
  return Status::OK();
}

// total + 1 offsets from the buffer's start, then the bytes.
template <typename Stored, typename Offset>
Status MiniBlockValues::AppendVariable(std::string_view buffer, uint64_t total,
                                       const RowRange& range, DecodeScratch* scratch,
                                       LeafBuilder* builder) const {
  const uint64_t table = (total + 1) * sizeof(Stored);
  if (buffer.size() < table) return TooShort("Variable", buffer.size(), total);
  const char* const stored = buffer.data() + range.start * sizeof(Stored);
  const uint64_t first = LoadLittle<Stored>(stored);
  bool ascending = first >= table;
  uint64_t last = first;
  for (uint64_t i = 1; i <= range.count; ++i) {
    const uint64_t offset = LoadLittle<Stored>(stored + i * sizeof(Stored));
    ascending &= offset >= last;
    last = offset;
  }
  if (!ascending || last > buffer.size()) {
    return Error(ErrorCode::kCorrupt, "string offsets do not ascend within their chunk");
  }
  const uint64_t base = builder->variable_size();
  if (codec_ == Codec::kVariable) {
    ARROW_RETURN_NOT_OK(builder->ReserveBytes(last - first));
    if (last > first) std::memcpy(builder->variable_end(), buffer.data() + first, last - first);
    Offset* const ends = builder->NextEnds<Offset>();
    const uint64_t shift = base - first;
    for (uint64_t i = 0; i < range.count; ++i) {
      ends[i] = static_cast<Offset>(LoadLittle<Stored>(stored + (i + 1) * sizeof(Stored)) + shift);
    }
    builder->CommitVariable(range.count, base + (last - first));
    return Status::OK();
  }
  ARROW_RETURN_NOT_OK(
      builder->ReserveBytes(FsstDecoder::MaxDecodedSize(last - first) + FsstDecoder::kSlack));
  Offset* const ends = builder->NextEnds<Offset>();
  uint8_t* const start = builder->variable_end();
  uint8_t* out = start;
  bool known = true;
  if (last - first > kMaxCodesAtOnce) {
    uint64_t from = first;
    for (uint64_t i = 0; known && i < range.count; ++i) {
      const uint64_t to = LoadLittle<Stored>(stored + (i + 1) * sizeof(Stored));
      uint8_t* const decoded = fsst_.Decode(buffer.substr(from, to - from), out);
      known = decoded != nullptr;
      out = known ? decoded : out;
      from = to;
      ends[i] = static_cast<Offset>(base + static_cast<uint64_t>(out - start));
    }
  } else {
    scratch->ends.resize(last - first + 1);
    const uint32_t* const decoded_ends = scratch->ends.data();
    out = fsst_.DecodeMany(buffer.substr(first, last - first), start, scratch->ends.data());
    known = out != nullptr;
    for (uint64_t i = 0; known && i < range.count; ++i) {
      const uint64_t to = LoadLittle<Stored>(stored + (i + 1) * sizeof(Stored));
      const uint32_t decoded = decoded_ends[to - first];
      known = decoded != FsstDecoder::kInsideEscape;
      ends[i] = static_cast<Offset>(base + decoded);
    }
  }
  if (!known) {
    return Error(ErrorCode::kCorrupt, "FSST codes are not of the page's symbol table");
  }
  builder->CommitVariable(range.count, base + static_cast<uint64_t>(out - start));
  return Status::OK();
}

Status MiniBlockValues::AppendItemValidity(std::span<const std::string_view> buffers,
                                           uint64_t total, std::span<const RowRange> ranges,
                                           LeafBuilder* builder) const {
  size_t next_buffer = 0;
  for (size_t i = 0; i < items_.levels.size(); ++i) {
    const uint64_t items = items_.levels[i].count;
    ValidityBuilder& validity = builder->item_validity(i);
    if (!items_.levels[i].has_validity) {
      for (const RowRange& range : ranges) {
        ARROW_RETURN_NOT_OK(validity.AppendValid(range.count * items));
      }
      continue;
    }
    const std::string_view bitmap = buffers[next_buffer++];
    const auto bits = CheckedMul<uint64_t>(total, items);
    if (!bits || CeilDiv<uint64_t>(*bits, 8) > bitmap.size()) {
      return TooShort("item validity", bitmap.size(), total);
    }
    for (const RowRange& range : ranges) {
      ARROW_RETURN_NOT_OK(
          validity.AppendBits(Bytes(bitmap), range.start * items, range.count * items));
    }
  }
  return Status::OK();
}

// Rows one behind the other, each its parts in order.
Status MiniBlockValues::AppendPacked(std::string_view rows, uint64_t total,
                                     std::span<const RowRange> ranges, LeafBuilder* builder) const {
  if (rows.size() / packed_width_ < total) return TooShort("PackedStruct", rows.size(), total);
  uint64_t offset = 0;
  for (LeafBuilder& part : builder->parts()) {
    const uint64_t width = part.type().value_bits() / 8;
    for (const RowRange& range : ranges) {
      const char* from = rows.data() + range.start * packed_width_ + offset;
      uint8_t* to = part.AppendFixed(range.count);
      for (uint64_t i = 0; i < range.count; ++i, from += packed_width_, to += width) {
        std::memcpy(to, from, width);
      }
      ARROW_RETURN_NOT_OK(part.AppendItemsValid(range.count));
      ARROW_RETURN_NOT_OK(part.validity().AppendValid(range.count));
    }
    offset += width;
  }
  for (const RowRange& range : ranges) builder->CommitParts(range.count);
  return Status::OK();
}

Status MiniBlockValues::Append(std::span<const std::string_view> buffers, uint64_t total,
                               std::span<const RowRange> ranges, DecodeScratch* scratch,
                               LeafBuilder* builder) const {
  if (type_.is_packed()) return AppendPacked(buffers[0], total, ranges, builder);
  if (type_.kind != LeafType::Kind::kVariable) {
    ARROW_RETURN_NOT_OK(AppendItemValidity(buffers, total, ranges, builder));
    return AppendFixed(buffers, total, ranges, scratch, builder);
  }
  for (const RowRange& range : ranges) {
    const bool wide = type_.offset_bits == 64;
    ARROW_RETURN_NOT_OK(
        stored_offset_bits_ == 32
            ? (wide ? AppendVariable<uint32_t, int64_t>(buffers[0], total, range, scratch, builder)
                    : AppendVariable<uint32_t, int32_t>(buffers[0], total, range, scratch, builder))
            : (wide ? AppendVariable<uint64_t, int64_t>(buffers[0], total, range, scratch, builder)
                    : AppendVariable<uint64_t, int32_t>(buffers[0], total, range, scratch,
                                                        builder)));
  }
  return Status::OK();
}

}  // namespace lake::format
