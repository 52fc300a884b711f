#include <algorithm>
#include <cstring>
#include <utility>

#include "lake/base/checked.h"
#include "lake/format/block_decoder_internal.h"
#include "lake/format/full_zip_decoder_internal.h"

namespace lake::format {
namespace {

// Rows of equal size: control word, validity of the items of a list, value. So a row is found by
// its number.
class FixedFullZipDecoder : public PageDecoder {
 public:
  explicit FixedFullZipDecoder(PageTask task)
      : task_(std::move(task)), layout_(task_.page->layout.full_zip()) {}

  Status CheckLayout();
  Status PlanState(std::shared_ptr<const PageState> cached, RangeReads* reads) override;
  Status PlanData(const RangeReads&, RangeReads*) override { return Status::OK(); }
  Status Decode(const RangeReads& state, const RangeReads& data, DecodeScratch* scratch,
                LeafBuilder* builder) override;

 private:
  Status SetWidths();
  Status AppendRows(std::string_view rows, uint64_t count, DecodeScratch* scratch,
                    LeafBuilder* builder) const;

  PageTask task_;
  const pb::FullZipLayout& layout_;
  uint32_t control_width_ = 0;
  uint64_t validity_width_ = 0;
  uint64_t value_width_ = 0;
  uint64_t stride_ = 0;
  // The ranges of rows are read under this number and those that follow.
  size_t first_read_ = 0;
};

Status FixedFullZipDecoder::SetWidths() {
  const LeafType& type = task_.type;
  const pb::CompressiveEncoding& encoding = layout_.value_compression();
  if (type.item_bits % 8 != 0) {
    return Error(ErrorCode::kUnsupported, "full-zip values of {} bits are not read",
                 type.item_bits);
  }
  value_width_ = type.value_bits() / 8;
  if (type.kind == LeafType::Kind::kFixed) return ExpectFlat(encoding, type.item_bits, "values");
  if (!encoding.has_fixed_size_list()) {
    return Error(ErrorCode::kUnsupported, "full-zip encoding {} of lists is not read",
                 EncodingName(encoding));
  }
  const pb::FixedSizeList& list = encoding.fixed_size_list();
  if (list.items_per_value() != type.list_size) {
    return Error(ErrorCode::kCorrupt, "lists have {} items, not {}", list.items_per_value(),
                 type.list_size);
  }
  if (list.has_validity()) validity_width_ = CeilDiv<uint64_t>(type.list_size, 8);
  if (list.has_validity() && list.values().has_constant() &&
      !list.values().constant().has_value()) {
    // All items are null: there is nothing but their validity.
    value_width_ = 0;
    return Status::OK();
  }
  return ExpectFlat(list.values(), type.item_bits, "list items");
}

Status FixedFullZipDecoder::CheckLayout() {
  ARROW_RETURN_NOT_OK(CheckFullZipCounts(layout_, task_.page->num_rows));
  ARROW_ASSIGN_OR_RAISE(control_width_, FullZipControlWidth(layout_));
  ARROW_RETURN_NOT_OK(SetWidths());
  if (layout_.bits_per_value() != (validity_width_ + value_width_) * 8) {
    return Error(ErrorCode::kCorrupt, "full-zip values have {} bits, not {}",
                 layout_.bits_per_value(), (validity_width_ + value_width_) * 8);
  }
  stride_ = control_width_ + validity_width_ + value_width_;
  const auto size = CheckedMul(stride_, task_.page->num_rows);
  if (task_.page->buffers.size() != 1 || !size || *size != task_.page->buffers[0].length) {
    return Error(ErrorCode::kCorrupt, "full-zip page of {} rows of {} bytes has {} buffers of {}",
                 task_.page->num_rows, stride_, task_.page->buffers.size(),
                 task_.page->buffers.empty() ? 0 : task_.page->buffers[0].length);
  }
  return Status::OK();
}

Status FixedFullZipDecoder::PlanState(std::shared_ptr<const PageState>, RangeReads* reads) {
  bool first = true;
  for (const RowRange& range : task_.rows.ranges()) {
    const size_t number =
        reads->Add({task_.page->buffers[0].offset + range.start * stride_, range.count * stride_});
    if (std::exchange(first, false)) first_read_ = number;
  }
  return Status::OK();
}

Status FixedFullZipDecoder::Decode(const RangeReads& state, const RangeReads&,
                                   DecodeScratch* scratch, LeafBuilder* builder) {
  size_t number = first_read_;
  for (const RowRange& range : task_.rows.ranges()) {
    ARROW_RETURN_NOT_OK(AppendRows(state.Get(number++), range.count, scratch, builder));
  }
  return Status::OK();
}

Status FixedFullZipDecoder::AppendRows(std::string_view rows, uint64_t count,
                                       DecodeScratch* scratch, LeafBuilder* builder) const {
  const char* const bytes = rows.data();
  if (control_width_ == 0) {
    ARROW_RETURN_NOT_OK(task_.levels.AppendAllSame(0, count, builder));
  } else {
    scratch->levels.resize(count);
    for (uint64_t i = 0; i < count; ++i) {
      scratch->levels[i] = LoadFullZipControl(bytes + i * stride_, control_width_);
    }
    ARROW_RETURN_NOT_OK(task_.levels.Append(scratch->levels.data(), count, builder));
  }
  if (validity_width_ != 0) {
    for (uint64_t i = 0; i < count; ++i) {
      const auto* validity = reinterpret_cast<const uint8_t*>(bytes + i * stride_ + control_width_);
      ARROW_RETURN_NOT_OK(builder->item_validity().AppendBits(validity, 0, task_.type.list_size));
    }
  } else if (task_.type.kind == LeafType::Kind::kList) {
    builder->item_validity().AppendValid(count * task_.type.list_size);
  }
  if (value_width_ == 0) {
    builder->AppendZeros(count);
    return Status::OK();
  }
  uint8_t* out = builder->AppendFixed(count);
  if (stride_ == value_width_) {
    std::memcpy(out, bytes, count * stride_);
    return Status::OK();
  }
  const char* value = bytes + control_width_ + validity_width_;
  for (uint64_t i = 0; i < count; ++i, value += stride_, out += value_width_) {
    std::memcpy(out, value, value_width_);
  }
  return Status::OK();
}

}  // namespace

Result<std::unique_ptr<PageDecoder>> MakeFixedFullZipDecoder(PageTask task) {
  auto read = std::make_unique<FixedFullZipDecoder>(std::move(task));
  ARROW_RETURN_NOT_OK(read->CheckLayout());
  return read;
}

}  // namespace lake::format
