#include "lake/format/nesting_builder.h"

#include <algorithm>
#include <limits>

namespace lake::format {

size_t Nesting::num_lists() const {
  return static_cast<size_t>(std::count_if(
      layers.begin(), layers.end(),
      [](const NestingLayer& layer) { return layer.kind == NestingLayer::Kind::kList; }));
}

NestingBuilder::NestingBuilder(const Nesting& nesting, uint64_t num_rows, arrow::MemoryPool* pool)
    : nesting_(nesting), pool_(pool), slots_(nesting.num_lists() + 1, 0) {
  const bool grows = slots_.size() > 1;
  size_t lists = 0;
  for (const NestingLayer& layer : nesting.layers) {
    Layer& built = layers_.emplace_back();
    built.validity = grows ? ValidityBuilder::Growing(pool) : ValidityBuilder(num_rows, pool);
    built.inner_domain = lists;
    if (layer.kind == NestingLayer::Kind::kList) ++lists;
  }
}

Status NestingBuilder::ReserveList(size_t i, uint64_t count) {
  Layer& layer = layers_[i];
  const int64_t needed = static_cast<int64_t>((layer.num_starts + count + 1) * sizeof(uint64_t));
  if (layer.starts == nullptr) {
    ARROW_ASSIGN_OR_RAISE(layer.starts, arrow::AllocateResizableBuffer(needed, pool_));
    return Status::OK();
  }
  if (layer.starts->size() >= needed) return Status::OK();
  return layer.starts->Resize(std::max(needed, layer.starts->size() * 2), false);
}

Result<std::shared_ptr<arrow::Buffer>> NestingBuilder::FinishOffsets(size_t i) {
  ARROW_RETURN_NOT_OK(ReserveList(i, 0));
  Layer& layer = layers_[i];
  uint64_t* const starts = reinterpret_cast<uint64_t*>(layer.starts->mutable_data());
  const uint64_t end = slots_[layer.inner_domain];
  starts[layer.num_starts] = end;
  const uint64_t count = layer.num_starts + 1;
  if (nesting_.layers[i].is_large) {
    ARROW_RETURN_NOT_OK(layer.starts->Resize(static_cast<int64_t>(count * sizeof(uint64_t))));
    return layer.starts;
  }
  if (end > static_cast<uint64_t>(std::numeric_limits<int32_t>::max())) {
    return Error(ErrorCode::kInvalidArgument,
                 "lists have {} items together: read fewer rows at once", end);
  }
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::Buffer> offsets,
      arrow::AllocateBuffer(static_cast<int64_t>(count * sizeof(int32_t)), pool_));
  int32_t* const out = reinterpret_cast<int32_t*>(offsets->mutable_data());
  for (uint64_t slot = 0; slot < count; ++slot) out[slot] = static_cast<int32_t>(starts[slot]);
  return offsets;
}

}  // namespace lake::format
