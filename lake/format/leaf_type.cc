#include "lake/format/leaf_type.h"

#include <utility>

#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "lake/base/checked.h"

namespace lake::format {
namespace {

// A value of more bits is no value that anybody stores.
constexpr uint64_t kMaxValueBits = uint64_t{8} << 30;

Status Refuse(const arrow::DataType& type) {
  return Error(ErrorCode::kUnsupported, "type {} is not read", type.ToString());
}

// Bits of a value of fixed width; -1 for other types.
int FixedBits(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::DICTIONARY:
    case arrow::Type::EXTENSION:
    case arrow::Type::STRUCT:
    case arrow::Type::NA:
      return -1;
    default:
      return arrow::is_fixed_width(type.id())
                 ? static_cast<const arrow::FixedWidthType&>(type).bit_width()
                 : -1;
  }
}

}  // namespace

bool LeafType::SameLayout(const LeafType& other) const {
  if (kind != other.kind || item_bits != other.item_bits || list_sizes != other.list_sizes ||
      offset_bits != other.offset_bits || is_text != other.is_text ||
      parts.size() != other.parts.size()) {
    return false;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].SameLayout(other.parts[i])) return false;
  }
  return true;
}

Result<LeafType> LeafType::From(const std::shared_ptr<arrow::DataType>& type) {
  LeafType leaf;
  leaf.type = type;
  const arrow::DataType* item = type.get();
  switch (type->id()) {
    case arrow::Type::NA:
      leaf.kind = Kind::kNothing;
      return leaf;
    case arrow::Type::STRUCT:
      if (type->num_fields() != 0) return Refuse(*type);
      leaf.kind = Kind::kNothing;
      return leaf;
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
    case arrow::Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryType&>(*type);
      leaf.kind = Kind::kDictionary;
      leaf.item_bits = static_cast<uint32_t>(FixedBits(*dictionary.index_type()));
      ARROW_ASSIGN_OR_RAISE(LeafType value, From(dictionary.value_type()));
      if (value.kind != Kind::kFixed && value.kind != Kind::kVariable) return Refuse(*type);
      leaf.parts.push_back(std::move(value));
      return leaf;
    }
    default:
      break;
  }
  while (item->id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(*item);
    leaf.kind = Kind::kList;
    leaf.list_sizes.push_back(static_cast<uint32_t>(list.list_size()));
    const auto size = CheckedMul(leaf.list_size, leaf.list_sizes.back());
    if (!size || *size == 0) return Refuse(*type);
    leaf.list_size = *size;
    item = list.value_type().get();
  }
  const int bits = FixedBits(*item);
  if (bits < 0 || (bits == 0 && leaf.kind == Kind::kList)) return Refuse(*type);
  leaf.item_bits = static_cast<uint32_t>(bits);
  if (leaf.value_bits() > kMaxValueBits) return Refuse(*type);
  return leaf;
}

Result<LeafType> LeafType::Packed(const std::shared_ptr<arrow::DataType>& type) {
  LeafType leaf;
  leaf.type = type;
  leaf.kind = Kind::kPacked;
  for (const auto& field : type->fields()) {
    ARROW_ASSIGN_OR_RAISE(LeafType part, From(field->type()));
    const bool is_bytes =
        part.kind == Kind::kVariable || ((part.kind == Kind::kFixed || part.kind == Kind::kList) &&
                                         part.item_bits % 8 == 0 && part.item_bits > 0);
    if (!is_bytes) {
      return Error(ErrorCode::kUnsupported, "a packed struct with a field of type {} is not read",
                   field->type()->ToString());
    }
    leaf.parts.push_back(std::move(part));
  }
  if (leaf.parts.empty()) return Refuse(*type);
  return leaf;
}

}  // namespace lake::format
