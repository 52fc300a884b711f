#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "lake/base/checked.h"
#include "lake/format/full_zip_decoder_internal.h"
#include "lake/format/packed_row_decoder_internal.h"
#include "lake/format/string_codec_internal.h"

namespace lake::format {
namespace {

// Entries of any size: control word, then for a value its length and its bytes. A row is found by
// the index in the second buffer.
class VariableFullZipDecoder : public PageDecoder {
 public:
  explicit VariableFullZipDecoder(PageTask task)
      : task_(std::move(task)), layout_(task_.page->layout.full_zip()) {}

  Status CheckLayout();
  Status PlanState(std::shared_ptr<const PageState> cached, RangeReads* reads) override;
  Status PlanData(const RangeReads& state, RangeReads* reads) override;
  Status Decode(const RangeReads& state, const RangeReads& data, DecodeScratch* scratch,
                LeafBuilder* builder) override;

 private:
  bool is_packed() const { return task_.type.is_packed(); }
  // Reads the length in front of a value at `at` and moves behind it. kCorrupt if the value does
  // not fit.
  Result<uint64_t> LoadLength(std::string_view rows, uint64_t* at) const;
  // Rows of strings without lists around them, in one pass.
  template <typename Offset>
  Status AppendRows(std::string_view rows, uint64_t count, DecodeScratch* scratch,
                    LeafBuilder* builder) const;
  // Rows of anything: first where their entries lie, then their values.
  Status AppendEntries(std::string_view rows, uint64_t num_rows, DecodeScratch* scratch,
                       LeafBuilder* builder) const;
  Status FindEntries(std::string_view rows, uint64_t num_rows, DecodeScratch* scratch) const;
  template <typename Offset>
  Status AppendStrings(std::string_view rows, const uint16_t* levels, const DecodeScratch& scratch,
                       LeafBuilder* builder) const;
  Status AppendPacked(std::string_view rows, const uint16_t* levels, const DecodeScratch& scratch,
                      LeafBuilder* builder) const;

