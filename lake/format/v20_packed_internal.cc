// Packed structs of 2.0 pages: the fields of a row next to each other.

#include <cstring>
#include <utility>
#include <vector>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "lake/base/checked.h"
#include "lake/format/v20_array_internal.h"

namespace lake::format {
namespace {

// A field of the struct: `bytes` of each row.
struct PackedField {
  std::shared_ptr<arrow::DataType> type;
  uint64_t bytes = 0;
};

class PackedDecoder : public V20ArrayDecoder {
 public:
  PackedDecoder(ByteRange buffer, std::vector<PackedField> fields, uint64_t row_bytes,
                std::shared_ptr<arrow::DataType> type, arrow::MemoryPool* pool)
      : buffer_(buffer),
        fields_(std::move(fields)),
        row_bytes_(row_bytes),
        type_(std::move(type)),
        pool_(pool) {}

  Status PlanFirst(const RowSelection& values, RangeReads* reads) override {
    values_ = values;
    if (values.empty()) return Status::OK();
    const uint64_t end = values.ranges().back().end();
    if (end > buffer_.length / row_bytes_) {
      return Error(ErrorCode::kCorrupt, "a buffer of {} bytes ends before struct {} of {} bytes",
                   buffer_.length, end, row_bytes_);
    }
    for (const RowRange& range : values.ranges()) {
      reads_.push_back(
          reads->Add({buffer_.offset + range.start * row_bytes_, range.count * row_bytes_}));
    }
    return Status::OK();
  }

  Status PlanSecond(const RangeReads&, RangeReads*) override { return Status::OK(); }

  Result<std::shared_ptr<arrow::ArrayData>> Decode(const RangeReads& first,
                                                   const RangeReads&) override {
    const int64_t length = static_cast<int64_t>(values_.num_rows());
    std::vector<std::shared_ptr<arrow::ArrayData>> children;
    uint64_t place = 0;
    for (const PackedField& field : fields_) {
      ARROW_ASSIGN_OR_RAISE(
          std::shared_ptr<arrow::Buffer> buffer,
          arrow::AllocateBuffer(static_cast<int64_t>(values_.num_rows() * field.bytes), pool_));
      uint8_t* out = buffer->mutable_data();
      for (size_t i = 0; i < reads_.size(); ++i) {
        const char* row = first.Get(reads_[i]).data() + place;
        for (uint64_t n = values_.ranges()[i].count; n > 0; --n, row += row_bytes_) {
          std::memcpy(out, row, field.bytes);
          out += field.bytes;
        }
      }
      children.push_back(FieldData(field.type, length, std::move(buffer)));
      place += field.bytes;
    }
    return arrow::ArrayData::Make(type_, length, {nullptr}, std::move(children), 0);
  }

 private:
  static std::shared_ptr<arrow::ArrayData> FieldData(const std::shared_ptr<arrow::DataType>& type,
                                                     int64_t length,
                                                     std::shared_ptr<arrow::Buffer> buffer) {
    if (type->id() != arrow::Type::FIXED_SIZE_LIST) {
      return arrow::ArrayData::Make(type, length, {nullptr, std::move(buffer)}, 0);
    }
    const auto& list = static_cast<const arrow::FixedSizeListType&>(*type);
    return arrow::ArrayData::Make(
        type, length, {nullptr},
        {FieldData(list.value_type(), length * list.list_size(), std::move(buffer))}, 0);
  }

  const ByteRange buffer_;
  const std::vector<PackedField> fields_;
  const uint64_t row_bytes_;
  const std::shared_ptr<arrow::DataType> type_;
  arrow::MemoryPool* const pool_;
  RowSelection values_;
  std::vector<size_t> reads_;
};

// Bits of a value in a packed row; 0 for a type that cannot be packed.
uint64_t PackedBits(const arrow::DataType& type) {
  if (type.id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
    return CheckedMul(PackedBits(*list.value_type()), static_cast<uint64_t>(list.list_size()))
        .value_or(0);
  }
  if (!arrow::is_fixed_width(type.id()) || type.id() == arrow::Type::DICTIONARY) return 0;
  return static_cast<uint64_t>(type.bit_width());
}

// Bits that an encoding says, without the buffers that it does not use; 0 if it says none.
uint64_t EncodedBits(const pb::ArrayEncoding& wrapped) {
  const pb::ArrayEncoding& encoding = WithoutNoNulls(wrapped);
  if (encoding.has_flat()) return encoding.flat().bits_per_value();
  if (!encoding.has_fixed_size_list()) return 0;
  const auto& list = encoding.fixed_size_list();
  return CheckedMul<uint64_t>(EncodedBits(list.items()), list.dimension()).value_or(0);
}

}  // namespace

Result<std::unique_ptr<V20ArrayDecoder>> MakeV20PackedDecoder(
    const V20PageContext& context, const pb::ArrayPackedStruct& encoding,
    const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() != arrow::Type::STRUCT) {
    return Error(ErrorCode::kUnsupported, "encoding packed_struct does not make values of type {}",
                 type->ToString());
  }
  if (encoding.inner_size() != type->num_fields() || type->num_fields() == 0) {
    return Error(ErrorCode::kCorrupt, "a packed struct has {} fields, its type {}",
                 encoding.inner_size(), type->num_fields());
  }
  std::vector<PackedField> fields;
  uint64_t row_bytes = 0;
  for (int i = 0; i < type->num_fields(); ++i) {
    const auto& field = type->field(i);
    const uint64_t bits = PackedBits(*field->type());
    if (bits == 0 || bits % 8 != 0) {
      return Error(ErrorCode::kUnsupported, "a packed field of type {} is not read",
                   field->type()->ToString());
    }
    if (EncodedBits(encoding.inner(i)) != bits) {
      return Error(ErrorCode::kCorrupt, "packed field '{}' has {} bits, its type {}", field->name(),
                   EncodedBits(encoding.inner(i)), bits);
    }
    fields.push_back({field->type(), bits / 8});
    const auto sum = CheckedAdd(row_bytes, bits / 8);
    if (!sum || *sum > uint64_t{1} << 32) {
      return Error(ErrorCode::kCorrupt, "a packed struct is too wide");
    }
    row_bytes = *sum;
  }
  ARROW_ASSIGN_OR_RAISE(const ByteRange buffer, context.Buffer(encoding.buffer()));
  return std::make_unique<PackedDecoder>(buffer, std::move(fields), row_bytes, type, context.pool);
}

}  // namespace lake::format
