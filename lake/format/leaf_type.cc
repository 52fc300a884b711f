#include "lake/format/leaf_type.h"

#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/checked_cast.h>

namespace lake::format {
namespace {

Status Refuse(const arrow::DataType& type) {
  return Error(ErrorCode::kUnsupported, "type {} is not read", type.ToString());
}

bool IsFixedLeaf(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::DECIMAL128:
    case arrow::Type::FIXED_SIZE_BINARY:
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION:
      return true;
    default:
      return arrow::is_integer(type.id());
  }
}

}  // namespace

Result<LeafType> LeafType::From(const std::shared_ptr<arrow::DataType>& type) {
  LeafType leaf;
  leaf.type = type;
  const arrow::DataType* item = type.get();
  switch (type->id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      leaf.kind = Kind::kVariable;
      leaf.offset_bits = 32;
      leaf.is_text = type->id() == arrow::Type::STRING;
      return leaf;
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      leaf.kind = Kind::kVariable;
      leaf.offset_bits = 64;
      leaf.is_text = type->id() == arrow::Type::LARGE_STRING;
      return leaf;
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(*type);
      leaf.kind = Kind::kList;
      leaf.list_size = static_cast<uint32_t>(list.list_size());
      item = list.value_type().get();
      break;
    }
    default:
      break;
  }
  if (!IsFixedLeaf(*item) || leaf.list_size == 0) return Refuse(*type);
  const int bits = static_cast<const arrow::FixedWidthType&>(*item).bit_width();
  if (bits <= 0) return Refuse(*type);
  leaf.item_bits = static_cast<uint32_t>(bits);
  return leaf;
}

}  // namespace lake::format