  PageTask task_;
  const pb::FullZipLayout& layout_;
  FullZipControl control_;
  uint32_t length_width_ = 0;
  std::optional<FullZipRowIndex> index_;
  StringCodec codec_;
  std::optional<PackedRowDecoder> packed_;
};

Status VariableFullZipDecoder::CheckLayout() {
  ARROW_RETURN_NOT_OK(CheckFullZipCounts(task_));
  ARROW_ASSIGN_OR_RAISE(control_, FullZipControl::From(layout_, task_.levels));
  if (layout_.bits_per_offset() != 32 && layout_.bits_per_offset() != 64) {
    return Error(ErrorCode::kCorrupt, "full-zip lengths of {} bits", layout_.bits_per_offset());
  }
  length_width_ = layout_.bits_per_offset() / 8;
  if (is_packed()) {
    ARROW_ASSIGN_OR_RAISE(packed_, PackedRowDecoder::From(layout_.value_compression(), task_.type));
  } else {
    ARROW_ASSIGN_OR_RAISE(
        codec_, StringCodec::From(layout_.value_compression(), layout_.bits_per_offset()));
  }
  ARROW_ASSIGN_OR_RAISE(index_, FullZipRowIndex::From(task_));
  return Status::OK();
}

Status VariableFullZipDecoder::PlanState(std::shared_ptr<const PageState>, RangeReads* reads) {
  index_->PlanState(reads);
  return Status::OK();
}

Status VariableFullZipDecoder::PlanData(const RangeReads& state, RangeReads* reads) {
  return index_->PlanData(state, reads);
}

Status VariableFullZipDecoder::Decode(const RangeReads& state, const RangeReads& data,
                                      DecodeScratch* scratch, LeafBuilder* builder) {
  const uint64_t first_value = builder->rows();
  const std::span<const RowRange> ranges = task_.rows.ranges();
  for (size_t i = 0; i < ranges.size(); ++i) {
    const std::string_view rows = index_->Bytes(state, data, i);
    if (is_packed() || task_.levels.has_lists()) {
      ARROW_RETURN_NOT_OK(AppendEntries(rows, ranges[i].count, scratch, builder));
    } else {
      ARROW_RETURN_NOT_OK(task_.type.offset_bits == 32
                              ? AppendRows<int32_t>(rows, ranges[i].count, scratch, builder)
                              : AppendRows<int64_t>(rows, ranges[i].count, scratch, builder));
    }
  }
  if (task_.type.is_text) return builder->CheckText(first_value);
  for (const LeafBuilder& part : builder->parts()) {
    if (part.type().is_text) ARROW_RETURN_NOT_OK(part.CheckText(first_value));
  }
  return Status::OK();
}

Result<uint64_t> VariableFullZipDecoder::LoadLength(std::string_view rows, uint64_t* at) const {
  if (!RangeFits(*at, length_width_, rows.size())) {
    return Error(ErrorCode::kCorrupt, "the length of a value lies behind the end of its rows");
  }
  const char* const length_at = rows.data() + *at;
  const uint64_t length =
      length_width_ == 4 ? LoadLittle<uint32_t>(length_at) : LoadLittle<uint64_t>(length_at);
  *at += length_width_;
  if (!RangeFits(*at, length, rows.size())) {
    return Error(ErrorCode::kCorrupt, "a value has {} bytes, {} are left", length,
                 rows.size() - *at);
  }
  return length;
}

template <typename Offset>
Status VariableFullZipDecoder::AppendRows(std::string_view rows, uint64_t count,
                                          DecodeScratch* scratch, LeafBuilder* builder) const {
  if (!codec_.is_general()) ARROW_RETURN_NOT_OK(builder->ReserveBytes(rows.size()));
  scratch->levels.assign(count, 0);
  Offset* const ends = builder->NextEnds<Offset>();
  const uint64_t before = builder->variable_size();
  uint64_t made = 0;
  uint64_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!RangeFits(at, control_.width(), rows.size())) {
      return Error(ErrorCode::kCorrupt, "row {} of {} lies behind the page's end", i, count);
    }
    if (control_.width() != 0) {
      scratch->levels[i] = control_.definition(control_.Load(rows.data() + at));
      at += control_.width();
    }
    if (scratch->levels[i] == 0) {
      ARROW_ASSIGN_OR_RAISE(const uint64_t length, LoadLength(rows, &at));
      if (codec_.is_plain()) {
        // Reserved for all rows at once.
        if (length != 0) std::memcpy(builder->variable_end() + made, rows.data() + at, length);
        made += length;
      } else {
        ARROW_ASSIGN_OR_RAISE(const uint64_t size,
                              codec_.Append(rows.substr(at, length), made, builder));
        made += size;
      }
      at += length;
    }
    ends[i] = static_cast<Offset>(before + made);
  }
  if (at != rows.size()) {
    return Error(ErrorCode::kCorrupt, "{} rows end {} bytes before the page does", count,
                 rows.size() - at);
  }
  ARROW_RETURN_NOT_OK(task_.levels.Append(scratch->levels.data(), count, builder));
  builder->CommitVariable(count, before + made);
  return Status::OK();
}

