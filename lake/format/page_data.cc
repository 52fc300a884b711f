#include "lake/format/page_data.h"

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

}  // namespace lake::format
