#include "lake/format/level_scheme_internal.h"

#include <algorithm>
#include <optional>

namespace lake::format {
namespace {

struct LayerKind {
  bool is_list;
  bool can_be_null;
  bool can_be_empty;
};

std::optional<LayerKind> KindOf(int layer) {
  switch (layer) {
    case pb::ALL_VALID_ITEM:
      return LayerKind{false, false, false};
    case pb::NULLABLE_ITEM:
      return LayerKind{false, true, false};
    case pb::ALL_VALID_LIST:
      return LayerKind{true, false, false};
    case pb::NULLABLE_LIST:
      return LayerKind{true, true, false};
    case pb::EMPTYABLE_LIST:
      return LayerKind{true, false, true};
    case pb::NULL_AND_EMPTY_LIST:
      return LayerKind{true, true, true};
    default:
      return std::nullopt;
  }
}

uint16_t Highest(const uint16_t* levels, uint64_t count) {
  uint16_t highest = 0;
  for (uint64_t i = 0; i < count; ++i) highest = std::max(highest, levels[i]);
  return highest;
}

Status TooHigh(uint16_t level, uint16_t highest) {
  return Error(ErrorCode::kCorrupt, "definition level {} is above the highest, {}", level, highest);
}

Status NotFitting() {
  return Error(ErrorCode::kCorrupt,
               "repetition and definition levels do not fit each other or the page's layers");
}

}  // namespace

Result<LevelScheme> LevelScheme::From(const google::protobuf::RepeatedField<int>& layers,
                                      const Nesting& nesting) {
  LevelScheme scheme;
  const int expected = static_cast<int>(nesting.layers.size()) + 1;
  if (layers.size() != expected) {
    return Error(ErrorCode::kCorrupt, "page has {} layers of nesting, its field has {}",
                 layers.size(), expected);
  }
  scheme.ends_in_ = {0};
  for (int i = 0; i < expected; ++i) {
    const auto kind = KindOf(layers[i]);
    if (!kind) return Error(ErrorCode::kUnsupported, "layer kind {} is not read", layers[i]);
    const bool is_list = i > 0 && nesting.layers[i - 1].kind == NestingLayer::Kind::kList;
    if (kind->is_list != is_list) {
      return Error(ErrorCode::kCorrupt, "layer {} of a page is a {}, in its field a {}", i,
                   kind->is_list ? "list" : "value", is_list ? "list" : "value");
    }
    Layer layer;
    layer.threshold = static_cast<uint16_t>(scheme.max_level_ + 1);
    if (is_list) scheme.lists_.push_back(static_cast<size_t>(i - 1));
    const uint16_t domain = static_cast<uint16_t>(scheme.lists_.size());
    if (kind->can_be_null) {
      ++scheme.max_level_;
      scheme.ends_in_.push_back(domain);
    }
    if (kind->can_be_empty) {
      layer.empty_level = ++scheme.max_level_;
      scheme.ends_in_.push_back(domain);
    }
    if (scheme.lists_.empty()) scheme.max_visible_ = scheme.max_level_;
    if (i > 0) scheme.layers_.push_back(layer);
  }
  return scheme;
}

Status LevelScheme::Append(const uint16_t* levels, uint64_t count, LeafBuilder* builder) const {
  const uint16_t highest = Highest(levels, count);
  if (highest > max_visible_) return TooHigh(highest, max_visible_);
  if (highest == 0) return AppendAllSame(0, count, builder);
  ARROW_RETURN_NOT_OK(builder->validity().AppendLevels(levels, count, 1));
  NestingBuilder& nesting = builder->nesting();
  const size_t end = lists_.empty() ? layers_.size() : lists_[0];
  for (size_t i = 0; i < end; ++i) {
    if (!nesting.nesting().layers[i].is_built) continue;
    ARROW_RETURN_NOT_OK(nesting.validity(i).AppendLevels(levels, count, layers_[i].threshold));
  }
  return Status::OK();
}

Status LevelScheme::AppendAllSame(uint16_t level, uint64_t count, LeafBuilder* builder) const {
  const auto append = [&](uint16_t threshold, ValidityBuilder* validity) {
    return level < threshold ? validity->AppendValid(count) : validity->AppendNulls(count);
  };
  ARROW_RETURN_NOT_OK(append(1, &builder->validity()));
  NestingBuilder& nesting = builder->nesting();
  const size_t end = lists_.empty() ? layers_.size() : lists_[0];
  for (size_t i = 0; i < end; ++i) {
    if (!nesting.nesting().layers[i].is_built) continue;
    ARROW_RETURN_NOT_OK(append(layers_[i].threshold, &nesting.validity(i)));
  }
  return Status::OK();
}

Result<const uint16_t*> LevelScheme::Visible(const uint16_t* levels, uint64_t count,
                                             std::vector<uint16_t>* scratch,
                                             uint64_t* num_values) const {
  const uint16_t highest = Highest(levels, count);
  if (highest > max_level_) return TooHigh(highest, max_level_);
  *num_values = count;
  if (highest <= max_visible_) return levels;
  // One more, because every entry is written before it is known to count.
  scratch->resize(count + 1);
  uint16_t* out = scratch->data();
  for (uint64_t i = 0; i < count; ++i) {
    *out = levels[i];
    out += levels[i] <= max_visible_ ? 1 : 0;
  }
  *num_values = static_cast<uint64_t>(out - scratch->data());
  return scratch->data();
}

// True if a slot of the layer may be null while no level passes `highest`.
bool LevelScheme::MayHoldNulls(size_t layer, uint16_t highest, LeafBuilder* builder) const {
  if (builder->nesting().validity(layer).buffer() != nullptr) return true;
  const Layer& levels = layers_[layer];
  if (levels.empty_level == levels.threshold) return highest > levels.empty_level;
  return highest >= levels.threshold;
}

// The usual case: one list, and nothing around it that this leaf builds.
Status LevelScheme::AppendInnerLists(const uint16_t* repetition, const uint16_t* levels,
                                     uint64_t count, LeafBuilder* builder) const {
  NestingBuilder& nesting = builder->nesting();
  const size_t list = lists_[0];
  const Layer& layer = layers_[list];
  const bool is_built = nesting.nesting().layers[list].is_built;
  const uint64_t first_value = nesting.slots(0);
  uint64_t values = first_value;
  uint64_t opened = 0;
  bool bad = false;
  if (is_built) {
    ARROW_RETURN_NOT_OK(nesting.ReserveList(list, count));
    uint64_t* const starts = nesting.next_starts(list);
    for (uint64_t i = 0; i < count; ++i) {
      const uint16_t ends_in = levels == nullptr ? 0 : ends_in_[levels[i]];
      bad |= repetition[i] > 1 || ends_in > repetition[i];
      starts[opened] = values;
      opened += repetition[i] != 0 ? 1 : 0;
      values += ends_in == 0 ? 1 : 0;
    }
    nesting.AddStarts(list, opened);
    const uint16_t highest = levels == nullptr ? 0 : Highest(levels, count);
    ValidityBuilder& validity = nesting.validity(list);
    if (!MayHoldNulls(list, highest, builder)) {
      ARROW_RETURN_NOT_OK(validity.AppendValid(opened));
    } else {
      ARROW_RETURN_NOT_OK(validity.PrepareToPush(opened));
      for (uint64_t i = 0; i < count; ++i) {
        if (repetition[i] == 0) continue;
        const uint16_t level = levels == nullptr ? 0 : levels[i];
        validity.Push(level < layer.threshold || level == layer.empty_level);
      }
    }
  } else {
    for (uint64_t i = 0; i < count; ++i) {
      const uint16_t ends_in = levels == nullptr ? 0 : ends_in_[levels[i]];
      bad |= repetition[i] > 1 || ends_in > repetition[i];
      opened += repetition[i] != 0 ? 1 : 0;
      values += ends_in == 0 ? 1 : 0;
    }
  }
  nesting.AddSlots(1, opened);
  nesting.AddSlots(0, values - first_value);
  return bad ? NotFitting() : Status::OK();
}

Status LevelScheme::AppendLists(const uint16_t* repetition, const uint16_t* levels, uint64_t count,
                                LeafBuilder* builder) const {
  if (count == 0) return Status::OK();
  NestingBuilder& nesting = builder->nesting();
  const uint16_t highest = levels == nullptr ? 0 : Highest(levels, count);
  if (highest > max_level_) return TooHigh(highest, max_level_);
  const uint16_t max_repetition = this->max_repetition();
  if (nesting.slots(max_repetition) == 0 && repetition[0] != max_repetition) return NotFitting();
  const std::vector<NestingLayer>& around = nesting.nesting().layers;
  if (max_repetition == 1 && lists_[0] + 1 == layers_.size()) {
    return AppendInnerLists(repetition, levels, count, builder);
  }

  // What the loop needs of each layer outside of the innermost list.
  struct Open {
    uint64_t* starts = nullptr;
    uint64_t num_starts = 0;
    ValidityBuilder* validity = nullptr;
    Layer levels;
  };
  std::vector<Open> open(layers_.size());
  std::vector<uint64_t> opened(lists_.size() + 1, 0);
  std::vector<uint64_t> slots(lists_.size() + 1);
  for (size_t k = 0; k < slots.size(); ++k) slots[k] = nesting.slots(k);
  for (size_t i = lists_[0]; i < layers_.size(); ++i) {
    if (!around[i].is_built) continue;
    open[i].levels = layers_[i];
    if (around[i].kind == NestingLayer::Kind::kList) {
      ARROW_RETURN_NOT_OK(nesting.ReserveList(i, count));
      open[i].starts = nesting.next_starts(i);
    }
    if (MayHoldNulls(i, highest, builder)) {
      open[i].validity = &nesting.validity(i);
      ARROW_RETURN_NOT_OK(open[i].validity->PrepareToPush(count));
    }
  }
  for (uint64_t i = 0; i < count; ++i) {
    const uint16_t level = levels == nullptr ? 0 : levels[i];
    const uint16_t ends_in = ends_in_[level];
    if (repetition[i] > max_repetition || ends_in > repetition[i]) return NotFitting();
    for (uint16_t k = repetition[i]; k >= std::max<uint16_t>(ends_in, 1); --k) {
      const size_t end = k == max_repetition ? layers_.size() : lists_[k];
      for (size_t j = lists_[k - 1]; j < end; ++j) {
        Open& layer = open[j];
        if (layer.starts != nullptr)
          layer.starts[layer.num_starts++] = slots[k - 1] + opened[k - 1];
        if (layer.validity != nullptr) {
          layer.validity->Push(
              level < layer.levels.threshold ||
              (layer.levels.empty_level != 0 && level == layer.levels.empty_level));
        }
      }
      ++opened[k];
    }
    opened[0] += ends_in == 0 ? 1 : 0;
  }
  for (size_t k = 0; k < opened.size(); ++k) nesting.AddSlots(k, opened[k]);
  for (size_t k = 1; k < opened.size(); ++k) {
    const size_t end = k == max_repetition ? layers_.size() : lists_[k];
    for (size_t j = lists_[k - 1]; j < end; ++j) {
      nesting.AddStarts(j, open[j].num_starts);
      if (around[j].is_built && open[j].validity == nullptr) {
        ARROW_RETURN_NOT_OK(nesting.validity(j).AppendValid(opened[k]));
      }
    }
  }
  return Status::OK();
}

void SelectEntries(const uint16_t* repetition, uint64_t count, uint16_t max_repetition,
                   uint64_t first_row, std::span<const RowRange> rows,
                   std::vector<RowRange>* entries) {
  uint64_t row = first_row;
  size_t next = static_cast<size_t>(
      std::partition_point(rows.begin(), rows.end(),
                           [&](const RowRange& range) { return range.end() <= first_row; }) -
      rows.begin());
  for (uint64_t i = 0; i < count;) {
    while (next < rows.size() && rows[next].end() <= row) ++next;
    if (next == rows.size()) return;
    const bool wanted = rows[next].start <= row;
    const uint64_t until = wanted ? rows[next].end() : rows[next].start;
    const uint64_t begin = i;
    // The entry that begins row `until`, or the end. An entry at the front always belongs to `row`.
    for (++i; i < count; ++i) {
      if (repetition[i] == max_repetition && ++row == until) break;
    }
    if (wanted) entries->push_back({begin, i - begin});
  }
}

}  // namespace lake::format
