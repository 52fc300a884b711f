#include "lake/format/page_data.h"

#include <bit>

namespace lake::format {

LevelShape::LevelShape(const std::vector<Layer>& outer) {
  layers_.push_back(Layer::kItem);
  layers_.insert(layers_.end(), outer.begin(), outer.end());
  uint8_t next = 1;
  for (const Layer layer : layers_) {
    null_codes_.push_back(next);
    if (layer == Layer::kItem) {
      if (num_lists_ == 0) last_value_code_ = next;
      ++next;
    } else {
      next += 2;
      ++num_lists_;
    }
  }
}

unsigned LevelShape::level_bits() const {
  const unsigned empty = layers_.back() == Layer::kList ? 1 : 0;
  return static_cast<unsigned>(std::bit_width(unsigned{num_lists_}) +
                               std::bit_width(null_codes_.back() + empty));
}

}  // namespace lake::format
