#include "lake/format/full_zip_decoder_internal.h"

#include <utility>

#include "lake/base/checked.h"

namespace lake::format {

Result<uint32_t> FullZipControlWidth(const pb::FullZipLayout& layout) {
  if (layout.bits_rep() != 0) {
    return Error(ErrorCode::kUnsupported, "pages of lists are not read");
  }
  if (layout.bits_def() > 16) {
    return Error(ErrorCode::kCorrupt, "definition levels of {} bits", layout.bits_def());
  }
  return CeilDiv<uint32_t>(layout.bits_def(), 8);
}

Status CheckFullZipCounts(const pb::FullZipLayout& layout, uint64_t num_rows) {
  if (layout.num_items() != num_rows || layout.num_visible_items() != num_rows) {
    return Error(ErrorCode::kCorrupt, "full-zip page of {} rows has {} values, {} of them visible",
                 num_rows, layout.num_items(), layout.num_visible_items());
  }
  return Status::OK();
}

Result<std::unique_ptr<PageDecoder>> MakeFullZipDecoder(PageTask task) {
  const bool variable = task.type.kind == LeafType::Kind::kVariable;
  switch (task.page->layout.full_zip().width_case()) {
    case pb::FullZipLayout::kBitsPerValue:
      if (variable) break;
      return MakeFixedFullZipDecoder(std::move(task));
    case pb::FullZipLayout::kBitsPerOffset:
      if (!variable) break;
      return MakeVariableFullZipDecoder(std::move(task));
    case pb::FullZipLayout::WIDTH_NOT_SET:
      return Error(ErrorCode::kCorrupt, "full-zip page without a width");
  }
  return Error(ErrorCode::kCorrupt, "full-zip page of {} width holds a column of {} width",
               variable ? "fixed" : "variable", variable ? "variable" : "fixed");
}

}  // namespace lake::format
