#include "lake/format/full_zip_encoder_internal.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <arrow/util/bitmap_ops.h>

namespace lake::format {
namespace {

void DescribeLevels(const PageLevels& levels, pb::FullZipLayout* layout) {
  layout->set_bits_rep(levels.repetition_width);
  layout->set_bits_def(levels.definition_width);
  layout->set_num_items(static_cast<uint32_t>(levels.count));
  layout->set_num_visible_items(static_cast<uint32_t>(levels.num_values));
  for (const pb::RepDefLayer layer : levels.layers) layout->add_layers(layer);
}

void DescribeFixed(const ValueShape& shape, const PageData& page,
                   pb::CompressiveEncoding* encoding) {
  for (size_t i = 0; i < shape.dimensions.size(); ++i) {
    pb::FixedSizeList* const list = encoding->mutable_fixed_size_list();
    list->set_items_per_value(shape.dimensions[i]);
    list->set_has_validity(!page.item_validity[i].empty());
    encoding = list->mutable_values();
  }
  encoding->mutable_flat()->set_bits_per_value(shape.width * 8);
}

void CopyBits(const uint8_t* source, size_t first, size_t count, uint8_t* target) {
  std::fill_n(target, (count + 7) / 8, uint8_t{0});
  arrow::internal::CopyBitmap(source, static_cast<int64_t>(first), static_cast<int64_t>(count),
                              target, 0);
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

// The control words of a page: repetition above definition, in the bytes that both need.
class ControlWords {
 public:
  explicit ControlWords(const PageLevels& levels)
      : levels_(levels), bits_(levels.repetition_width + levels.definition_width) {}

  size_t bytes() const { return bits_ == 0 ? 0 : bits_ <= 8 ? 1 : 2; }
  bool StartsRow(size_t slot) const {
    return levels_.repetitions.empty() || levels_.repetitions[slot] == levels_.new_row;
  }
  uint8_t definition(size_t slot) const {
    return levels_.definitions.empty() ? 0 : levels_.definitions[slot];
  }
  bool HasValue(size_t slot) const { return definition(slot) <= levels_.last_value_level; }

  uint8_t* Put(size_t slot, uint8_t* out) const {
    if (bits_ == 0) return out;
    const unsigned repetition = levels_.repetitions.empty() ? 0 : levels_.repetitions[slot];
    const auto word =
        static_cast<uint16_t>(repetition << levels_.definition_width | definition(slot));
    std::memcpy(out, &word, bytes());
    return out + bytes();
  }

 private:
  const PageLevels& levels_;
  const unsigned bits_;
};

// Items' validity and the values of one slot after the other.
class FixedValues {
 public:
  FixedValues(const ValueShape& shape, const PageData& page) : shape_(shape), page_(page) {
    size_t items = 1;
    for (size_t i = 0; i < shape.dimensions.size(); ++i) {
      items *= shape.dimensions[i];
      if (page.item_validity[i].empty()) continue;
      validity_.push_back({&page.item_validity[i], items});
      bytes_ += (items + 7) / 8;
    }
    bytes_ += shape.row_width();
  }

  size_t bytes() const { return bytes_; }

  uint8_t* Put(size_t value, uint8_t* out) const {
    for (const auto& [bits, items] : validity_) {
      CopyBits(bits->data(), value * items, items, out);
      out += (items + 7) / 8;
    }
    std::memcpy(out, page_.values.data() + value * shape_.row_width(), shape_.row_width());
    return out + shape_.row_width();
  }

 private:
  struct Validity {
    const ByteBuffer* bits;
    size_t items;
  };
  const ValueShape& shape_;
  const PageData& page_;
  std::vector<Validity> validity_;
  size_t bytes_ = 0;
};

template <typename Length>
FullZipPage ZipVariable(const PageData& page, const PageLevels& levels, const StoredText& stored) {
  FullZipPage result;
  const ControlWords control(levels);
  ByteBuffer data;
  data.Reserve(stored.bytes.size() + levels.count * (sizeof(Length) + control.bytes()));
  std::vector<uint64_t> positions;
  positions.reserve(page.num_rows + 1);
  size_t value = 0;
  for (size_t slot = 0; slot < levels.count; ++slot) {
    if (control.StartsRow(slot)) positions.push_back(data.size());
    control.Put(slot, data.Extend(control.bytes()));
    if (!control.HasValue(slot)) continue;
    const size_t at = value++;
    if (control.definition(slot) != 0) continue;
    const Length length = stored.offsets[at + 1] - stored.offsets[at];
    data.AppendValue(length);
    data.Append(stored.bytes.data() + stored.offsets[at], length);
  }
  positions.push_back(data.size());
  result.buffers.push_back(std::move(data));
  result.buffers.push_back(EncodePositions(positions));
  result.layout.set_bits_per_offset(sizeof(Length) * 8);
  return result;
}

}  // namespace

FullZipPage EncodeFullZipFixed(const ValueShape& shape, PageData* page, const PageLevels& levels) {
  FullZipPage result;
  const FixedValues values(shape, *page);
  result.layout.set_bits_per_value(static_cast<uint32_t>(values.bytes() * 8));
  DescribeLevels(levels, &result.layout);
  DescribeFixed(shape, *page, result.layout.mutable_value_compression());
  const ControlWords control(levels);
  if (control.bytes() == 0 && !page->has_item_nulls()) {
    result.buffers.push_back(std::move(page->values));
    return result;
  }
  ByteBuffer data;
  uint8_t* const start =
      data.Extend(levels.count * control.bytes() + levels.num_values * values.bytes());
  uint8_t* target = start;
  std::vector<uint64_t> positions;
  size_t value = 0;
  for (size_t slot = 0; slot < levels.count; ++slot) {
    if (!levels.repetitions.empty() && control.StartsRow(slot)) {
      positions.push_back(static_cast<uint64_t>(target - start));
    }
    target = control.Put(slot, target);
    if (control.HasValue(slot)) target = values.Put(value++, target);
  }
  result.buffers.push_back(std::move(data));
  if (!levels.repetitions.empty()) {
    positions.push_back(static_cast<uint64_t>(target - start));
    result.buffers.push_back(EncodePositions(positions));
  }
  return result;
}

FullZipPage EncodeFullZipVariable(unsigned offset_bits, const StoredText& stored,
                                  const PageData& page, const PageLevels& levels) {
  FullZipPage result = offset_bits == 32 ? ZipVariable<uint32_t>(page, levels, stored)
                                         : ZipVariable<uint64_t>(page, levels, stored);
  DescribeLevels(levels, &result.layout);
  return result;
}

}  // namespace lake::format
