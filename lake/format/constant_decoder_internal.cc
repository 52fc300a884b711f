#include <algorithm>
#include <optional>
#include <utility>

#include "lake/base/checked.h"
#include "lake/format/block_decoder_internal.h"
#include "lake/format/container.h"
#include "lake/format/page_decoder_internal.h"
#include "lake/format/text_check.h"

namespace lake::format {
namespace {

// A page whose values are all equal, or all null. Levels, where there are any, are a buffer of
// their own.
class ConstantDecoder : public PageDecoder {
 public:
  explicit ConstantDecoder(PageTask task)
      : task_(std::move(task)), layout_(task_.page->layout.constant()) {}

  Status CheckLayout();
  Status PlanState(std::shared_ptr<const PageState> cached, RangeReads* reads) override;
  Status PlanData(const RangeReads&, RangeReads*) override { return Status::OK(); }
  Status Decode(const RangeReads& state, const RangeReads& data, DecodeScratch* scratch,
                LeafBuilder* builder) override;

 private:
  bool levels_compressed() const { return layout_.has_def_compression(); }
  Status DecodeScalar(std::string_view bytes);
  Status CheckValue() const;
  Status AppendRange(const uint16_t* levels, const RowRange& range, LeafBuilder* builder) const;

  PageTask task_;
  const pb::ConstantLayout& layout_;
  // The value's bytes: of the layout, or of the scalar buffer.
  std::optional<std::string_view> value_;
  std::optional<ByteRange> scalar_;
  std::optional<ByteRange> levels_;
  size_t scalar_read_ = 0;
  size_t levels_read_ = 0;
};

// Buffers, in order: the scalar unless the value stands in the layout or there is none; then
// repetition and definition levels, unless every value is the same and valid, or simply null.
Status ConstantDecoder::CheckLayout() {
  const std::vector<ByteRange>& buffers = task_.page->buffers;
  if (layout_.has_rep_compression() || layout_.num_rep_values() != 0) {
    return Error(ErrorCode::kUnsupported, "pages of lists are not read");
  }
  size_t next = 0;
  if (layout_.has_inline_value()) {
    value_ = layout_.inline_value();
    ARROW_RETURN_NOT_OK(CheckValue());
  } else if (buffers.size() % 2 == 1) {
    scalar_ = buffers[next++];
  }
  if (buffers.size() - next == 2) {
    if (buffers[next].length != 0) {
      return Error(ErrorCode::kUnsupported, "pages of lists are not read");
    }
    if (buffers[next + 1].length != 0) levels_ = buffers[next + 1];
  } else if (buffers.size() != next) {
    return Error(ErrorCode::kCorrupt, "constant page has {} buffers", buffers.size());
  }
  if (!levels_) {
    if (!value_ && !scalar_ && task_.levels.max_level() != 1) {
      return Error(ErrorCode::kCorrupt, "constant page has neither a value nor levels");
    }
    return Status::OK();
  }
  if (levels_compressed() && layout_.num_def_values() != task_.page->num_rows) {
    return Error(ErrorCode::kCorrupt, "constant page of {} rows has {} levels",
                 task_.page->num_rows, layout_.num_def_values());
  }
  const auto raw_size = CheckedMul<uint64_t>(task_.page->num_rows, 2);
  if (!levels_compressed() && (!raw_size || *raw_size != levels_->length)) {
    return Error(ErrorCode::kCorrupt, "constant page of {} rows has {} bytes of levels",
                 task_.page->num_rows, levels_->length);
  }
  return Status::OK();
}

Status ConstantDecoder::PlanState(std::shared_ptr<const PageState>, RangeReads* reads) {
  if (scalar_) scalar_read_ = reads->Add(*scalar_);
  if (!levels_) return Status::OK();
  if (levels_compressed()) {
    levels_read_ = reads->Add(*levels_);
    return Status::OK();
  }
  // Under consecutive numbers, one for each range.
  bool first = true;
  for (const RowRange& range : task_.rows.ranges()) {
    const size_t number = reads->Add({levels_->offset + range.start * 2, range.count * 2});
    if (std::exchange(first, false)) levels_read_ = number;
  }
  return Status::OK();
}

// u32 number of parts | u32 size of each | the parts: Arrow's buffers without validity.
Status ConstantDecoder::DecodeScalar(std::string_view bytes) {
  const bool variable = task_.type.kind == LeafType::Kind::kVariable;
  const uint32_t expected = variable ? 2 : 1;
  const uint64_t header = 4 * (1 + uint64_t{expected});
  if (bytes.size() < header || LoadLittle<uint32_t>(bytes.data()) != expected) {
    return Error(ErrorCode::kCorrupt, "scalar of {} bytes has not {} parts", bytes.size(),
                 expected);
  }
  uint64_t at = header;
  std::string_view parts[2];
  for (uint32_t i = 0; i < expected; ++i) {
    const uint64_t size = LoadLittle<uint32_t>(bytes.data() + 4 + 4 * i);
    if (!RangeFits(at, size, bytes.size())) {
      return Error(ErrorCode::kCorrupt, "scalar of {} bytes has a part of {} at {}", bytes.size(),
                   size, at);
    }
    parts[i] = {bytes.data() + at, size};
    at += size;
  }
  if (!variable) {
    value_ = parts[0];
    return CheckValue();
  }
  const bool wide = parts[0].size() == 16;
  if (!wide && parts[0].size() != 8) {
    return Error(ErrorCode::kCorrupt, "scalar has {} bytes of offsets", parts[0].size());
  }
  const char* const offsets = parts[0].data();
  const uint64_t begin = wide ? LoadLittle<uint64_t>(offsets) : LoadLittle<uint32_t>(offsets);
  const uint64_t end = wide ? LoadLittle<uint64_t>(offsets + 8) : LoadLittle<uint32_t>(offsets + 4);
  if (begin > end || end > parts[1].size()) {
    return Error(ErrorCode::kCorrupt, "scalar lies at {} to {} of {} bytes", begin, end,
                 parts[1].size());
  }
  value_ = parts[1].substr(begin, end - begin);
  return CheckValue();
}

Status ConstantDecoder::CheckValue() const {
  const LeafType& type = task_.type;
  switch (type.kind) {
    case LeafType::Kind::kFixed:
      if (value_->size() == CeilDiv<uint32_t>(type.item_bits, 8)) return Status::OK();
      return Error(ErrorCode::kCorrupt, "constant has {} bytes, its type {} bits", value_->size(),
                   type.item_bits);
    case LeafType::Kind::kVariable: {
      const uint32_t offsets[2] = {0, static_cast<uint32_t>(value_->size())};
      if (!type.is_text || AllUtf8(offsets, 1, *value_)) return Status::OK();
      return Error(ErrorCode::kCorrupt, "constant string is not UTF-8");
    }
    case LeafType::Kind::kList:
      break;
  }
  return Error(ErrorCode::kUnsupported, "constant pages of lists with a value are not read");
}

Status ConstantDecoder::Decode(const RangeReads& state, const RangeReads&, DecodeScratch* scratch,
                               LeafBuilder* builder) {
  if (scalar_) ARROW_RETURN_NOT_OK(DecodeScalar(state.Get(scalar_read_)));
  size_t number = levels_read_;
  for (const RowRange& range : task_.rows.ranges()) {
    if (task_.type.kind == LeafType::Kind::kList) {
      builder->item_validity().AppendValid(range.count * task_.type.list_size);
    }
    if (!levels_) {
      ARROW_RETURN_NOT_OK(AppendRange(nullptr, range, builder));
      continue;
    }
    scratch->levels.resize(range.count);
    uint8_t* const out = reinterpret_cast<uint8_t*>(scratch->levels.data());
    if (levels_compressed()) {
      ARROW_RETURN_NOT_OK(WithContext(
          DecodeFixedBlock(layout_.def_compression(), state.Get(levels_read_), task_.page->num_rows,
                           range.start, range.count, 16, task_.pool, out),
          "levels"));
    } else {
      const std::string_view raw = state.Get(number++);
      std::copy(raw.begin(), raw.end(), out);
    }
    ARROW_RETURN_NOT_OK(AppendRange(scratch->levels.data(), range, builder));
  }
  return Status::OK();
}

// `levels` is null if all rows are alike.
Status ConstantDecoder::AppendRange(const uint16_t* levels, const RowRange& range,
                                    LeafBuilder* builder) const {
  if (levels == nullptr) {
    ARROW_RETURN_NOT_OK(task_.levels.AppendAllSame(value_ ? 0 : 1, range.count, builder));
  } else {
    ARROW_RETURN_NOT_OK(task_.levels.Append(levels, range.count, builder));
    if (!value_ && std::find(levels, levels + range.count, 0) != levels + range.count) {
      return Error(ErrorCode::kCorrupt, "constant page without a value has a row that is not null");
    }
  }
  if (!value_) {
    builder->AppendZeros(range.count);
    return Status::OK();
  }
  if (task_.type.kind == LeafType::Kind::kFixed) {
    builder->AppendRepeated(reinterpret_cast<const uint8_t*>(value_->data()), range.count);
    return Status::OK();
  }
  if (levels == nullptr) return builder->AppendRepeatedBytes(*value_, range.count);
  for (uint64_t i = 0; i < range.count;) {
    uint64_t end = i + 1;
    while (end < range.count && (levels[end] == 0) == (levels[i] == 0)) ++end;
    if (levels[i] == 0) {
      ARROW_RETURN_NOT_OK(builder->AppendRepeatedBytes(*value_, end - i));
    } else {
      builder->AppendZeros(end - i);
    }
    i = end;
  }
  return Status::OK();
}

}  // namespace

Result<std::unique_ptr<PageDecoder>> MakeConstantDecoder(PageTask task) {
  auto read = std::make_unique<ConstantDecoder>(std::move(task));
  ARROW_RETURN_NOT_OK(read->CheckLayout());
  return read;
}

}  // namespace lake::format
