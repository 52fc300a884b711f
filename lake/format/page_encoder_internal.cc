#include "lake/format/page_encoder_internal.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "lake/format/constant_encoder_internal.h"
#include "lake/format/dictionary_block_internal.h"
#include "lake/format/dictionary_builder.h"
#include "lake/format/fsst_encoder.h"
#include "lake/format/full_zip_encoder_internal.h"
#include "lake/format/level_encoder_internal.h"
#include "lake/format/mini_block_encoder_internal.h"
#include "lake/format/packed_row_encoder_internal.h"
#include "lake/format/page_statistics.h"
#include "lake/format/text_encoder_internal.h"
#include "lake/format/value_chunks_internal.h"

namespace lake::format {
namespace {

using Kind = ValueShape::Kind;
using Compression = LeafEncoding::Compression;
using Layout = LeafEncoding::Layout;
using Switch = LeafEncoding::Switch;

// What a symbol table usually leaves of a text, for comparing with a dictionary before it is built.
constexpr double kFsstRatio = 0.5;
// Values up to this size may be forced into chunks, which hold two at least.
constexpr size_t kMostMiniBlockBytes = 4096;
// Values of a page compressed by metadata go into larger chunks: there is more to find in them.
constexpr size_t kCompressedChunkBytes = 8192;

EncodedPage ToPage(FullZipPage page) {
  EncodedPage result;
  *result.layout.mutable_full_zip() = std::move(page.layout);
  result.buffers = std::move(page.buffers);
  return result;
}

EncodedPage ToPage(ConstantPage page) {
  EncodedPage result;
  *result.layout.mutable_constant() = std::move(page.layout);
  result.buffers = std::move(page.buffers);
  return result;
}

template <typename T>
std::span<const uint8_t> BytesOf(std::span<const T> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

// Encodes one page.
class PageEncoder {
 public:
  PageEncoder(const ValueShape& shape, const LeafEncoding& options, const PageLevels& levels,
              PageData* page)
      : shape_(shape), options_(options), levels_(levels), page_(*page) {}

  Result<EncodedPage> Encode();

 private:
  Result<EncodedPage> EncodeFixed();
  template <typename T>
  Result<EncodedPage> EncodeIntegers();
  Result<EncodedPage> EncodeVariable();
  Result<EncodedPage> EncodeVariableFullZip();
  Result<EncodedPage> EncodePacked() const;
  EncodedPage EncodeBlobPlaces() const;
  Result<EncodedPage> EncodeFixedFullZip() const;
  // A dictionary column stays one, whatever its values are: readers take its type from that.
  template <typename T>
  Result<EncodedPage> EncodeDictionaryColumn() const;
  Result<EncodedPage> EncodeSymbols(const FsstText& text) const;

  template <typename T>
  std::unique_ptr<ChunkSource> Chunks(std::span<const T> values,
                                      const IntegerStatistics& statistics) const;
  // The page with a dictionary, if that is clearly smaller than `other_bytes`.
  Result<std::optional<EncodedPage>> EncodeWithDictionary(size_t other_bytes, size_t runs) const;
  Result<EncodedPage> MiniBlock(std::unique_ptr<ChunkSource> chunks) const;
  Result<MiniBlockPage> Lay(ChunkSource* chunks) const {
    return EncodeMiniBlock(chunks, levels_, options_.version);
  }
  EncodedPage ToPage(MiniBlockPage page, std::optional<ByteBuffer> dictionary = {}) const;

  // Whether values that take up to `bytes` go into full-zip.
  bool WantsFullZip(size_t bytes) const;
  PlainText Text() const;
  std::optional<Compressor> RequestedCompressor() const;
  // `chunks` compressed if that was asked for and the first chunk gets smaller by it.
  Result<std::shared_ptr<ChunkSource>> Compressed(std::shared_ptr<ChunkSource> chunks) const;
  // By the first chunk.
  Result<double> BytesPerValue(ChunkSource* chunks) const;

  const ValueShape& shape_;
  const LeafEncoding& options_;
  const PageLevels& levels_;
  PageData& page_;
};

EncodedPage PageEncoder::ToPage(MiniBlockPage page, std::optional<ByteBuffer> dictionary) const {
  EncodedPage result;
  *result.layout.mutable_mini_block() = std::move(page.layout);
  result.buffers.push_back(std::move(page.chunk_words));
  result.buffers.push_back(std::move(page.chunks));
  if (dictionary) result.buffers.push_back(std::move(*dictionary));
  if (!levels_.repetitions.empty()) result.buffers.push_back(std::move(page.repetition_index));
  return result;
}

bool PageEncoder::WantsFullZip(size_t bytes) const {
  if (!FitsMiniBlocks(levels_, options_.version)) return true;
  if (options_.layout == Layout::kFullZip) return true;
  if (options_.layout == Layout::kMiniBlock && bytes <= kMostMiniBlockBytes) return false;
  return bytes >= kFullZipBytes;
}

std::optional<Compressor> PageEncoder::RequestedCompressor() const {
  if (!options_.has_general_compression()) return std::nullopt;
  return Compressor{
      options_.compression == Compression::kZstd ? GeneralCodec::kZstd : GeneralCodec::kLz4,
      options_.compression_level};
}

Result<double> PageEncoder::BytesPerValue(ChunkSource* chunks) const {
  ByteBuffer bytes;
  ChunkBuffers buffers(&bytes);
  const size_t length = chunks->ChunkLength(0);
  ARROW_RETURN_NOT_OK(chunks->AppendChunk(0, length, &buffers));
  return static_cast<double>(bytes.size()) / static_cast<double>(length);
}

Result<std::shared_ptr<ChunkSource>> PageEncoder::Compressed(
    std::shared_ptr<ChunkSource> chunks) const {
  const std::optional<Compressor> compressor = RequestedCompressor();
  if (!compressor) return chunks;
  const std::shared_ptr<ChunkSource> compressed = MakeCompressedChunks(chunks, *compressor);
  ARROW_ASSIGN_OR_RAISE(const double plain_bytes, BytesPerValue(chunks.get()));
  ARROW_ASSIGN_OR_RAISE(const double bytes, BytesPerValue(compressed.get()));
  return bytes < plain_bytes ? compressed : chunks;
}

Result<EncodedPage> PageEncoder::MiniBlock(std::unique_ptr<ChunkSource> chunks) const {
  if (!FitsMiniBlocks(levels_, options_.version)) {
    return Error(ErrorCode::kUnsupported,
                 "a row of booleans has too many null and empty lists to be written: {} levels",
                 levels_.count);
  }
  ARROW_ASSIGN_OR_RAISE(const auto source, Compressed(std::move(chunks)));
  ARROW_ASSIGN_OR_RAISE(MiniBlockPage page, Lay(source.get()));
  return ToPage(std::move(page));
}

template <typename T>
std::unique_ptr<ChunkSource> PageEncoder::Chunks(std::span<const T> values,
                                                 const IntegerStatistics& statistics) const {
  const auto flat = [&] { return MakeFlatChunks(BytesOf(values), sizeof(T)); };
  if (options_.compression == Compression::kNone) return flat();
  if (options_.run_threshold) {
    const double most = *options_.run_threshold * static_cast<double>(values.size());
    if (static_cast<double>(statistics.runs) < most) return MakeRunChunks(values);
    return statistics.bitpacked_bytes < statistics.flat_bytes ? MakeBitpackedChunks(values)
                                                              : flat();
  }
  const size_t best = statistics.best_bytes();
  if (statistics.flat_bytes == best) return flat();
  if (statistics.bitpacked_bytes == best) return MakeBitpackedChunks(values);
  return MakeRunChunks(values);
}

Result<std::optional<EncodedPage>> PageEncoder::EncodeWithDictionary(size_t other_bytes,
                                                                     size_t runs) const {
  if (!FitsMiniBlocks(levels_, options_.version)) return std::nullopt;
  const double limit = options_.dictionary_ratio * static_cast<double>(other_bytes);
  const std::optional<Dictionary> dictionary = BuildDictionary(
      shape_, page_, {options_.dictionary_divisor, static_cast<size_t>(limit), runs});
  if (!dictionary) return std::nullopt;
  const std::span<const uint32_t> indices = dictionary->indices.as<uint32_t>();
  const IntegerStatistics statistics = ComputeStatistics(indices);
  // LZ4 seldom does better than a third: no use in trying when even that would not be enough.
  const size_t least = statistics.best_bytes() + dictionary->entries.size() / 3;
  if (static_cast<double>(least) >= limit) return std::nullopt;
  pb::CompressiveEncoding block_encoding;
  ARROW_ASSIGN_OR_RAISE(ByteBuffer block,
                        EncodeDictionaryBlock(shape_, *dictionary, options_, &block_encoding));
  if (static_cast<double>(statistics.best_bytes() + block.size()) >= limit) return std::nullopt;

  const auto chunks = Chunks(indices, statistics);
  ARROW_ASSIGN_OR_RAISE(MiniBlockPage page, Lay(chunks.get()));
  *page.layout.mutable_dictionary() = std::move(block_encoding);
  page.layout.set_num_dictionary_items(dictionary->count);
  return ToPage(std::move(page), std::move(block));
}

template <typename T>
Result<EncodedPage> PageEncoder::EncodeIntegers() {
  const std::span<const T> values = std::as_const(page_).values.as<T>();
  const IntegerStatistics statistics = ComputeStatistics(values);
  if constexpr (sizeof(T) == 8) {
    if (options_.version >= kFileVersion22) {
      ARROW_ASSIGN_OR_RAISE(auto with_dictionary,
                            EncodeWithDictionary(statistics.best_bytes(), statistics.runs));
      if (with_dictionary) return std::move(*with_dictionary);
    }
  }
  if (WantsFullZip(sizeof(T))) return EncodeFixedFullZip();
  auto chunks = Chunks(values, statistics);
  if constexpr (sizeof(T) >= 4) {
    if (shape_.is_float && options_.has_general_compression() &&
        options_.byte_stream_split != Switch::kOff) {
      // Planes of bytes help some numbers and harm others.
      ARROW_ASSIGN_OR_RAISE(const auto split,
                            Compressed(MakeSplitChunks(BytesOf(values), sizeof(T))));
      ARROW_ASSIGN_OR_RAISE(const auto plain, Compressed(std::move(chunks)));
      ARROW_ASSIGN_OR_RAISE(const double split_bytes, BytesPerValue(split.get()));
      ARROW_ASSIGN_OR_RAISE(const double plain_bytes, BytesPerValue(plain.get()));
      const bool wanted = options_.byte_stream_split == Switch::kOn || split_bytes < plain_bytes;
      ARROW_ASSIGN_OR_RAISE(MiniBlockPage page, Lay(wanted ? split.get() : plain.get()));
      return ToPage(std::move(page));
    }
  }
  return MiniBlock(std::move(chunks));
}

template <typename T>
Result<EncodedPage> PageEncoder::EncodeDictionaryColumn() const {
  if (!FitsMiniBlocks(levels_, options_.version)) {
    return Error(ErrorCode::kUnsupported,
                 "a row of a dictionary column has too many null and empty lists to be written: {} "
                 "levels",
                 levels_.count);
  }
  const std::span<const T> indices = std::as_const(page_).values.as<T>();
  const auto chunks = Chunks(indices, ComputeStatistics(indices));
  ARROW_ASSIGN_OR_RAISE(MiniBlockPage page, Lay(chunks.get()));
  ARROW_ASSIGN_OR_RAISE(ByteBuffer block,
                        EncodeDictionaryBlock(*shape_.entries, page_.dictionary, options_,
                                              page.layout.mutable_dictionary()));
  page.layout.set_num_dictionary_items(page_.dictionary.count);
  return ToPage(std::move(page), std::move(block));
}

Result<EncodedPage> PageEncoder::EncodeFixedFullZip() const {
  return format::ToPage(EncodeFullZipFixed(shape_, &page_, levels_));
}

Result<EncodedPage> PageEncoder::EncodeFixed() {
  if (shape_.entries) {
    switch (shape_.width) {
      case 1:
        return EncodeDictionaryColumn<uint8_t>();
      case 2:
        return EncodeDictionaryColumn<uint16_t>();
      case 4:
        return EncodeDictionaryColumn<uint32_t>();
      default:
        return EncodeDictionaryColumn<uint64_t>();
    }
  }
  if (shape_.is_bool) return MiniBlock(MakeBoolChunks(page_.values.as<uint8_t>()));
  switch (shape_.width) {
    case 1:
      return EncodeIntegers<uint8_t>();
    case 2:
      return EncodeIntegers<uint16_t>();
    case 4:
      return EncodeIntegers<uint32_t>();
    case 8:
      return EncodeIntegers<uint64_t>();
    default:
      break;
  }
  if (shape_.width == 16) {
    ARROW_ASSIGN_OR_RAISE(auto with_dictionary, EncodeWithDictionary(page_.values.size(), 0));
    if (with_dictionary) return std::move(*with_dictionary);
  }
  if (WantsFullZip(shape_.width)) return EncodeFixedFullZip();
  return MiniBlock(MakeFlatChunks(page_.values.as<uint8_t>(), shape_.width));
}

PlainText PageEncoder::Text() const {
  const PageData& page = page_;
  return {page.offsets.as<uint32_t>(), page.values.as<uint8_t>(), page.longest_value,
          shape_.is_text};
}

Result<EncodedPage> PageEncoder::EncodeSymbols(const FsstText& text) const {
  const auto chunks =
      MakeVariableChunks(text.offsets.as<uint32_t>(), text.codes.as<uint8_t>(), shape_.offset_bits);
  ARROW_ASSIGN_OR_RAISE(MiniBlockPage page, Lay(chunks.get()));
  pb::CompressiveEncoding encoding;
  encoding.mutable_fsst()->set_symbol_table(text.symbol_table);
  *encoding.mutable_fsst()->mutable_values() = std::move(*page.layout.mutable_value_compression());
  *page.layout.mutable_value_compression() = std::move(encoding);
  return ToPage(std::move(page));
}

Result<EncodedPage> PageEncoder::EncodeVariable() {
  const bool symbols = WantsSymbols(Text(), options_);
  const double text_bytes = static_cast<double>(page_.values.size()) * (symbols ? kFsstRatio : 1);
  const size_t other_bytes =
      static_cast<size_t>(text_bytes) + page_.num_values * (shape_.offset_bits / 8);
  ARROW_ASSIGN_OR_RAISE(auto with_dictionary, EncodeWithDictionary(other_bytes, 0));
  if (with_dictionary) return std::move(*with_dictionary);

  if (WantsFullZip(page_.longest_value)) return EncodeVariableFullZip();
  const PageData& page = page_;
  if (symbols) {
    if (const auto text = EncodeFsst(page.offsets.as<uint32_t>(), page.values.as<uint8_t>())) {
      return EncodeSymbols(*text);
    }
  }
  return MiniBlock(MakeVariableChunks(
      page.offsets.as<uint32_t>(), page.values.as<uint8_t>(), shape_.offset_bits,
      options_.has_general_compression() ? kCompressedChunkBytes : kVariableChunkBytes));
}

Result<EncodedPage> PageEncoder::EncodeVariableFullZip() {
  ARROW_ASSIGN_OR_RAISE(EncodedText text, EncodeEachText(Text(), shape_.offset_bits, options_));
  FullZipPage result = EncodeFullZipVariable(shape_.offset_bits, text.stored, page_, levels_);
  *result.layout.mutable_value_compression() = std::move(text.encoding);
  return format::ToPage(std::move(result));
}

Result<EncodedPage> PageEncoder::EncodePacked() const {
  if (shape_.kind == Kind::kVariable) {
    ARROW_ASSIGN_OR_RAISE(FullZipPage rows,
                          EncodePackedRows(shape_.packed, options_.fields, page_, levels_));
    return format::ToPage(std::move(rows));
  }
  if (!FitsMiniBlocks(levels_, options_.version)) {
    return Error(ErrorCode::kUnsupported,
                 "a row of packed structs has too many null and empty lists to be written: {} "
                 "levels",
                 levels_.count);
  }
  const PageData& page = page_;
  const auto chunks = MakePackedChunks(page.values.as<uint8_t>(), shape_.packed);
  ARROW_ASSIGN_OR_RAISE(MiniBlockPage result, Lay(chunks.get()));
  return ToPage(std::move(result));
}

// A packed row looks like a string of its bytes: only what the layout says of it differs.
EncodedPage PageEncoder::EncodeBlobPlaces() const {
  const PageData& page = page_;
  const StoredText stored{page.offsets.as<uint32_t>(), page.values.as<uint8_t>()};
  FullZipPage result = EncodeFullZipVariable(shape_.offset_bits, stored, page, levels_);
  pb::VariablePackedStruct* const row =
      result.layout.mutable_value_compression()->mutable_variable_packed_struct();
  for (const uint64_t bits : {8, 64, 64, 32}) {
    pb::VariablePackedStruct::FieldEncoding* const field = row->add_fields();
    field->mutable_value()->mutable_flat()->set_bits_per_value(bits);
    field->set_bits_per_value(bits);
  }
  constexpr uint64_t kUriLengthBits = 32;
  pb::VariablePackedStruct::FieldEncoding* const uri = row->add_fields();
  uri->mutable_value()->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(
      kUriLengthBits);
  uri->set_bits_per_length(kUriLengthBits);
  return format::ToPage(std::move(result));
}

Result<EncodedPage> PageEncoder::Encode() {
  if (shape_.is_blob) return EncodeBlobPlaces();
  if (!shape_.packed.empty()) return EncodePacked();
  switch (shape_.kind) {
    case Kind::kFixed:
      return EncodeFixed();
    case Kind::kVariable:
      return EncodeVariable();
    case Kind::kFixedSizeList:
      if (!shape_.is_bool && WantsFullZip(shape_.row_width())) return EncodeFixedFullZip();
      return MiniBlock(MakeListChunks(shape_, page_));
  }
  return Error(ErrorCode::kInternal, "a page of an unknown kind of column");
}

}  // namespace

Result<EncodedPage> EncodePage(const ValueShape& shape, const LevelShape& level_shape,
                               const LeafEncoding& options, PageData page) {
  const PageLevels levels = PageLevels::Make(&page, level_shape, shape.has_values());
  page.item_validity.resize(shape.dimensions.size());
  if (auto constant = EncodeConstant(shape, page, levels, options.version)) {
    return ToPage(std::move(*constant));
  }
  return PageEncoder(shape, options, levels, &page).Encode();
}

}  // namespace lake::format
