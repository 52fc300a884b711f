#include "lake/format/dictionary_block_internal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "lake/format/bitpacking.h"
#include "lake/format/compress_internal.h"

namespace lake::format {
namespace {

// Bits per offset, position of the bytes, the offsets, the bytes.
template <typename Offset>
ByteBuffer VariableBlock(const Dictionary& dictionary) {
  const std::span<const uint32_t> offsets = dictionary.offsets.as<uint32_t>();
  ByteBuffer block;
  block.AppendValue<Offset>(sizeof(Offset) * 8);
  block.AppendValue<Offset>(static_cast<Offset>((2 + offsets.size()) * sizeof(Offset)));
  for (const uint32_t offset : offsets) block.AppendValue<Offset>(offset);
  block.Append(dictionary.entries.data(), dictionary.entries.size());
  return block;
}

void AppendPacked(std::span<const uint64_t> values, unsigned width, ByteBuffer* out) {
  std::array<uint64_t, kBitpackBlock> block{};
  std::copy(values.begin(), values.end(), block.begin());
  PackBlock(block.data(), width, out->Extend(PackedBlockBytes(width)));
}

// Bit-packed 64-bit integers: one block with its width in front, or blocks of one width with the
// rest raw where that is not larger.
ByteBuffer PackedBlocks(std::span<const uint64_t> values, unsigned width,
                        pb::CompressiveEncoding* encoding) {
  constexpr unsigned kBits = 64;
  ByteBuffer out;
  if (values.size() <= kBitpackBlock) {
    encoding->mutable_inline_bitpacking()->set_uncompressed_bits_per_value(kBits);
    out.AppendValue<uint64_t>(width);
    AppendPacked(values, width, &out);
    return out;
  }
  pb::OutOfLineBitpacking* const packed = encoding->mutable_out_of_line_bitpacking();
  packed->set_uncompressed_bits_per_value(kBits);
  packed->mutable_values()->mutable_flat()->set_bits_per_value(width);
  while (values.size() >= kBitpackBlock) {
    AppendPacked(values.first(kBitpackBlock), width, &out);
    values = values.subspan(kBitpackBlock);
  }
  if (values.size_bytes() <= PackedBlockBytes(width)) {
    out.Append(values.data(), values.size_bytes());
  } else {
    AppendPacked(values, width, &out);
  }
  return out;
}

size_t PackedBytes(size_t count, unsigned width) {
  return (count + kBitpackBlock - 1) / kBitpackBlock * PackedBlockBytes(width) + sizeof(uint64_t);
}

Compressor CompressorOf(const LeafEncoding& options) {
  const bool zstd = options.dictionary_compression == LeafEncoding::Compression::kZstd;
  return {zstd ? GeneralCodec::kZstd : GeneralCodec::kLz4, options.dictionary_compression_level};
}

}  // namespace

Result<ByteBuffer> EncodeDictionaryBlock(const ValueShape& type, const Dictionary& dictionary,
                                         const LeafEncoding& options,
                                         pb::CompressiveEncoding* encoding) {
  ByteBuffer plain;
  pb::CompressiveEncoding plain_encoding;
  if (type.kind == ValueShape::Kind::kVariable) {
    plain = type.offset_bits == 32 ? VariableBlock<uint32_t>(dictionary)
                                   : VariableBlock<uint64_t>(dictionary);
    plain_encoding.mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(
        type.offset_bits);
  } else {
    plain.Append(dictionary.entries.data(), dictionary.entries.size());
    plain_encoding.mutable_flat()->set_bits_per_value(type.width * 8);
  }
  if (options.version < kFileVersion22) {
    *encoding = std::move(plain_encoding);
    return plain;
  }
  const Compressor compressor = CompressorOf(options);
  ByteBuffer compressed;
  if (options.dictionary_compression != LeafEncoding::Compression::kNone) {
    ARROW_RETURN_NOT_OK(compressor.Append(plain.as<uint8_t>(), &compressed));
  }
  const size_t smaller =
      compressed.empty() ? plain.size() : std::min(plain.size(), compressed.size());
  if (type.kind == ValueShape::Kind::kFixed && type.width == sizeof(uint64_t)) {
    const std::span<const uint64_t> values = dictionary.entries.as<uint64_t>();
    const unsigned width = BitWidth(values.data(), values.size());
    if (PackedBytes(values.size(), width) < smaller) return PackedBlocks(values, width, encoding);
  }
  if (compressed.empty() || compressed.size() >= plain.size()) {
    *encoding = std::move(plain_encoding);
    return plain;
  }
  pb::General* const general = encoding->mutable_general();
  compressor.Describe(general->mutable_compression());
  *general->mutable_values() = std::move(plain_encoding);
  return compressed;
}

}  // namespace lake::format
