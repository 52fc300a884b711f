#include "lake/format/level_scheme_internal.h"

#include <algorithm>

namespace lake::format {

Result<LevelScheme> LevelScheme::From(const google::protobuf::RepeatedField<int>& layers,
                                      bool in_struct) {
  LevelScheme scheme;
  for (const int layer : layers) {
    switch (layer) {
      case pb::ALL_VALID_ITEM:
      case pb::NULLABLE_ITEM:
        break;
      case pb::ALL_VALID_LIST:
      case pb::NULLABLE_LIST:
      case pb::EMPTYABLE_LIST:
      case pb::NULL_AND_EMPTY_LIST:
        return Error(ErrorCode::kUnsupported, "pages of lists are not read");
      default:
        return Error(ErrorCode::kUnsupported, "layer kind {} is not read", layer);
    }
  }
  const int expected = in_struct ? 2 : 1;
  if (layers.size() != expected) {
    return Error(ErrorCode::kCorrupt, "page has {} layers of nesting, its field has {}",
                 layers.size(), expected);
  }
  scheme.leaf_nullable_ = layers[0] == pb::NULLABLE_ITEM;
  scheme.max_level_ = scheme.leaf_nullable_ ? 1 : 0;
  scheme.parent_threshold_ = static_cast<uint16_t>(scheme.max_level_ + 1);
  if (in_struct && layers[1] == pb::NULLABLE_ITEM) ++scheme.max_level_;
  return scheme;
}

Status LevelScheme::Append(const uint16_t* levels, uint64_t count, LeafBuilder* builder) const {
  uint16_t highest = 0;
  for (uint64_t i = 0; i < count; ++i) highest = std::max(highest, levels[i]);
  if (highest > max_level_) {
    return Error(ErrorCode::kCorrupt, "definition level {} is above the highest, {}", highest,
                 max_level_);
  }
  if (highest == 0) return AppendAllSame(0, count, builder);
  ARROW_RETURN_NOT_OK(builder->validity().AppendLevels(levels, count, 1));
  if (!builder->with_parent()) return Status::OK();
  return builder->parent_validity().AppendLevels(levels, count, parent_threshold_);
}

Status LevelScheme::AppendAllSame(uint16_t level, uint64_t count, LeafBuilder* builder) const {
  if (level == 0) {
    builder->validity().AppendValid(count);
  } else {
    ARROW_RETURN_NOT_OK(builder->validity().AppendNulls(count));
  }
  if (!builder->with_parent()) return Status::OK();
  if (level < parent_threshold_) {
    builder->parent_validity().AppendValid(count);
    return Status::OK();
  }
  return builder->parent_validity().AppendNulls(count);
}

}  // namespace lake::format
