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
#include "lake/format/page_statistics.h"
#include "lake/format/value_chunks_internal.h"

namespace lake::format {
namespace {

using Kind = ValueShape::Kind;

// What a symbol table usually leaves of a text, for comparing with a dictionary before it is built.
constexpr double kFsstRatio = 0.5;
// A dictionary costs a look-up per value when read, so it must save something.
constexpr double kDictionaryGain = 0.9;

EncodedPage ToPage(MiniBlockPage page) {
  EncodedPage result;
  *result.layout.mutable_mini_block() = std::move(page.layout);
  result.buffers.push_back(std::move(page.chunk_words));
  result.buffers.push_back(std::move(page.chunks));
  return result;
}

EncodedPage ToPage(FullZipPage page) {
  EncodedPage result;
  *result.layout.mutable_full_zip() = std::move(page.layout);
  result.buffers = std::move(page.buffers);
  return result;
}

template <typename T>
std::unique_ptr<ChunkSource> SmallestChunks(std::span<const T> values,
                                            const IntegerStatistics& statistics) {
  const size_t best = statistics.best_bytes();
  if (statistics.flat_bytes == best) {
    return MakeFlatChunks({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()},
                          sizeof(T));
  }
  if (statistics.bitpacked_bytes == best) return MakeBitpackedChunks(values);
  return MakeRunChunks(values);
}

// The page with a dictionary, if that is clearly smaller than `other_bytes`.
Result<std::optional<EncodedPage>> EncodeWithDictionary(const ValueShape& type,
                                                        const PageData& page,
                                                        const PageLevels& levels,
                                                        size_t other_bytes, size_t runs) {
  const double limit = kDictionaryGain * static_cast<double>(other_bytes);
  const std::optional<Dictionary> dictionary =
      BuildDictionary(type, page, static_cast<size_t>(limit), runs);
  if (!dictionary) return std::nullopt;
  const std::span<const uint32_t> indices = dictionary->indices.as<uint32_t>();
  const IntegerStatistics statistics = ComputeStatistics(indices);
  // LZ4 seldom does better than a third: no use in trying when even that would not be enough.
  const size_t least = statistics.best_bytes() + dictionary->entries.size() / 3;
  if (static_cast<double>(least) >= limit) return std::nullopt;
  pb::CompressiveEncoding block_encoding;
  ARROW_ASSIGN_OR_RAISE(ByteBuffer block,
                        EncodeDictionaryBlock(type, *dictionary, &block_encoding));
  if (static_cast<double>(statistics.best_bytes() + block.size()) >= limit) return std::nullopt;

  const auto chunks = SmallestChunks(indices, statistics);
  EncodedPage result = ToPage(EncodeMiniBlock(chunks.get(), indices.size(), levels));
  pb::MiniBlockLayout* const layout = result.layout.mutable_mini_block();
  *layout->mutable_dictionary() = std::move(block_encoding);
  layout->set_num_dictionary_items(dictionary->count);
  result.buffers.push_back(std::move(block));
  return result;
}

template <typename T>
Result<EncodedPage> EncodeIntegers(const ValueShape& type, const PageData& page,
                                   const PageLevels& levels) {
  const std::span<const T> values = page.values.as<T>();
  const IntegerStatistics statistics = ComputeStatistics(values);
  if constexpr (sizeof(T) == 8) {
    ARROW_ASSIGN_OR_RAISE(
        auto with_dictionary,
        EncodeWithDictionary(type, page, levels, statistics.best_bytes(), statistics.runs));
    if (with_dictionary) return std::move(*with_dictionary);
  }
  const auto chunks = SmallestChunks(values, statistics);
  return ToPage(EncodeMiniBlock(chunks.get(), values.size(), levels));
}

Result<EncodedPage> EncodeFixed(const ValueShape& type, PageData* page, const PageLevels& levels) {
  if (type.is_bool) {
    const auto chunks = MakeBoolChunks(page->values.as<uint8_t>());
    return ToPage(EncodeMiniBlock(chunks.get(), page->num_rows, levels));
  }
  switch (type.width) {
    case 1:
      return EncodeIntegers<uint8_t>(type, *page, levels);
    case 2:
      return EncodeIntegers<uint16_t>(type, *page, levels);
    case 4:
      return EncodeIntegers<uint32_t>(type, *page, levels);
    case 8:
      return EncodeIntegers<uint64_t>(type, *page, levels);
    default:
      break;
  }
  if (type.width == 16) {
    ARROW_ASSIGN_OR_RAISE(auto with_dictionary,
                          EncodeWithDictionary(type, *page, levels, page->values.size(), 0));
    if (with_dictionary) return std::move(*with_dictionary);
  }
  if (type.width >= kFullZipBytes) return ToPage(EncodeFullZipFixed(type, page, levels));
  const auto chunks = MakeFlatChunks(page->values.as<uint8_t>(), type.width);
  return ToPage(EncodeMiniBlock(chunks.get(), page->num_rows, levels));
}

Result<EncodedPage> EncodeVariable(const ValueShape& type, const PageData& page,
                                   const PageLevels& levels) {
  const bool fsst_pays = type.is_text && page.values.size() >= kFsstFewestBytes &&
                         page.longest_value >= kFsstShortestLongest;
  const double text_bytes = static_cast<double>(page.values.size()) * (fsst_pays ? kFsstRatio : 1);
  const size_t other_bytes =
      static_cast<size_t>(text_bytes) + page.num_rows * (type.offset_bits / 8);
  ARROW_ASSIGN_OR_RAISE(auto with_dictionary,
                        EncodeWithDictionary(type, page, levels, other_bytes, 0));
  if (with_dictionary) return std::move(*with_dictionary);

  if (page.longest_value >= kFullZipBytes) {
    ARROW_ASSIGN_OR_RAISE(FullZipPage full_zip, EncodeFullZipVariable(type, page, levels));
    return ToPage(std::move(full_zip));
  }
  if (fsst_pays) {
    if (const auto text = EncodeFsst(page.offsets.as<uint32_t>(), page.values.as<uint8_t>())) {
      const auto chunks = MakeVariableChunks(text->offsets.as<uint32_t>(),
                                             text->codes.as<uint8_t>(), type.offset_bits);
      MiniBlockPage mini_block = EncodeMiniBlock(chunks.get(), page.num_rows, levels);
      pb::CompressiveEncoding encoding;
      encoding.mutable_fsst()->set_symbol_table(text->symbol_table);
      *encoding.mutable_fsst()->mutable_values() =
          std::move(*mini_block.layout.mutable_value_compression());
      *mini_block.layout.mutable_value_compression() = std::move(encoding);
      return ToPage(std::move(mini_block));
    }
  }
  const auto chunks =
      MakeVariableChunks(page.offsets.as<uint32_t>(), page.values.as<uint8_t>(), type.offset_bits);
  return ToPage(EncodeMiniBlock(chunks.get(), page.num_rows, levels));
}

EncodedPage EncodeLists(const ValueShape& type, PageData* page, const PageLevels& levels) {
  if (type.row_width() >= kFullZipBytes) return ToPage(EncodeFullZipFixed(type, page, levels));
  const auto chunks =
      MakeListChunks(type, page->values.as<uint8_t>(), page->item_validity.as<uint8_t>());
  return ToPage(EncodeMiniBlock(chunks.get(), page->num_rows, levels));
}

}  // namespace

Result<EncodedPage> EncodePage(const ValueShape& type, bool in_struct, PageData page) {
  const PageLevels levels = PageLevels::Make(&page, in_struct);
  if (auto constant = EncodeConstant(type, page, levels)) {
    EncodedPage result;
    *result.layout.mutable_constant() = std::move(constant->layout);
    result.buffers = std::move(constant->buffers);
    return result;
  }
  switch (type.kind) {
    case Kind::kFixed:
      return EncodeFixed(type, &page, levels);
    case Kind::kVariable:
      return EncodeVariable(type, page, levels);
    case Kind::kFixedSizeList:
      return EncodeLists(type, &page, levels);
  }
  return Error(ErrorCode::kInternal, "a page of an unknown kind of column");
}

}  // namespace lake::format
