#include "lake/format/row_levels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <arrow/array.h>

#include "lake/format/array_access.h"

namespace lake::format {
namespace {

using Range = RowLevels::Range;
using Kind = PathStep::Kind;

// The array below a step; its slots are those of `array` for a struct.
std::shared_ptr<arrow::Array> ChildOf(const arrow::Array& array, const PathStep& step) {
  switch (array.type_id()) {
    case arrow::Type::STRUCT:
      return static_cast<const arrow::StructArray&>(array).field(step.child);
    case arrow::Type::LARGE_LIST:
      return static_cast<const arrow::LargeListArray&>(array).values();
    case arrow::Type::FIXED_SIZE_LIST:
      return static_cast<const arrow::FixedSizeListArray&>(array).values();
    default:
      // A map is a list of structs.
      return static_cast<const arrow::ListArray&>(array).values();
  }
}

// A column of type null has no bitmap to say so.
bool IsAllNull(const arrow::Array& array) { return array.type_id() == arrow::Type::NA; }

// For each byte of a bitmap, 0xff for each of its bits that is 0.
constexpr std::array<uint64_t, 256> MakeNullMasks() {
  std::array<uint64_t, 256> masks{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1) == 0) masks[byte] |= uint64_t{0xff} << (8 * bit);
    }
  }
  return masks;
}
constexpr std::array<uint64_t, 256> kNullMasks = MakeNullMasks();

// Sets codes[i] where bit offset + i is 0.
void MarkNulls(const uint8_t* bits, int64_t offset, int64_t count, uint8_t code, uint8_t* codes) {
  const uint64_t repeated = code * 0x0101010101010101u;
  int64_t i = 0;
  for (; i < count && ((offset + i) & 7) != 0; ++i) {
    if (!BitIsSet(bits, offset + i)) codes[i] = code;
  }
  const uint8_t* byte = bits + ((offset + i) >> 3);
  for (; i + 8 <= count; i += 8) {
    const uint64_t mask = kNullMasks[*byte++];
    uint64_t word;
    std::memcpy(&word, codes + i, sizeof(word));
    word = (word & ~mask) | (repeated & mask);
    std::memcpy(codes + i, &word, sizeof(word));
  }
  for (; i < count; ++i) {
    if (!BitIsSet(bits, offset + i)) codes[i] = code;
  }
}

struct Bounds {
  int64_t begin;
  int64_t end;
};

// The child slots of a list.
Bounds ListBounds(const arrow::Array& array, int64_t begin, int64_t end) {
  // Without lists there need not be offsets.
  if (array.length() == 0) return {0, 0};
  switch (array.type_id()) {
    case arrow::Type::LARGE_LIST: {
      const auto& list = static_cast<const arrow::LargeListArray&>(array);
      return {list.value_offset(begin), list.value_offset(end)};
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListArray&>(array);
      const int64_t first = list.value_offset(begin);
      return {first, first + (end - begin) * list.list_type()->list_size()};
    }
    default: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      return {list.value_offset(begin), list.value_offset(end)};
    }
  }
}

void AddRange(Range range, std::vector<Range>* ranges) {
  if (range.count == 0) return;
  if (!ranges->empty() && ranges->back().start + ranges->back().count == range.start) {
    ranges->back().count += range.count;
  } else {
    ranges->push_back(range);
  }
}

// Builds the levels of some rows layer by layer, from the outermost. An entry is a level so far. It
// is live, standing for a slot of the present layer's array, unless its code is that of a null or
// empty list or of what is null around a list: those have nothing further in.
class LevelBuilder {
 public:
  LevelBuilder(const LevelShape& shape, Range rows)
      : last_value_code_(shape.last_value_code()),
        repetitions_(rows.count, shape.num_lists()),
        codes_(rows.count, 0),
        live_{rows} {}

  /// A struct, or the leaf.
  void Item(const arrow::Array& array, uint8_t null_code);
  void FixedSizeList(const arrow::FixedSizeListArray& array, uint8_t null_code);
  /// `depth` counts the lists from the innermost, 1.
  template <typename Lists>
  void List(const Lists& array, uint8_t depth, uint8_t null_code);