// Fills in repetition, levels and, for each entry that has a value slot, where its bytes lie.
Status VariableFullZipDecoder::FindEntries(std::string_view rows, uint64_t num_rows,
                                           DecodeScratch* scratch) const {
  const bool has_lists = task_.levels.has_lists();
  scratch->repetition.clear();
  scratch->levels.clear();
  scratch->entries.clear();
  uint64_t begun = 0;
  uint64_t at = 0;
  while (has_lists ? at < rows.size() : begun < num_rows) {
    if (!RangeFits(at, control_.width(), rows.size())) {
      return Error(ErrorCode::kCorrupt, "an entry lies behind the end of its rows");
    }
    const uint32_t word = control_.Load(rows.data() + at);
    at += control_.width();
    const uint16_t level = control_.definition(word);
    scratch->repetition.push_back(control_.repetition(word));
    scratch->levels.push_back(level);
    begun += scratch->repetition.back() == task_.levels.max_repetition() ? 1 : 0;
    if (level > task_.levels.max_visible()) continue;
    uint64_t length = 0;
    if (level == 0) {
      ARROW_ASSIGN_OR_RAISE(length, LoadLength(rows, &at));
    }
    scratch->entries.push_back({at, length});
    at += length;
  }
  if (begun != num_rows || at != rows.size()) {
    return Error(ErrorCode::kCorrupt, "{} rows of {} bytes hold {} rows of {} bytes", num_rows,
                 rows.size(), begun, at);
  }
  return Status::OK();
}

Status VariableFullZipDecoder::AppendEntries(std::string_view rows, uint64_t num_rows,
                                             DecodeScratch* scratch, LeafBuilder* builder) const {
  ARROW_RETURN_NOT_OK(FindEntries(rows, num_rows, scratch));
  const uint64_t count = scratch->levels.size();
  if (task_.levels.has_lists()) {
    ARROW_RETURN_NOT_OK(task_.levels.AppendLists(scratch->repetition.data(), scratch->levels.data(),
                                                 count, builder));
  }
  uint64_t num_values = 0;
  ARROW_ASSIGN_OR_RAISE(
      const uint16_t* const levels,
      task_.levels.Visible(scratch->levels.data(), count, &scratch->visible, &num_values));
  ARROW_RETURN_NOT_OK(task_.levels.Append(levels, num_values, builder));
  ARROW_RETURN_NOT_OK(builder->ReserveValues(num_values));
  if (is_packed()) return AppendPacked(rows, levels, *scratch, builder);
  return task_.type.offset_bits == 32 ? AppendStrings<int32_t>(rows, levels, *scratch, builder)
                                      : AppendStrings<int64_t>(rows, levels, *scratch, builder);
}

template <typename Offset>
Status VariableFullZipDecoder::AppendStrings(std::string_view rows, const uint16_t* levels,
                                             const DecodeScratch& scratch,
                                             LeafBuilder* builder) const {
  Offset* const ends = builder->NextEnds<Offset>();
  const uint64_t before = builder->variable_size();
  const std::vector<RowRange>& values = scratch.entries;
  uint64_t made = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (levels[i] == 0) {
      ARROW_ASSIGN_OR_RAISE(
          const uint64_t size,
          codec_.Append(rows.substr(values[i].start, values[i].count), made, builder));
      made += size;
    }
    ends[i] = static_cast<Offset>(before + made);
  }
  builder->CommitVariable(values.size(), before + made);
  return Status::OK();
}

Status VariableFullZipDecoder::AppendPacked(std::string_view rows, const uint16_t* levels,
                                            const DecodeScratch& scratch,
                                            LeafBuilder* builder) const {
  const std::vector<RowRange>& values = scratch.entries;
  for (size_t i = 0; i < values.size(); ++i) {
    if (levels[i] == 0) {
      ARROW_RETURN_NOT_OK(packed_->Append(rows.substr(values[i].start, values[i].count), builder));
      continue;
    }
    for (LeafBuilder& part : builder->parts()) {
      part.AppendZeros(1);
      ARROW_RETURN_NOT_OK(part.AppendItemsValid(1));
      ARROW_RETURN_NOT_OK(part.validity().AppendValid(1));
    }
  }
  builder->CommitParts(values.size());
  return Status::OK();
}

}  // namespace

Result<std::unique_ptr<PageDecoder>> MakeVariableFullZipDecoder(PageTask task) {
  auto read = std::make_unique<VariableFullZipDecoder>(std::move(task));
  ARROW_RETURN_NOT_OK(read->CheckLayout());
  return read;
}

}  // namespace lake::format
