#include "lake/format/v20_array_internal.h"

#include <optional>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bitmap_ops.h>

#include "lake/base/checked.h"
#include "lake/format/v20_fixed_internal.h"

namespace lake::format {
namespace {

using Encoding = pb::ArrayEncoding;
using Type = std::shared_ptr<arrow::DataType>;

// Each level of a type, and each wrapping of an encoding, is a level of recursion.
constexpr int kMaxWrappings = 16;

class FixedDecoder : public V20ArrayDecoder {
 public:
  FixedDecoder(V20FixedValues values, Type type)
      : values_(std::move(values)), type_(std::move(type)) {}

  Status PlanFirst(const RowSelection& values, RangeReads* reads) override {
    length_ = static_cast<int64_t>(values.num_rows());
    return values_.Plan(values, reads);
  }
  Status PlanSecond(const RangeReads&, RangeReads*) override { return Status::OK(); }
  Result<std::shared_ptr<arrow::ArrayData>> Decode(const RangeReads& first,
                                                   const RangeReads&) override {
    ARROW_ASSIGN_OR_RAISE(auto buffer, values_.Decode(first));
    return arrow::ArrayData::Make(type_, length_, {nullptr, std::move(buffer)}, 0);
  }

 private:
  V20FixedValues values_;
  const Type type_;
  int64_t length_ = 0;
};

class ListDecoder : public V20ArrayDecoder {
 public:
  ListDecoder(std::unique_ptr<V20ArrayDecoder> items, uint32_t dimension, Type type)
      : items_(std::move(items)), dimension_(dimension), type_(std::move(type)) {}

  Status PlanFirst(const RowSelection& values, RangeReads* reads) override {
    length_ = static_cast<int64_t>(values.num_rows());
    RowSelection items;
    for (const RowRange& range : values.ranges()) {
      const auto end = CheckedMul<uint64_t>(range.end(), dimension_);
      if (!end || *end > uint64_t{1} << 62) {
        return Error(ErrorCode::kCorrupt, "fixed-size lists have too many items: {} of {}",
                     range.end(), dimension_);
      }
      items.Append(range.start * dimension_, range.count * dimension_);
    }
    return items_->PlanFirst(items, reads);
  }
  Status PlanSecond(const RangeReads& first, RangeReads* reads) override {
    return items_->PlanSecond(first, reads);
  }
  Result<std::shared_ptr<arrow::ArrayData>> Decode(const RangeReads& first,
                                                   const RangeReads& second) override {
    ARROW_ASSIGN_OR_RAISE(auto items, items_->Decode(first, second));
    return arrow::ArrayData::Make(type_, length_, {nullptr}, {std::move(items)}, 0);
  }

 private:
  const std::unique_ptr<V20ArrayDecoder> items_;
  const uint64_t dimension_;
  const Type type_;
  int64_t length_ = 0;
};

class AllNullsDecoder : public V20ArrayDecoder {
 public:
  AllNullsDecoder(Type type, arrow::MemoryPool* pool) : type_(std::move(type)), pool_(pool) {}

  Status PlanFirst(const RowSelection& values, RangeReads*) override {
    length_ = static_cast<int64_t>(values.num_rows());
    return Status::OK();
  }
  Status PlanSecond(const RangeReads&, RangeReads*) override { return Status::OK(); }
  Result<std::shared_ptr<arrow::ArrayData>> Decode(const RangeReads&, const RangeReads&) override {
    ARROW_ASSIGN_OR_RAISE(const auto nulls, arrow::MakeArrayOfNull(type_, length_, pool_));
    return nulls->data();
  }

 private:
  const Type type_;
  arrow::MemoryPool* const pool_;
  int64_t length_ = 0;
};

class SomeNullsDecoder : public V20ArrayDecoder {
 public:
  SomeNullsDecoder(V20FixedValues validity, std::unique_ptr<V20ArrayDecoder> values,
                   arrow::MemoryPool* pool)
      : validity_(std::move(validity)), values_(std::move(values)), pool_(pool) {}

