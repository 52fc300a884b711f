#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <arrow/type.h>

#include "lake/base/checked.h"
#include "lake/format/block_decoder_internal.h"
#include "lake/format/container.h"
#include "lake/format/page_decoder_internal.h"
#include "lake/format/text_check.h"

namespace lake::format {
namespace {

constexpr uint32_t kLevelBits = 16;

// A page whose values are all equal, or all null. Levels, where there are any, are buffers of their
// own.
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
  // One kind of levels, in a buffer of its own.
  struct Levels {
    std::optional<ByteRange> range;
    const pb::CompressiveEncoding* encoding = nullptr;
    // How many there are.
    uint64_t count = 0;
    // The number it is read under; of the first range if only wanted rows are read.
    size_t read = 0;
  };

  // Without lists plain levels are read for the wanted rows alone.
  bool reads_by_range() const {
    return !task_.levels.has_lists() && definition_.encoding == nullptr;
  }
  Result<Levels> FindLevels(ByteRange range, bool has_encoding,
                            const pb::CompressiveEncoding& encoding, uint64_t count) const;
  Status DecodeLevels(const Levels& levels, std::string_view bytes, uint64_t from, uint64_t count,
                      std::vector<uint16_t>* out) const;
  Status DecodeScalar(std::string_view bytes);
  Status CheckValue() const;
  Status DecodeLists(const RangeReads& state, DecodeScratch* scratch, LeafBuilder* builder) const;
  // Appends `count` values with these levels, null if all are alike.
  Status AppendValues(const uint16_t* levels, uint64_t count, LeafBuilder* builder) const;

