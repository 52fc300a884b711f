#include "lake/format/full_zip_encoder_internal.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "lake/format/fsst_encoder.h"
#include "lake/format/value_compressor.h"

namespace lake::format {
namespace {

void DescribeLevels(const PageData& page, const PageLevels& levels, pb::FullZipLayout* layout) {
  layout->set_bits_rep(0);
  layout->set_bits_def(levels.width);
  layout->set_num_items(static_cast<uint32_t>(page.num_rows));
  layout->set_num_visible_items(static_cast<uint32_t>(page.num_rows));
  for (const pb::RepDefLayer layer : levels.layers) layout->add_layers(layer);
}

void DescribeFixed(const ValueShape& type, bool has_validity, pb::CompressiveEncoding* encoding) {
  if (type.kind == ValueShape::Kind::kFixed) {
    encoding->mutable_flat()->set_bits_per_value(type.width * 8);
    return;
  }
  pb::FixedSizeList* const list = encoding->mutable_fixed_size_list();
  list->set_items_per_value(type.items);
  list->set_has_validity(has_validity);
  list->mutable_values()->mutable_flat()->set_bits_per_value(type.width * 8);
}

void CopyBits(const uint8_t* source, size_t first, size_t count, uint8_t* target) {
  std::fill_n(target, (count + 7) / 8, uint8_t{0});
  for (size_t i = 0; i < count; ++i) {
    const size_t at = first + i;
    target[i / 8] |= (source[at / 8] >> (at % 8) & 1) << (i % 8);
  }
}

// Positions of the rows, and of the end, in the smallest width that holds them all.
ByteBuffer EncodePositions(std::span<const uint64_t> positions) {
  const auto encode = [&]<typename T>(T) {
    ByteBuffer out;
    T* const target = reinterpret_cast<T*>(out.Extend(positions.size() * sizeof(T)));
    std::copy(positions.begin(), positions.end(), target);
    return out;
  };
  const uint64_t last = positions.back();
  if (last <= UINT8_MAX) return encode(uint8_t{});
  if (last <= UINT16_MAX) return encode(uint16_t{});
  if (last <= UINT32_MAX) return encode(uint32_t{});
  return encode(uint64_t{});
}

// The values as they go into the page: their own bytes, or codes, with offsets.
struct StoredText {
  std::span<const uint32_t> offsets;
  std::span<const uint8_t> bytes;
};

template <typename Length>
FullZipPage ZipVariable(const PageData& page, const PageLevels& levels, const StoredText& stored) {
  FullZipPage result;
  ByteBuffer data;
  data.Reserve(stored.bytes.size() + page.num_rows * (sizeof(Length) + 1));
  std::vector<uint64_t> positions;
  positions.reserve(page.num_rows + 1);
  for (size_t row = 0; row < page.num_rows; ++row) {
    positions.push_back(data.size());
    if (!levels.levels.empty()) {
      data.AppendValue<uint8_t>(levels.levels[row]);
      if (levels.levels[row] != 0) continue;
    }
    const Length length = stored.offsets[row + 1] - stored.offsets[row];
    data.AppendValue(length);
    data.Append(stored.bytes.data() + stored.offsets[row], length);
  }
  positions.push_back(data.size());
  result.buffers.push_back(std::move(data));
  result.buffers.push_back(EncodePositions(positions));
  result.layout.set_bits_per_offset(sizeof(Length) * 8);
  return result;
}

}  // namespace

FullZipPage EncodeFullZipFixed(const ValueShape& type, PageData* page, const PageLevels& levels) {
  FullZipPage result;
  const bool has_validity = !page->item_validity.empty();
  const size_t validity_bytes = has_validity ? (type.items + 7) / 8 : 0;
  const size_t row_width = type.row_width();
  result.layout.set_bits_per_value(static_cast<uint32_t>((validity_bytes + row_width) * 8));
  DescribeLevels(*page, levels, &result.layout);
  DescribeFixed(type, has_validity, result.layout.mutable_value_compression());
  if (levels.levels.empty() && !has_validity) {
    result.buffers.push_back(std::move(page->values));
    return result;
  }
  const size_t control_bytes = levels.levels.empty() ? 0 : 1;
  ByteBuffer data;
  uint8_t* target = data.Extend(page->num_rows * (control_bytes + validity_bytes + row_width));
  for (size_t row = 0; row < page->num_rows; ++row) {
    if (control_bytes != 0) *target++ = levels.levels[row];
    if (has_validity) {
      CopyBits(page->item_validity.data(), row * type.items, type.items, target);
      target += validity_bytes;
    }
    std::memcpy(target, page->values.data() + row * row_width, row_width);
    target += row_width;
  }
  result.buffers.push_back(std::move(data));
  return result;
}

Result<FullZipPage> EncodeFullZipVariable(const ValueShape& type, const PageData& page,
                                          const PageLevels& levels) {
  StoredText stored{page.offsets.as<uint32_t>(), page.values.as<uint8_t>()};
  pb::CompressiveEncoding encoding;
  pb::CompressiveEncoding* plain = &encoding;
  std::optional<FsstText> text;
  std::optional<CompressedValues> compressed;
  if (page.longest_value > kCompressedValueBytes) {
    ARROW_ASSIGN_OR_RAISE(compressed, CompressValues(stored.offsets, stored.bytes));
    if (compressed) {
      stored = {compressed->offsets.as<uint32_t>(), compressed->bytes.as<uint8_t>()};
      pb::General* const general = encoding.mutable_general();
      general->mutable_compression()->set_scheme(pb::BufferCompression::ZSTD);
      general->mutable_compression()->set_level(0);
      plain = general->mutable_values();
    }
  } else if (type.is_text && page.values.size() >= kFsstFewestBytes) {
    text = EncodeFsst(stored.offsets, stored.bytes);
    if (text) {
      stored = {text->offsets.as<uint32_t>(), text->codes.as<uint8_t>()};
      encoding.mutable_fsst()->set_symbol_table(text->symbol_table);
      plain = encoding.mutable_fsst()->mutable_values();
    }
  }
  plain->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(
      type.offset_bits);

  FullZipPage result = type.offset_bits == 32 ? ZipVariable<uint32_t>(page, levels, stored)
                                              : ZipVariable<uint64_t>(page, levels, stored);
  DescribeLevels(page, levels, &result.layout);
  *result.layout.mutable_value_compression() = std::move(encoding);
  return result;
}

}  // namespace lake::format
