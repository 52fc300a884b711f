#include "lake/format/constant_encoder_internal.h"

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

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
    return std::memcmp(values, values + type.width, (page.num_rows - 1) * type.width) == 0;
  }
  size_t row = 0;
  while (!page.IsValid(row)) ++row;
  const std::string_view first = page.Value(row);
  if (first.size() * page.num_valid() != page.values.size()) return false;
  for (++row; row < page.num_rows; ++row) {
    if (page.IsValid(row) && page.Value(row) != first) return false;
  }
  return true;
}

// Whether nulls cost less in another layout: every kind but wide fixed values packs a repeated
// value into next to nothing there.
bool LevelsAreTooLarge(const ValueShape& type, const PageData& page, const PageLevels& levels) {
  const bool packs_well =
      type.kind == Kind::kVariable || (type.width <= 16 && std::has_single_bit(type.width));
  return !levels.levels.empty() && packs_well && page.num_rows > kMostRowsWithLevels;
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

ConstantPage EncodeNothing(const PageData& page, const PageLevels& levels) {
  ConstantPage result;
  if (levels.layers.size() == 1) return result;
  const std::array<uint32_t, 1> blocks{static_cast<uint32_t>(page.num_rows)};
  const LevelEncoder encoder(levels.levels, blocks);
  encoder.Describe(result.layout.mutable_def_compression());
  result.layout.set_num_def_values(page.num_rows);
  result.buffers.resize(2);
  encoder.AppendBlock(0, page.num_rows, &result.buffers[1]);
  return result;
}

}  // namespace

std::optional<ConstantPage> EncodeConstant(const ValueShape& type, const PageData& page,
                                           const PageLevels& levels) {
  std::optional<ConstantPage> result;
  if (page.num_valid() == 0) {
    result = EncodeNothing(page, levels);
  } else {
    if (type.kind == Kind::kFixedSizeList || LevelsAreTooLarge(type, page, levels) ||
        !AllValidEqual(type, page)) {
      return std::nullopt;
    }
    result.emplace();
    const std::string_view value = FirstValidValue(type, page);
    if (type.kind == Kind::kFixed && value.size() <= kLongestInlineValue) {
      result->layout.set_inline_value(std::string(value));
    } else {
      result->buffers.push_back(ScalarBuffer(type, value));
    }
    if (!levels.levels.empty()) {
      result->buffers.emplace_back();
      ByteBuffer& raw = result->buffers.emplace_back();
      for (const uint8_t level : levels.levels) raw.AppendValue<uint16_t>(level);
    }
  }
  for (const pb::RepDefLayer layer : levels.layers) result->layout.add_layers(layer);
  return result;
}

}  // namespace lake::format