  RowLevels Finish(bool has_lists);

 private:
  bool IsLive(size_t entry) const { return codes_[entry] <= last_value_code_; }
  // Calls `dead(entry)` and `live(entry, slot)` in order.
  template <typename Dead, typename Live>
  void ForEach(const Dead& dead, const Live& live) const;

  const uint8_t last_value_code_;
  std::vector<uint8_t> repetitions_;
  std::vector<uint8_t> codes_;
  std::vector<Range> live_;
};

template <typename Dead, typename Live>
void LevelBuilder::ForEach(const Dead& dead, const Live& live) const {
  size_t entry = 0;
  for (const Range& range : live_) {
    for (int64_t slot = range.start; slot < range.start + range.count; ++slot, ++entry) {
      while (!IsLive(entry)) dead(entry++);
      live(entry, slot);
    }
  }
  for (; entry < codes_.size(); ++entry) dead(entry);
}

void LevelBuilder::Item(const arrow::Array& array, uint8_t null_code) {
  const uint8_t* const bits = Validity(array);
  if (bits == nullptr && !IsAllNull(array)) return;
  const bool ends = null_code > last_value_code_;
  std::vector<Range> live;
  std::vector<uint8_t> codes = codes_;
  ForEach([](size_t) {},
          [&](size_t entry, int64_t slot) {
            const bool null = bits == nullptr || !BitIsSet(bits, array.offset() + slot);
            // What is null further out stays that.
            if (null && codes[entry] == PageData::kValid) codes[entry] = null_code;
            if (ends && !null) AddRange({slot, 1}, &live);
          });
  codes_ = std::move(codes);
  if (ends) live_ = std::move(live);
}

void LevelBuilder::FixedSizeList(const arrow::FixedSizeListArray& array, uint8_t null_code) {
  const uint8_t* const bits = Validity(array);
  const int64_t dimension = array.list_type()->list_size();
  const bool ends = null_code > last_value_code_;
  std::vector<uint8_t> repetitions;
  std::vector<uint8_t> codes;
  std::vector<Range> live;
  const auto add = [&](size_t entry, uint8_t code) {
    repetitions.insert(repetitions.end(), dimension, repetitions_[entry]);
    codes.insert(codes.end(), dimension, code);
  };
  ForEach([&](size_t entry) { add(entry, codes_[entry]); },
          [&](size_t entry, int64_t slot) {
            const bool null = bits != nullptr && !BitIsSet(bits, array.offset() + slot);
            add(entry, null && codes_[entry] == PageData::kValid ? null_code : codes_[entry]);
            if (!ends || !null) AddRange({array.value_offset(slot), dimension}, &live);
          });
  repetitions_ = std::move(repetitions);
  codes_ = std::move(codes);
  live_ = std::move(live);
}

template <typename Lists>
void LevelBuilder::List(const Lists& array, uint8_t depth, uint8_t null_code) {
  const uint8_t* const bits = Validity(array);
  const auto* const offsets = array.raw_value_offsets();
  size_t most = codes_.size();
  for (const Range& range : live_) {
    most += static_cast<size_t>(offsets[range.start + range.count] - offsets[range.start]);
  }
  std::vector<uint8_t> repetitions(most);
  std::vector<uint8_t> codes(most);
  std::vector<Range> live;
  size_t size = 0;
  const auto add = [&](size_t entry, uint8_t code) {
    repetitions[size] = repetitions_[entry];
    codes[size++] = code;
  };
  ForEach([&](size_t entry) { add(entry, codes_[entry]); },
          [&](size_t entry, int64_t slot) {
            if (bits != nullptr && !BitIsSet(bits, array.offset() + slot)) {
              return add(entry, null_code);
            }
            const int64_t length = offsets[slot + 1] - offsets[slot];
            if (length == 0) return add(entry, static_cast<uint8_t>(null_code + 1));
            std::memset(repetitions.data() + size, depth - 1, length);
            repetitions[size] = repetitions_[entry];
            size += static_cast<size_t>(length);
            AddRange({offsets[slot], length}, &live);
          });
  repetitions.resize(size);
  codes.resize(size);
  repetitions_ = std::move(repetitions);
  codes_ = std::move(codes);
  live_ = std::move(live);
}

