// Strings and binary values of 2.0 pages, plain or as FSST codes.

#include <limits>
#include <optional>
#include <utility>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "lake/format/fsst.h"
#include "lake/format/text_check.h"
#include "lake/format/v20_array_internal.h"
#include "lake/format/v20_ends_internal.h"
#include "lake/format/v20_fixed_internal.h"

namespace lake::format {
namespace {

class BinaryDecoder : public V20ArrayDecoder {
 public:
  BinaryDecoder(V20Ends ends, V20FixedValues bytes, std::shared_ptr<arrow::DataType> type,
                arrow::MemoryPool* pool)
      : ends_(std::move(ends)), bytes_(std::move(bytes)), type_(std::move(type)), pool_(pool) {
    is_large_ = arrow::is_large_binary_like(type_->id());
    is_text_ = arrow::is_string(type_->id());
  }

  void set_fsst(FsstDecoder decoder) { fsst_ = std::move(decoder); }

  Status PlanFirst(const RowSelection& values, RangeReads* reads) override {
    length_ = values.num_rows();
    return ends_.Plan(values, reads);
  }

  Status PlanSecond(const RangeReads& first, RangeReads* reads) override {
    ARROW_ASSIGN_OR_RAISE(offsets_, V20Offsets::Make(is_large_ ? 64 : 32, length_, pool_));
    RowSelection source;
    ARROW_RETURN_NOT_OK(
        ends_.Decode(first, std::numeric_limits<uint64_t>::max(), 0, &offsets_, &source));
    return bytes_.Plan(source, reads);
  }

  Result<std::shared_ptr<arrow::ArrayData>> Decode(const RangeReads&,
                                                   const RangeReads& second) override {
    ARROW_ASSIGN_OR_RAISE(auto bytes, bytes_.Decode(second));
    return is_large_ ? Finish<int64_t>(std::move(bytes)) : Finish<int32_t>(std::move(bytes));
  }

 private:
  template <typename Offset>
  Result<std::shared_ptr<arrow::ArrayData>> Finish(std::shared_ptr<arrow::Buffer> bytes) const {
    std::shared_ptr<arrow::Buffer> offsets = offsets_.offsets();
    if (fsst_) ARROW_RETURN_NOT_OK(Decompress<Offset>(&offsets, &bytes));
    if (is_text_ && !AllUtf8(reinterpret_cast<const Offset*>(offsets->data()), length_,
                             {reinterpret_cast<const char*>(bytes->data()),
                              static_cast<size_t>(bytes->size())})) {
      return Error(ErrorCode::kCorrupt, "a string is not UTF-8");
    }
    return arrow::ArrayData::Make(type_, static_cast<int64_t>(length_),
                                  {offsets_.validity(), std::move(offsets), std::move(bytes)},
                                  offsets_.null_count());
  }

  template <typename Offset>
  Status Decompress(std::shared_ptr<arrow::Buffer>* offsets,
                    std::shared_ptr<arrow::Buffer>* bytes) const {
    ARROW_ASSIGN_OR_RAISE(auto decoded, V20Offsets::Make(8 * sizeof(Offset), length_, pool_));
    ARROW_ASSIGN_OR_RAISE(auto out, arrow::AllocateResizableBuffer(
                                        (*bytes)->size() * 2 + FsstDecoder::kSlack, pool_));
    const auto* ends = reinterpret_cast<const Offset*>((*offsets)->data());
    const char* const codes = reinterpret_cast<const char*>((*bytes)->data());
    uint64_t size = 0;
    for (uint64_t i = 0; i < length_; ++i) {
      const size_t count = static_cast<size_t>(ends[i + 1] - ends[i]);
      const uint64_t needed = size + FsstDecoder::MaxDecodedSize(count) + FsstDecoder::kSlack;
      if (needed > static_cast<uint64_t>(out->size())) {
        ARROW_RETURN_NOT_OK(
            out->Resize(static_cast<int64_t>(needed) + out->size() / 2, /*shrink_to_fit=*/false));
      }
      const uint8_t* const end =
          fsst_->Decode({codes + ends[i], count}, out->mutable_data() + size);
      if (end == nullptr) {
        return Error(ErrorCode::kCorrupt, "value {} is not of its symbol table", i);
      }
      const uint64_t new_size = static_cast<uint64_t>(end - out->data());
      ARROW_RETURN_NOT_OK(decoded.Append(new_size - size));
      size = new_size;
    }
    ARROW_RETURN_NOT_OK(out->Resize(static_cast<int64_t>(size)));
    *offsets = decoded.offsets();
    *bytes = std::move(out);
    return Status::OK();
  }

  V20Ends ends_;
  V20FixedValues bytes_;
  const std::shared_ptr<arrow::DataType> type_;
  arrow::MemoryPool* const pool_;
  bool is_large_ = false;
  bool is_text_ = false;
  std::optional<FsstDecoder> fsst_;
  uint64_t length_ = 0;
  V20Offsets offsets_;
};

}  // namespace

Result<std::unique_ptr<V20ArrayDecoder>> MakeV20BinaryDecoder(
    const V20PageContext& context, const pb::ArrayEncoding& encoding,
    const std::shared_ptr<arrow::DataType>& type) {
  if (!arrow::is_base_binary_like(type->id())) {
    return Error(ErrorCode::kUnsupported, "encoding {} does not make values of type {}",
                 V20EncodingName(encoding), type->ToString());
  }
  const pb::ArrayEncoding& inner =
      encoding.has_fsst() ? WithoutNoNulls(encoding.fsst().binary()) : encoding;
  if (!inner.has_binary()) {
    return Error(ErrorCode::kUnsupported, "encoding fsst of {} is not read",
                 V20EncodingName(inner));
  }
  const pb::ArrayBinary& binary = inner.binary();
  ARROW_ASSIGN_OR_RAISE(auto ends,
                        V20Ends::Make(context, binary.indices(), binary.null_adjustment()));
  ARROW_ASSIGN_OR_RAISE(auto bytes, V20FixedValues::Make(context, binary.bytes()));
  if (bytes.bits() != 8) {
    return Error(ErrorCode::kUnsupported, "bytes of {} bits are not read", bytes.bits());
  }
  auto decoder =
      std::make_unique<BinaryDecoder>(std::move(ends), std::move(bytes), type, context.pool);
  if (encoding.has_fsst()) {
    ARROW_ASSIGN_OR_RAISE(auto fsst, FsstDecoder::DecodeFrom(encoding.fsst().symbol_table()));
    if (fsst.enabled()) decoder->set_fsst(std::move(fsst));
  }
  return decoder;
}

}  // namespace lake::format
