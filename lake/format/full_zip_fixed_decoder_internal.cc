#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "lake/base/checked.h"
#include "lake/format/block_decoder_internal.h"
#include "lake/format/full_zip_decoder_internal.h"
#include "lake/format/list_items_internal.h"

namespace lake::format {
namespace {

// Entries of equal size: control word, validity of the items of lists, value. Without lists around
// the leaf a row is found by its number; with lists by the row index, and an entry without a value
// is its control word alone.
class FixedFullZipDecoder : public PageDecoder {
 public:
  explicit FixedFullZipDecoder(PageTask task)
      : task_(std::move(task)), layout_(task_.page->layout.full_zip()) {}

  Status CheckLayout();
  Status PlanState(std::shared_ptr<const PageState> cached, RangeReads* reads) override;
  Status PlanData(const RangeReads& state, RangeReads* reads) override;
  Status Decode(const RangeReads& state, const RangeReads& data, DecodeScratch* scratch,
                LeafBuilder* builder) override;

 private:
  Status SetWidths();
  Status AppendRows(std::string_view rows, uint64_t count, DecodeScratch* scratch,
                    LeafBuilder* builder) const;
  Status AppendEntries(std::string_view rows, uint64_t num_rows, DecodeScratch* scratch,
                       LeafBuilder* builder) const;
  // `count` values that lie `stride` bytes apart, each with the validity of its items in front.
  Status AppendValues(const char* first, uint64_t stride, uint64_t count,
                      LeafBuilder* builder) const;

