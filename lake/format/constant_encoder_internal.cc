#include "lake/format/constant_encoder_internal.h"

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "lake/format/mini_block_encoder_internal.h"

namespace lake::format {
namespace {

using Kind = ValueShape::Kind;

constexpr size_t kLongestInlineValue = 32;
// Rows from which raw levels (2 bytes each) are larger than a packed page of the same value.
constexpr size_t kMostRowsWithLevels = 512;

bool AllValidEqual(const ValueShape& type, const PageData& page) {
  if (type.kind == Kind::kFixed) {
    // Nulls repeat a valid value, so they need no second look.
    const uint8_t* const values = page.values.data();
    return std::memcmp(values, values + type.width, (page.num_values - 1) * type.width) == 0;
  }
  size_t at = 0;
  while (!page.IsValid(at)) ++at;
  const std::string_view first = page.Value(at);
  if (first.size() * page.num_valid() != page.values.size()) return false;
  for (++at; at < page.num_values; ++at) {
    if (page.IsValid(at) && page.Value(at) != first) return false;
  }
  return true;
}

// Whether nulls cost less in another layout: every kind but wide fixed values packs a repeated
// value into next to nothing there.
bool LevelsAreTooLarge(const ValueShape& type, const PageData& page, const PageLevels& levels) {
  const bool packs_well =
      type.kind == Kind::kVariable || (type.width <= 16 && std::has_single_bit(type.width));
  const bool has_levels = !levels.definitions.empty() || !levels.repetitions.empty();
  return has_levels && packs_well && page.num_values > kMostRowsWithLevels &&
         FitsMiniBlocks(levels, kFileVersion22);
}

std::string_view FirstValidValue(const ValueShape& type, const PageData& page) {
  size_t row = 0;
  while (!page.IsValid(row)) ++row;
  return type.kind == Kind::kVariable ? page.Value(row)
                                      : page.values.view().substr(row * type.width, type.width);
}

// Number of parts, size of each, the parts: as the buffers of an Arrow array of one value.
ByteBuffer ScalarBuffer(const ValueShape& type, std::string_view value) {
  ByteBuffer scalar;
  if (type.kind == Kind::kVariable) {
    scalar.AppendValue<uint32_t>(2);
    scalar.AppendValue<uint32_t>(type.offset_bits / 4);
    scalar.AppendValue(static_cast<uint32_t>(value.size()));
    if (type.offset_bits == 32) {
      scalar.AppendValue<uint32_t>(0);
      scalar.AppendValue(static_cast<uint32_t>(value.size()));
    } else {
      scalar.AppendValue<uint64_t>(0);
      scalar.AppendValue<uint64_t>(value.size());
    }
  } else {
    scalar.AppendValue<uint32_t>(1);
    scalar.AppendValue(static_cast<uint32_t>(value.size()));
  }
  scalar.Append(value.data(), value.size());
  return scalar;
}

void AppendRaw(std::span<const uint8_t> levels, std::vector<ByteBuffer>* buffers) {
  ByteBuffer& raw = buffers->emplace_back();
  raw.Reserve(levels.size() * sizeof(uint16_t));
  for (const uint8_t level : levels) raw.AppendValue<uint16_t>(level);
}

void AppendBlock(std::span<const uint8_t> levels, pb::CompressiveEncoding* encoding,
                 std::vector<ByteBuffer>* buffers) {
  const std::array<uint32_t, 1> blocks{static_cast<uint32_t>(levels.size())};
  const LevelEncoder encoder(levels, blocks, /*runs_allowed=*/true);
  encoder.Describe(encoding);
  encoder.AppendBlock(0, levels.size(), &buffers->emplace_back());
}

// A page without any value is its levels, and not even those if every row is a null leaf.
ConstantPage EncodeNothing(const PageLevels& levels, const FileVersion& version) {
  ConstantPage result;
  if (levels.layers.size() == 1) return result;
  if (version < kFileVersion22) {
    AppendRaw(levels.repetitions, &result.buffers);
    AppendRaw(levels.definitions, &result.buffers);
    return result;
  }
  if (levels.repetitions.empty()) {
    result.buffers.emplace_back();
  } else {
    result.layout.set_num_rep_values(levels.count);
    AppendBlock(levels.repetitions, result.layout.mutable_rep_compression(), &result.buffers);
  }
  if (levels.definitions.empty()) {
    result.buffers.emplace_back();
  } else {
    result.layout.set_num_def_values(levels.count);
    AppendBlock(levels.definitions, result.layout.mutable_def_compression(), &result.buffers);
  }
  return result;
}

}  // namespace

std::optional<ConstantPage> EncodeConstant(const ValueShape& shape, const PageData& page,
                                           const PageLevels& levels, const FileVersion& version) {
  std::optional<ConstantPage> result;
  if (page.num_valid() == 0 || !shape.has_values()) {
    result = EncodeNothing(levels, version);
  } else {
    if (version < kFileVersion22 || shape.kind == Kind::kFixedSizeList || shape.entries ||
        !shape.packed.empty() || shape.is_blob || LevelsAreTooLarge(shape, page, levels) ||
        !AllValidEqual(shape, page)) {
      return std::nullopt;
    }
    result.emplace();
    const std::string_view value = FirstValidValue(shape, page);
    if (shape.kind == Kind::kFixed && value.size() <= kLongestInlineValue) {
      result->layout.set_inline_value(std::string(value));
    } else {
      result->buffers.push_back(ScalarBuffer(shape, value));
    }
    if (!levels.definitions.empty() || !levels.repetitions.empty()) {
      AppendRaw(levels.repetitions, &result->buffers);
      AppendRaw(levels.definitions, &result->buffers);
    }
  }
  for (const pb::RepDefLayer layer : levels.layers) result->layout.add_layers(layer);
  return result;
}

}  // namespace lake::format