  Status PlanFirst(const RowSelection& values, RangeReads* reads) override {
    ARROW_RETURN_NOT_OK(validity_.Plan(values, reads));
    return values_->PlanFirst(values, reads);
  }
  Status PlanSecond(const RangeReads& first, RangeReads* reads) override {
    return values_->PlanSecond(first, reads);
  }
  Result<std::shared_ptr<arrow::ArrayData>> Decode(const RangeReads& first,
                                                   const RangeReads& second) override {
    ARROW_ASSIGN_OR_RAISE(auto validity, validity_.Decode(first));
    ARROW_ASSIGN_OR_RAISE(auto data, values_->Decode(first, second));
    if (data->type->id() == arrow::Type::NA) return data;
    if (data->buffers[0] != nullptr) {
      ARROW_ASSIGN_OR_RAISE(
          validity, arrow::internal::BitmapAnd(pool_, validity->data(), 0, data->buffers[0]->data(),
                                               data->offset, data->length, 0));
    }
    data = data->Copy();
    data->buffers[0] = std::move(validity);
    data->null_count = arrow::kUnknownNullCount;
    return data;
  }

 private:
  V20FixedValues validity_;
  const std::unique_ptr<V20ArrayDecoder> values_;
  arrow::MemoryPool* const pool_;
};

Status WrongEncoding(const Encoding& encoding, const Type& type) {
  return Error(ErrorCode::kUnsupported, "encoding {} does not make values of type {}",
               V20EncodingName(encoding), type->ToString());
}

Result<std::unique_ptr<V20ArrayDecoder>> Make(const V20PageContext& context,
                                              const Encoding& encoding, const Type& type,
                                              int depth);

Result<std::unique_ptr<V20ArrayDecoder>> MakeNullable(const V20PageContext& context,
                                                      const pb::ArrayNullable& nullable,
                                                      const Type& type, int depth) {
  switch (nullable.nullability_case()) {
    case pb::ArrayNullable::kNoNulls:
      return Make(context, nullable.no_nulls().values(), type, depth + 1);
    case pb::ArrayNullable::kAllNulls:
      return std::make_unique<AllNullsDecoder>(type, context.pool);
    case pb::ArrayNullable::kSomeNulls: {
      ARROW_ASSIGN_OR_RAISE(auto validity,
                            V20FixedValues::Make(context, nullable.some_nulls().validity()));
      if (validity.bits() != 1) {
        return Error(ErrorCode::kCorrupt, "validity has {} bits", validity.bits());
      }
      ARROW_ASSIGN_OR_RAISE(auto values,
                            Make(context, nullable.some_nulls().values(), type, depth + 1));
      return std::make_unique<SomeNullsDecoder>(std::move(validity), std::move(values),
                                                context.pool);
    }
    case pb::ArrayNullable::NULLABILITY_NOT_SET:
      break;
  }
  return Error(ErrorCode::kCorrupt, "encoding nullable says nothing of nulls");
}

Result<std::unique_ptr<V20ArrayDecoder>> Make(const V20PageContext& context,
                                              const Encoding& encoding, const Type& type,
                                              int depth) {
  if (depth > kMaxWrappings) {
    return Error(ErrorCode::kCorrupt, "encodings are nested deeper than {}", kMaxWrappings);
  }
  switch (encoding.array_encoding_case()) {
    case Encoding::kNullable:
      return MakeNullable(context, encoding.nullable(), type, depth);
    case Encoding::kFixedSizeList: {
      const pb::ArrayFixedSizeList& list = encoding.fixed_size_list();
      if (type->id() != arrow::Type::FIXED_SIZE_LIST) return WrongEncoding(encoding, type);
      const auto& list_type = static_cast<const arrow::FixedSizeListType&>(*type);
      if (list.dimension() != static_cast<uint32_t>(list_type.list_size())) {
        return Error(ErrorCode::kCorrupt, "fixed-size lists have {} items, their type {}",
                     list.dimension(), list_type.list_size());
      }
      ARROW_ASSIGN_OR_RAISE(auto items,
                            Make(context, list.items(), list_type.value_type(), depth + 1));
      return std::make_unique<ListDecoder>(std::move(items), list.dimension(), type);
    }
    case Encoding::kBinary:
    case Encoding::kFsst:
      return MakeV20BinaryDecoder(context, encoding, type);
    case Encoding::kDictionary:
      return MakeV20DictionaryDecoder(context, encoding.dictionary(), type);
    case Encoding::kPackedStruct:
      return MakeV20PackedDecoder(context, encoding.packed_struct(), type);
    case Encoding::kFlat:
    case Encoding::kBitpacked:
    case Encoding::kBitpackedForNonNeg:
    case Encoding::kFixedSizeBinary: {
      if (!arrow::is_fixed_width(type->id()) || type->id() == arrow::Type::DICTIONARY ||
          type->id() == arrow::Type::FIXED_SIZE_LIST) {
        return WrongEncoding(encoding, type);
      }
      ARROW_ASSIGN_OR_RAISE(auto values, V20FixedValues::Make(context, encoding));
      if (values.bits() != static_cast<uint64_t>(type->bit_width())) {
        return Error(ErrorCode::kCorrupt, "values have {} bits, their type {}", values.bits(),
                     type->bit_width());
      }
      return std::make_unique<FixedDecoder>(std::move(values), type);
    }
    case Encoding::kList:
    case Encoding::kStruct:
      return WrongEncoding(encoding, type);
    case Encoding::kConstant:
    case Encoding::ARRAY_ENCODING_NOT_SET:
      break;
  }
  return Error(ErrorCode::kUnsupported, "encoding {} is not read", V20EncodingName(encoding));
}

}  // namespace

Result<ByteRange> V20PageContext::Buffer(const pb::ArrayBuffer& buffer) const {
  const std::vector<ByteRange>* buffers = nullptr;
  switch (buffer.buffer_type()) {
    case pb::ArrayBuffer::PAGE:
      buffers = &page->buffers;
      break;
    case pb::ArrayBuffer::COLUMN:
      buffers = &column->buffers;
      break;
    default:
      return Error(ErrorCode::kUnsupported, "a buffer outside of its column is not read");
  }
  if (buffer.buffer_index() >= buffers->size()) {
    return Error(ErrorCode::kCorrupt, "an encoding means buffer {} of {}", buffer.buffer_index(),
                 buffers->size());
  }
  return (*buffers)[buffer.buffer_index()];
}

Result<std::unique_ptr<V20ArrayDecoder>> MakeV20Decoder(const V20PageContext& context,
                                                        const Encoding& encoding,
                                                        const Type& type) {
  return Make(context, encoding, type, 0);
}

std::string_view V20EncodingName(const Encoding& encoding) {
  switch (encoding.array_encoding_case()) {
    case Encoding::kFlat:
      return "flat";
    case Encoding::kNullable:
      return "nullable";
    case Encoding::kFixedSizeList:
      return "fixed_size_list";
    case Encoding::kList:
      return "list";
    case Encoding::kStruct:
      return "struct";
    case Encoding::kBinary:
      return "binary";
    case Encoding::kDictionary:
      return "dictionary";
    case Encoding::kFsst:
      return "fsst";
    case Encoding::kPackedStruct:
      return "packed_struct";
    case Encoding::kBitpacked:
      return "bitpacked";
    case Encoding::kFixedSizeBinary:
      return "fixed_size_binary";
    case Encoding::kBitpackedForNonNeg:
      return "bitpacked_for_non_neg";
    case Encoding::kConstant:
      return "constant";
    case Encoding::ARRAY_ENCODING_NOT_SET:
      break;
  }
  return "(unknown)";
}

const Encoding& WithoutNoNulls(const Encoding& encoding) {
  const Encoding* inner = &encoding;
  while (inner->has_nullable() && inner->nullable().has_no_nulls()) {
    inner = &inner->nullable().no_nulls().values();
  }
  return *inner;
}

}  // namespace lake::format