  PageTask task_;
  const pb::FullZipLayout& layout_;
  FullZipControl control_;
  std::optional<FullZipRowIndex> index_;
  ListItems items_;
  uint64_t validity_width_ = 0;
  uint64_t value_width_ = 0;
  uint64_t stride_ = 0;
  // The ranges of rows are read under consecutive numbers.
  size_t first_read_ = 0;
};

Status FixedFullZipDecoder::SetWidths() {
  const LeafType& type = task_.type;
  if (type.item_bits % 8 != 0) {
    return Error(ErrorCode::kUnsupported, "full-zip values of {} bits are not read",
                 type.item_bits);
  }
  ARROW_ASSIGN_OR_RAISE(items_, ListItems::From(layout_.value_compression(), type, "full-zip"));
  validity_width_ = items_.validity_width();
  value_width_ = items_.all_null ? 0 : type.value_bits() / 8;
  return Status::OK();
}

Status FixedFullZipDecoder::CheckLayout() {
  ARROW_RETURN_NOT_OK(CheckFullZipCounts(task_));
  ARROW_ASSIGN_OR_RAISE(control_, FullZipControl::From(layout_, task_.levels));
  ARROW_RETURN_NOT_OK(SetWidths());
  if (layout_.bits_per_value() != (validity_width_ + value_width_) * 8) {
    return Error(ErrorCode::kCorrupt, "full-zip values have {} bits, not {}",
                 layout_.bits_per_value(), (validity_width_ + value_width_) * 8);
  }
  stride_ = control_.width() + validity_width_ + value_width_;
  if (task_.levels.has_lists()) {
    ARROW_ASSIGN_OR_RAISE(index_, FullZipRowIndex::From(task_));
    return Status::OK();
  }
  const auto size = CheckedMul(stride_, task_.page->num_rows);
  if (task_.page->buffers.size() != 1 || !size || *size != task_.page->buffers[0].length) {
    return Error(ErrorCode::kCorrupt, "full-zip page of {} rows of {} bytes has {} buffers of {}",
                 task_.page->num_rows, stride_, task_.page->buffers.size(),
                 task_.page->buffers.empty() ? 0 : task_.page->buffers[0].length);
  }
  return Status::OK();
}

Status FixedFullZipDecoder::PlanState(std::shared_ptr<const PageState>, RangeReads* reads) {
  if (index_) {
    index_->PlanState(reads);
    return Status::OK();
  }
  bool first = true;
  for (const RowRange& range : task_.rows.ranges()) {
    const size_t number =
        reads->Add({task_.page->buffers[0].offset + range.start * stride_, range.count * stride_});
    if (std::exchange(first, false)) first_read_ = number;
  }
  return Status::OK();
}

Status FixedFullZipDecoder::PlanData(const RangeReads& state, RangeReads* reads) {
  return index_ ? index_->PlanData(state, reads) : Status::OK();
}

Status FixedFullZipDecoder::Decode(const RangeReads& state, const RangeReads& data,
                                   DecodeScratch* scratch, LeafBuilder* builder) {
  const std::span<const RowRange> ranges = task_.rows.ranges();
  if (!index_ && stride_ == value_width_ && value_width_ != 0 && ranges.size() == 1 &&
      builder->AdoptFixed(state.GetBuffer(first_read_))) {
    if (task_.type.kind == LeafType::Kind::kList) {
      ARROW_RETURN_NOT_OK(builder->AppendItemsValid(ranges[0].count));
    }
    return task_.levels.AppendAllSame(0, ranges[0].count, builder);
  }
  for (size_t i = 0; i < ranges.size(); ++i) {
    ARROW_RETURN_NOT_OK(
        index_ ? AppendEntries(index_->Bytes(state, data, i), ranges[i].count, scratch, builder)
               : AppendRows(state.Get(first_read_ + i), ranges[i].count, scratch, builder));
  }
  return Status::OK();
}

Status FixedFullZipDecoder::AppendRows(std::string_view rows, uint64_t count,
                                       DecodeScratch* scratch, LeafBuilder* builder) const {
  const char* const bytes = rows.data();
  if (control_.width() == 0) {
    ARROW_RETURN_NOT_OK(task_.levels.AppendAllSame(0, count, builder));
  } else {
    scratch->levels.resize(count);
    for (uint64_t i = 0; i < count; ++i) {
      scratch->levels[i] = control_.definition(control_.Load(bytes + i * stride_));
    }
    ARROW_RETURN_NOT_OK(task_.levels.Append(scratch->levels.data(), count, builder));
  }
  return AppendValues(bytes + control_.width(), stride_, count, builder);
}

Status FixedFullZipDecoder::AppendValues(const char* first, uint64_t stride, uint64_t count,
                                         LeafBuilder* builder) const {
  uint64_t offset = 0;
  for (size_t i = 0; i < items_.levels.size(); ++i) {
    const ListItems::Level& level = items_.levels[i];
    ValidityBuilder& validity = builder->item_validity(i);
    if (!level.has_validity) {
      ARROW_RETURN_NOT_OK(validity.AppendValid(count * level.count));
      continue;
    }
    for (uint64_t value = 0; value < count; ++value) {
      const auto* bits = reinterpret_cast<const uint8_t*>(first + value * stride + offset);
      ARROW_RETURN_NOT_OK(validity.AppendBits(bits, 0, level.count));
    }
    offset += level.validity_width();
  }
  if (value_width_ == 0) {
    builder->AppendZeros(count);
    return Status::OK();
  }
  uint8_t* out = builder->AppendFixed(count);
  if (stride == value_width_) {
    std::memcpy(out, first, count * stride);
    return Status::OK();
  }
  const char* value = first + offset;
  for (uint64_t i = 0; i < count; ++i, value += stride, out += value_width_) {
    std::memcpy(out, value, value_width_);
  }
  return Status::OK();
}

Status FixedFullZipDecoder::AppendEntries(std::string_view rows, uint64_t num_rows,
                                          DecodeScratch* scratch, LeafBuilder* builder) const {
  const uint64_t size = validity_width_ + value_width_;
  scratch->repetition.clear();
  scratch->levels.clear();
  // Values that lie one stride apart, as (offset of the first, count).
  scratch->entries.clear();
  uint64_t begun = 0;
  uint64_t num_values = 0;
  for (uint64_t at = 0; at < rows.size();) {
    if (!RangeFits(at, control_.width(), rows.size())) {
      return Error(ErrorCode::kCorrupt, "an entry lies behind the end of its rows");
    }
    const uint32_t word = control_.Load(rows.data() + at);
    const uint16_t level = control_.definition(word);
    scratch->repetition.push_back(control_.repetition(word));
    scratch->levels.push_back(level);
    begun += scratch->repetition.back() == task_.levels.max_repetition() ? 1 : 0;
    at += control_.width();
    if (level > task_.levels.max_visible()) continue;
    if (!RangeFits(at, size, rows.size())) {
      return Error(ErrorCode::kCorrupt, "a value lies behind the end of its rows");
    }
    std::vector<RowRange>& runs = scratch->entries;
    if (!runs.empty() && runs.back().start + runs.back().count * stride_ == at) {
      ++runs.back().count;
    } else {
      runs.push_back({at, 1});
    }
    ++num_values;
    at += size;
  }
  if (begun != num_rows) {
    return Error(ErrorCode::kCorrupt, "{} rows hold {}", num_rows, begun);
  }
  const uint64_t count = scratch->levels.size();
  uint64_t visible = 0;
  ARROW_RETURN_NOT_OK(
      task_.levels.AppendLists(scratch->repetition.data(), scratch->levels.data(), count, builder));
  ARROW_ASSIGN_OR_RAISE(
      const uint16_t* const levels,
      task_.levels.Visible(scratch->levels.data(), count, &scratch->visible, &visible));
  ARROW_RETURN_NOT_OK(task_.levels.Append(levels, visible, builder));
  ARROW_RETURN_NOT_OK(builder->ReserveValues(num_values));
  for (const RowRange& run : scratch->entries) {
    ARROW_RETURN_NOT_OK(AppendValues(rows.data() + run.start, stride_, run.count, builder));
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