RowLevels LevelBuilder::Finish(bool has_lists) {
  RowLevels result;
  for (const Range& range : live_) result.num_values += range.count;
  result.ranges = std::move(live_);
  const bool all_valid = std::all_of(codes_.begin(), codes_.end(), [this](uint8_t code) {
    return code == PageData::kValid || code > last_value_code_;
  });
  if (!has_lists) {
    if (!all_valid) result.states = std::move(codes_);
    return result;
  }
  if (!all_valid) {
    result.states.reserve(result.num_values);
    for (const uint8_t code : codes_) {
      if (code <= last_value_code_) result.states.push_back(code);
    }
  }
  result.repetitions = std::move(repetitions_);
  result.codes = std::move(codes_);
  return result;
}

}  // namespace

LeafRows::LeafRows(const LeafPath& path, const std::shared_ptr<arrow::Array>& column)
    : path_(path) {
  arrays_.push_back(StorageOf(column));
  for (const PathStep& step : path.steps) {
    arrays_.push_back(StorageOf(ChildOf(*arrays_.back(), step)));
  }
}

int64_t LeafRows::num_rows() const { return arrays_.front()->length(); }

RowLevels::Range LeafRows::LeafRange(int64_t start, int64_t end) const {
  for (size_t i = 0; i < path_.steps.size(); ++i) {
    if (path_.steps[i].kind == Kind::kStruct) continue;
    const Bounds bounds = ListBounds(*arrays_[i], start, end);
    start = bounds.begin;
    end = bounds.end;
  }
  return {start, end - start};
}

// Without lists every slot has its place: nulls are marked from the leaf outwards.
RowLevels LeafRows::BuildFlat(int64_t start, int64_t count) const {
  RowLevels result;
  result.ranges.push_back({start, count});
  result.num_values = count;
  for (size_t i = 0; i < arrays_.size(); ++i) {
    const arrow::Array& array = *arrays_[arrays_.size() - 1 - i];
    const uint8_t* const bits = Validity(array);
    if (IsAllNull(array)) result.states.assign(count, path_.levels.null_code(i));
    if (bits == nullptr) continue;
    result.states.resize(count, PageData::kValid);
    MarkNulls(bits, array.offset() + start, count, path_.levels.null_code(i), result.states.data());
  }
  return result;
}

RowLevels LeafRows::Build(int64_t start, int64_t count) const {
  const bool has_lists = path_.levels.num_lists() != 0;
  if (!has_lists && path_.slots_per_row == 1) return BuildFlat(start, count);
  LevelBuilder builder(path_.levels, {start, count});
  uint8_t depth = path_.levels.num_lists();
  for (size_t i = 0; i < path_.steps.size(); ++i) {
    const uint8_t null_code = path_.levels.null_code(path_.steps.size() - i);
    const arrow::Array& array = *arrays_[i];
    switch (path_.steps[i].kind) {
      case Kind::kStruct:
        builder.Item(array, null_code);
        break;
      case Kind::kFixedSizeList:
        builder.FixedSizeList(static_cast<const arrow::FixedSizeListArray&>(array), null_code);
        break;
      case Kind::kList:
        if (array.type_id() == arrow::Type::LARGE_LIST) {
          builder.List(static_cast<const arrow::LargeListArray&>(array), depth--, null_code);
        } else {
          builder.List(static_cast<const arrow::ListArray&>(array), depth--, null_code);
        }
        break;
    }
  }
  builder.Item(leaf(), path_.levels.null_code(0));
  return builder.Finish(has_lists);
}

}  // namespace lake::format
