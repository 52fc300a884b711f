#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "lake/base/checked.h"
#include "lake/format/block_decoder_internal.h"
#include "lake/format/fsst.h"
#include "lake/format/full_zip_decoder_internal.h"
#include "lake/format/general_compression.h"

namespace lake::format {
namespace {

// The entries of the row index that a range needs are read in one piece up to this size, else only
// the first and the last one.
constexpr uint64_t kIndexReadLimit = 4096;

// Rows of any size: control word, then for a value its length and its bytes. A row is found by the
// index in the second buffer: where each row starts, and where the last one ends.
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
  enum class Codec { kPlain, kFsst, kGeneral };

  Status SetCodec();
  uint64_t IndexEntry(std::string_view entries, uint64_t i) const;
  template <typename Offset>
  Status AppendRows(std::string_view rows, uint64_t count, DecodeScratch* scratch,
                    LeafBuilder* builder) const;
  // Decodes `stored` to `made` bytes behind the builder's end; returns how many bytes came out.
  Result<uint64_t> AppendValue(std::string_view stored, uint64_t made, LeafBuilder* builder) const;

  PageTask task_;
  const pb::FullZipLayout& layout_;
  Codec codec_ = Codec::kPlain;
  FsstDecoder fsst_;
  GeneralCodec general_ = GeneralCodec::kZstd;
  uint32_t control_width_ = 0;
  uint32_t length_width_ = 0;
  uint64_t index_width_ = 0;
  // Of the ranges of rows, in order: their index entries, then their bytes.
  std::vector<size_t> index_reads_;
  std::vector<size_t> data_reads_;
};

Status VariableFullZipDecoder::SetCodec() {
  const pb::CompressiveEncoding* encoding = &layout_.value_compression();
  if (encoding->has_fsst()) {
    ARROW_ASSIGN_OR_RAISE(fsst_, FsstDecoder::DecodeFrom(encoding->fsst().symbol_table()));
    if (fsst_.enabled()) codec_ = Codec::kFsst;
    encoding = &encoding->fsst().values();
  } else if (encoding->has_general()) {
    ARROW_ASSIGN_OR_RAISE(general_, CodecOf(encoding->general().compression()));
    codec_ = Codec::kGeneral;
    encoding = &encoding->general().values();
  }
  if (!encoding->has_variable() || encoding->variable().has_values()) {
    return Error(ErrorCode::kUnsupported, "full-zip encoding {} of strings is not read",
                 EncodingName(*encoding));
  }
  return ExpectFlat(encoding->variable().offsets(), layout_.bits_per_offset(), "string offsets");
}

Status VariableFullZipDecoder::CheckLayout() {
  ARROW_RETURN_NOT_OK(CheckFullZipCounts(layout_, task_.page->num_rows));
  ARROW_ASSIGN_OR_RAISE(control_width_, FullZipControlWidth(layout_));
  if (layout_.bits_per_offset() != 32 && layout_.bits_per_offset() != 64) {
    return Error(ErrorCode::kCorrupt, "full-zip lengths of {} bits", layout_.bits_per_offset());
  }
  length_width_ = layout_.bits_per_offset() / 8;
  ARROW_RETURN_NOT_OK(SetCodec());
  if (task_.page->buffers.size() != 2) {
    return Error(ErrorCode::kCorrupt, "full-zip page of strings has {} buffers, not 2",
                 task_.page->buffers.size());
  }
  const uint64_t entries = task_.page->num_rows + 1;
  const uint64_t size = task_.page->buffers[1].length;
  index_width_ = size / entries;
  const bool known =
      index_width_ == 1 || index_width_ == 2 || index_width_ == 4 || index_width_ == 8;
  if (!known || index_width_ * entries != size) {
    return Error(ErrorCode::kCorrupt, "row index of {} bytes for {} rows", size, entries - 1);
  }
  return Status::OK();
}

uint64_t VariableFullZipDecoder::IndexEntry(std::string_view entries, uint64_t i) const {
  const char* const at = entries.data() + i * index_width_;
  switch (index_width_) {
    case 1:
      return static_cast<uint8_t>(*at);
    case 2:
      return LoadLittle<uint16_t>(at);
    case 4:
      return LoadLittle<uint32_t>(at);
    default:
      return LoadLittle<uint64_t>(at);
  }
}

Status VariableFullZipDecoder::PlanState(std::shared_ptr<const PageState>, RangeReads* reads) {
  if (task_.whole_page()) {
    data_reads_.push_back(reads->Add(task_.page->buffers[0]));
    return Status::OK();
  }
  const uint64_t index = task_.page->buffers[1].offset;
  for (const RowRange& range : task_.rows.ranges()) {
    const uint64_t size = (range.count + 1) * index_width_;
    if (size <= kIndexReadLimit) {
      index_reads_.push_back(reads->Add({index + range.start * index_width_, size}));
    } else {
      index_reads_.push_back(reads->Add({index + range.start * index_width_, index_width_}));
      reads->Add({index + range.end() * index_width_, index_width_});
    }
  }
  return Status::OK();
}

Status VariableFullZipDecoder::PlanData(const RangeReads& state, RangeReads* reads) {
  if (task_.whole_page()) return Status::OK();
  const ByteRange& rows = task_.page->buffers[0];
  const std::span<const RowRange> ranges = task_.rows.ranges();
  for (size_t i = 0; i < ranges.size(); ++i) {
    const std::string_view entries = state.Get(index_reads_[i]);
    const uint64_t begin = IndexEntry(entries, 0);
    const bool together = entries.size() > index_width_;
    const uint64_t end = together ? IndexEntry(entries, ranges[i].count)
                                  : IndexEntry(state.Get(index_reads_[i] + 1), 0);
    if (begin > end || end > rows.length) {
      return Error(ErrorCode::kCorrupt, "row index puts rows {} to {} at {} to {} of {}",
                   ranges[i].start, ranges[i].end(), begin, end, rows.length);
    }
    data_reads_.push_back(reads->Add({rows.offset + begin, end - begin}));
  }
  return Status::OK();
}

Status VariableFullZipDecoder::Decode(const RangeReads& state, const RangeReads& data,
                                      DecodeScratch* scratch, LeafBuilder* builder) {
  const uint64_t first_row = builder->rows();
  const RangeReads& reads = task_.whole_page() ? state : data;
  const std::span<const RowRange> ranges = task_.rows.ranges();
  for (size_t i = 0; i < ranges.size(); ++i) {
    const std::string_view rows = reads.Get(data_reads_[i]);
    ARROW_RETURN_NOT_OK(task_.type.offset_bits == 32
                            ? AppendRows<int32_t>(rows, ranges[i].count, scratch, builder)
                            : AppendRows<int64_t>(rows, ranges[i].count, scratch, builder));
  }
  return task_.type.is_text ? builder->CheckText(first_row) : Status::OK();
}

template <typename Offset>
Status VariableFullZipDecoder::AppendRows(std::string_view rows, uint64_t count,
                                          DecodeScratch* scratch, LeafBuilder* builder) const {
  if (codec_ != Codec::kGeneral) ARROW_RETURN_NOT_OK(builder->ReserveBytes(rows.size()));
  scratch->levels.assign(count, 0);
  Offset* const ends = builder->NextEnds<Offset>();
  const uint64_t before = builder->variable_size();
  uint64_t made = 0;
  uint64_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!RangeFits(at, control_width_, rows.size())) {
      return Error(ErrorCode::kCorrupt, "row {} of {} lies behind the page's end", i, count);
    }
    if (control_width_ != 0) {
      scratch->levels[i] = LoadFullZipControl(rows.data() + at, control_width_);
      at += control_width_;
    }
    if (scratch->levels[i] == 0) {
      if (!RangeFits(at, length_width_, rows.size())) {
        return Error(ErrorCode::kCorrupt, "row {} of {} lies behind the page's end", i, count);
      }
      const char* const length_at = rows.data() + at;
      const uint64_t length =
          length_width_ == 4 ? LoadLittle<uint32_t>(length_at) : LoadLittle<uint64_t>(length_at);
      at += length_width_;
      if (!RangeFits(at, length, rows.size())) {
        return Error(ErrorCode::kCorrupt, "value of row {} has {} bytes, {} are left", i, length,
                     rows.size() - at);
      }
      ARROW_ASSIGN_OR_RAISE(const uint64_t size,
                            AppendValue({rows.data() + at, length}, made, builder));
      made += size;
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

Result<uint64_t> VariableFullZipDecoder::AppendValue(std::string_view stored, uint64_t made,
                                                     LeafBuilder* builder) const {
  switch (codec_) {
    case Codec::kPlain:
      // Reserved for all rows at once.
      if (!stored.empty()) {
        std::memcpy(builder->variable_end() + made, stored.data(), stored.size());
      }
      return stored.size();
    case Codec::kFsst: {
      ARROW_RETURN_NOT_OK(builder->ReserveBytes(made + FsstDecoder::MaxDecodedSize(stored.size()) +
                                                FsstDecoder::kSlack));
      uint8_t* const out = builder->variable_end() + made;
      uint8_t* const end = fsst_.Decode(stored, out);
      if (end == nullptr) {
        return Error(ErrorCode::kCorrupt, "FSST codes are not of the page's symbol table");
      }
      return static_cast<uint64_t>(end - out);
    }
    case Codec::kGeneral:
      break;
  }
  ARROW_ASSIGN_OR_RAISE(const CompressedBuffer compressed,
                        CompressedBuffer::Open(general_, stored, uint64_t{1} << 31));
  ARROW_RETURN_NOT_OK(builder->ReserveBytes(made + compressed.decoded_size));
  ARROW_RETURN_NOT_OK(compressed.Decode(builder->variable_end() + made));
  return compressed.decoded_size;
}

}  // namespace

Result<std::unique_ptr<PageDecoder>> MakeVariableFullZipDecoder(PageTask task) {
  auto read = std::make_unique<VariableFullZipDecoder>(std::move(task));
  ARROW_RETURN_NOT_OK(read->CheckLayout());
  return read;
}

}  // namespace lake::format