  PageTask task_;
  const pb::ConstantLayout& layout_;
  // The value's bytes: of the layout, or of the scalar buffer.
  std::optional<std::string_view> value_;
  std::optional<ByteRange> scalar_;
  Levels repetition_;
  Levels definition_;
  size_t scalar_read_ = 0;
};

Result<ConstantDecoder::Levels> ConstantDecoder::FindLevels(ByteRange range, bool has_encoding,
                                                            const pb::CompressiveEncoding& encoding,
                                                            uint64_t count) const {
  Levels levels;
  if (range.length == 0) return levels;
  levels.range = range;
  if (has_encoding) {
    levels.encoding = &encoding;
    levels.count = count;
    if (count > MaxBlockValues(encoding, range.length, kLevelBits)) {
      return Error(ErrorCode::kCorrupt, "constant page has {} levels in {} bytes", count,
                   range.length);
    }
  } else {
    levels.count = range.length / 2;
    if (range.length % 2 != 0) {
      return Error(ErrorCode::kCorrupt, "constant page has {} bytes of levels", range.length);
    }
  }
  return levels;
}

// Buffers, in order: the scalar unless the value stands in the layout or there is none; then
// repetition and definition levels, unless every value is the same and valid, or simply null.
Status ConstantDecoder::CheckLayout() {
  const std::vector<ByteRange>& buffers = task_.page->buffers;
  // Rows of nulls are all that upstream writes so.
  if (task_.type.is_packed() && (layout_.has_inline_value() || buffers.size() % 2 == 1)) {
    return Error(ErrorCode::kUnsupported,
                 "constant pages of packed structs with a value are not read");
  }
  size_t next = 0;
  if (layout_.has_inline_value()) {
    value_ = layout_.inline_value();
    ARROW_RETURN_NOT_OK(CheckValue());
  } else if (buffers.size() % 2 == 1) {
    scalar_ = buffers[next++];
  }
  if (buffers.size() - next == 2) {
    ARROW_ASSIGN_OR_RAISE(repetition_,
                          FindLevels(buffers[next], layout_.has_rep_compression(),
                                     layout_.rep_compression(), layout_.num_rep_values()));
    ARROW_ASSIGN_OR_RAISE(definition_,
                          FindLevels(buffers[next + 1], layout_.has_def_compression(),
                                     layout_.def_compression(), layout_.num_def_values()));
  } else if (buffers.size() != next) {
    return Error(ErrorCode::kCorrupt, "constant page has {} buffers", buffers.size());
  }
  const bool has_lists = task_.levels.has_lists();
  if (repetition_.range.has_value() != has_lists) {
    return Error(ErrorCode::kCorrupt, "constant page of {} lists {} repetition levels",
                 task_.levels.max_repetition(), has_lists ? "lacks" : "has");
  }
  if (!definition_.range && !value_ && !scalar_ && task_.levels.max_level() != 1) {
    return Error(ErrorCode::kCorrupt, "constant page has neither a value nor levels");
  }
  const uint64_t expected = has_lists ? repetition_.count : task_.page->num_rows;
  if (definition_.range && definition_.count != expected) {
    return Error(ErrorCode::kCorrupt, "constant page of {} entries has {} definition levels",
                 expected, definition_.count);
  }
  return Status::OK();
}

Status ConstantDecoder::PlanState(std::shared_ptr<const PageState>, RangeReads* reads) {
  if (scalar_) scalar_read_ = reads->Add(*scalar_);
  if (repetition_.range) repetition_.read = reads->Add(*repetition_.range);
  if (!definition_.range) return Status::OK();
  if (!reads_by_range()) {
    definition_.read = reads->Add(*definition_.range);
    return Status::OK();
  }
  // Under consecutive numbers, one for each range.
  bool first = true;
  for (const RowRange& range : task_.rows.ranges()) {
    const size_t number =
        reads->Add({definition_.range->offset + range.start * 2, range.count * 2});
    if (std::exchange(first, false)) definition_.read = number;
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
    default:
      break;
  }
  return Error(ErrorCode::kUnsupported, "constant pages of type {} with a value are not read",
               type.type == nullptr ? "unknown" : type.type->ToString());
}

Status ConstantDecoder::DecodeLevels(const Levels& levels, std::string_view bytes, uint64_t from,
                                     uint64_t count, std::vector<uint16_t>* out) const {
  out->resize(count);
  uint8_t* const words = reinterpret_cast<uint8_t*>(out->data());
  if (levels.encoding == nullptr) {
    std::copy_n(bytes.data() + from * 2, count * 2, words);
    return Status::OK();
  }
  return WithContext(DecodeFixedBlock(*levels.encoding, bytes, levels.count, from, count,
                                      kLevelBits, task_.pool, words),
                     "levels");
}

Status ConstantDecoder::Decode(const RangeReads& state, const RangeReads&, DecodeScratch* scratch,
                               LeafBuilder* builder) {
  if (scalar_) ARROW_RETURN_NOT_OK(DecodeScalar(state.Get(scalar_read_)));
  if (task_.levels.has_lists()) return DecodeLists(state, scratch, builder);
  const std::span<const RowRange> ranges = task_.rows.ranges();
  if (ranges.empty()) return Status::OK();
  // Compressed levels are decoded once for all ranges.
  const uint64_t first = ranges.front().start;
  if (definition_.range && !reads_by_range()) {
    ARROW_RETURN_NOT_OK(DecodeLevels(definition_, state.Get(definition_.read), first,
                                     ranges.back().end() - first, &scratch->levels));
  }
  size_t number = definition_.read;
  for (const RowRange& range : ranges) {
    const uint16_t* levels = nullptr;
    if (definition_.range) {
      if (reads_by_range()) {
        ARROW_RETURN_NOT_OK(
            DecodeLevels(definition_, state.Get(number++), 0, range.count, &scratch->levels));
        levels = scratch->levels.data();
      } else {
        levels = scratch->levels.data() + (range.start - first);
      }
      ARROW_RETURN_NOT_OK(task_.levels.Append(levels, range.count, builder));
    } else {
      ARROW_RETURN_NOT_OK(task_.levels.AppendAllSame(value_ ? 0 : 1, range.count, builder));
    }
    ARROW_RETURN_NOT_OK(AppendValues(levels, range.count, builder));
  }
  return Status::OK();
}

Status ConstantDecoder::DecodeLists(const RangeReads& state, DecodeScratch* scratch,
                                    LeafBuilder* builder) const {
  const LevelScheme& scheme = task_.levels;
  const uint64_t count = repetition_.count;
  ARROW_RETURN_NOT_OK(
      DecodeLevels(repetition_, state.Get(repetition_.read), 0, count, &scratch->repetition));
  const uint16_t* const repetition = scratch->repetition.data();
  const uint64_t rows =
      static_cast<uint64_t>(std::count(repetition, repetition + count, scheme.max_repetition()));
  if (rows != task_.page->num_rows || repetition[0] != scheme.max_repetition()) {
    return Error(ErrorCode::kCorrupt, "constant page of {} rows has repetition levels of {}",
                 task_.page->num_rows, rows);
  }
  if (definition_.range) {
    ARROW_RETURN_NOT_OK(
        DecodeLevels(definition_, state.Get(definition_.read), 0, count, &scratch->levels));
  }
  scratch->entries.clear();
  SelectEntries(repetition, count, scheme.max_repetition(), 0, task_.rows.ranges(),
                &scratch->entries);
  for (const RowRange& entries : scratch->entries) {
    const uint16_t* const levels =
        definition_.range ? scratch->levels.data() + entries.start : nullptr;
    ARROW_RETURN_NOT_OK(
        scheme.AppendLists(repetition + entries.start, levels, entries.count, builder));
    uint64_t num_values = entries.count;
    const uint16_t* visible = nullptr;
    if (levels != nullptr) {
      ARROW_ASSIGN_OR_RAISE(visible,
                            scheme.Visible(levels, entries.count, &scratch->visible, &num_values));
      ARROW_RETURN_NOT_OK(scheme.Append(visible, num_values, builder));
    } else {
      ARROW_RETURN_NOT_OK(scheme.AppendAllSame(value_ ? 0 : 1, num_values, builder));
    }
    ARROW_RETURN_NOT_OK(builder->ReserveValues(num_values));
    ARROW_RETURN_NOT_OK(AppendValues(visible, num_values, builder));
  }
  return Status::OK();
}

Status ConstantDecoder::AppendValues(const uint16_t* levels, uint64_t count,
                                     LeafBuilder* builder) const {
  ARROW_RETURN_NOT_OK(builder->AppendItemsValid(count));
  if (!value_) {
    // What has no fields has no values, whatever the levels say.
    const bool all_null =
        levels == nullptr || std::find(levels, levels + count, 0) == levels + count;
    if (!all_null && task_.type.kind != LeafType::Kind::kNothing) {
      return Error(ErrorCode::kCorrupt, "constant page without a value has a row that is not null");
    }
    builder->AppendZeros(count);
    for (LeafBuilder& part : builder->parts()) {
      ARROW_RETURN_NOT_OK(part.AppendItemsValid(count));
      ARROW_RETURN_NOT_OK(part.validity().AppendValid(count));
    }
    return Status::OK();
  }
  if (task_.type.kind == LeafType::Kind::kFixed) {
    builder->AppendRepeated(reinterpret_cast<const uint8_t*>(value_->data()), count);
    return Status::OK();
  }
  if (levels == nullptr) return builder->AppendRepeatedBytes(*value_, count);
  for (uint64_t i = 0; i < count;) {
    uint64_t end = i + 1;
    while (end < count && (levels[end] == 0) == (levels[i] == 0)) ++end;
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
