#include "lake/format/stored_array.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/buffer_builder.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "lake/format/array_access.h"
#include "lake/format/blob.h"
#include "lake/format/jsonb.h"
#include "lake/format/packed_rows.h"
#include "lake/format/row_check.h"

namespace lake::format {
namespace {

constexpr char kJson[] = "json";

bool IsView(const arrow::DataType& type) {
  return type.id() == arrow::Type::STRING_VIEW || type.id() == arrow::Type::BINARY_VIEW;
}

bool NeedsWork(const Field& field, const arrow::DataType& type) {
  if (type.id() == arrow::Type::EXTENSION) {
    return NeedsWork(field, *static_cast<const arrow::ExtensionType&>(type).storage_type());
  }
  if (field.logical_type == kJson || field.is_packed() || field.is_blob_v2() || IsView(type) ||
      type.id() == arrow::Type::DICTIONARY) {
    return true;
  }
  for (size_t i = 0; i < field.children.size() && static_cast<int>(i) < type.num_fields(); ++i) {
    if (NeedsWork(field.children[i], *type.field(static_cast<int>(i))->type())) return true;
  }
  return false;
}

Status CheckFully(const arrow::Array& array, const std::string& path) {
  const Status well_formed = array.ValidateFull();
  if (well_formed.ok()) return well_formed;
  return Error(ErrorCode::kInvalidArgument, "an Arrow array is not well-formed: column '{}': {}",
               path, well_formed.message());
}

template <typename Strings, typename Builder>
Result<std::shared_ptr<arrow::Array>> Copy(const arrow::Array& array, Builder builder) {
  const auto& strings = static_cast<const Strings&>(array);
  ARROW_RETURN_NOT_OK(builder.Reserve(strings.length()));
  for (int64_t i = 0; i < strings.length(); ++i) {
    ARROW_RETURN_NOT_OK(strings.IsNull(i) ? builder.AppendNull()
                                          : builder.Append(strings.GetView(i)));
  }
  return builder.Finish();
}

template <typename Strings>
Result<std::shared_ptr<arrow::Array>> EncodeJson(const arrow::Array& array, const std::string& path,
                                                 arrow::MemoryPool* pool) {
  const auto& texts = static_cast<const Strings&>(array);
  arrow::LargeBinaryBuilder builder(pool);
  std::string value;
  for (int64_t i = 0; i < texts.length(); ++i) {
    if (texts.IsNull(i)) {
      ARROW_RETURN_NOT_OK(builder.AppendNull());
      continue;
    }
    value.clear();
    ARROW_RETURN_NOT_OK(WithContext(AppendJsonb(texts.GetView(i), &value),
                                    fmt::format("column '{}', value {}", path, i)));
    ARROW_RETURN_NOT_OK(builder.Append(value));
  }
  return builder.Finish();
}

// A slot whose entry is null is a null itself.
Result<std::shared_ptr<arrow::Array>> WithoutNullEntries(const arrow::Array& array,
                                                         arrow::MemoryPool* pool) {
  const auto& typed = static_cast<const arrow::DictionaryArray&>(array);
  if (typed.dictionary()->null_count() == 0) return arrow::MakeArray(array.data());
  arrow::TypedBufferBuilder<bool> validity(pool);
  for (int64_t i = 0; i < typed.length(); ++i) {
    ARROW_RETURN_NOT_OK(
        validity.Append(typed.IsValid(i) && typed.dictionary()->IsValid(typed.GetValueIndex(i))));
  }
  ARROW_ASSIGN_OR_RAISE(auto bits, validity.Finish());
  const std::shared_ptr<arrow::ArrayData> data = array.data()->Copy();
  const std::shared_ptr<arrow::ArrayData> indices = typed.indices()->data()->Copy();
  // The bits begin with this slice, the indices do not.
  data->buffers[1] =
      arrow::SliceBuffer(data->buffers[1], data->offset * indices->type->byte_width());
  data->offset = 0;
  data->buffers[0] = std::move(bits);
  data->null_count = arrow::kUnknownNullCount;
  return arrow::MakeArray(data);
}

Result<std::shared_ptr<arrow::Array>> ConvertLeaf(const Field& field, const arrow::Array& array,
                                                  const std::string& path,
                                                  arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(CheckFully(array, path));
  if (array.type_id() == arrow::Type::DICTIONARY) return WithoutNullEntries(array, pool);
  if (field.logical_type == kJson) {
    switch (array.type_id()) {
      case arrow::Type::STRING:
        return EncodeJson<arrow::StringArray>(array, path, pool);
      case arrow::Type::LARGE_STRING:
        return EncodeJson<arrow::LargeStringArray>(array, path, pool);
      default:
        return EncodeJson<arrow::StringViewArray>(array, path, pool);
    }
  }
  if (array.type_id() == arrow::Type::STRING_VIEW) {
    return Copy<arrow::StringViewArray>(array, arrow::StringBuilder(pool));
  }
  return Copy<arrow::BinaryViewArray>(array, arrow::BinaryBuilder(pool));
}

Result<std::shared_ptr<arrow::DataType>> WithFields(const arrow::DataType& type,
                                                    arrow::FieldVector fields) {
  switch (type.id()) {
    case arrow::Type::STRUCT:
      return arrow::struct_(std::move(fields));
    case arrow::Type::LARGE_LIST:
      return arrow::large_list(std::move(fields[0]));
    case arrow::Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(std::move(fields[0]),
                                    static_cast<const arrow::FixedSizeListType&>(type).list_size());
    default:
      // A map lies in the file as a list. Arrow takes no map with nulls in its entries, not even
      // where nothing reaches them.
      return arrow::list(std::move(fields[0]));
  }
}

// `items` with nulls in addition where the bits of `reached` are 0.
Result<std::shared_ptr<arrow::Array>> WithNulls(const std::shared_ptr<arrow::Array>& items,
                                                const std::shared_ptr<arrow::Buffer>& reached,
                                                arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(
      const auto around,
      arrow::StructArray::Make({items}, {arrow::field("", items->type())}, reached));
  return around->GetFlattenedField(0, pool);
}

// Items from `first` on that the lists of an array reach: what lies under a null list is null.
template <typename Lists>
Result<std::shared_ptr<arrow::Array>> ReachedItems(const Lists& lists, int64_t first, int64_t count,
                                                   arrow::MemoryPool* pool) {
  std::shared_ptr<arrow::Array> items = lists.values()->Slice(first, count);
  std::shared_ptr<arrow::Buffer> reached;
  for (int64_t i = 0; i < lists.length(); ++i) {
    if (lists.IsValid(i) || lists.value_length(i) == 0) continue;
    if (reached == nullptr) {
      ARROW_ASSIGN_OR_RAISE(reached, arrow::AllocateEmptyBitmap(count, pool));
      arrow::bit_util::SetBitsTo(reached->mutable_data(), 0, count, true);
    }
    arrow::bit_util::SetBitsTo(reached->mutable_data(), lists.value_offset(i) - first,
                               lists.value_length(i), false);
  }
  return reached == nullptr ? items : WithNulls(items, reached, pool);
}

// An array of lists taken apart: offsets that count from the first item.
struct ListParts {
  std::shared_ptr<arrow::Buffer> offsets;
  std::shared_ptr<arrow::Array> items;
};

template <typename Lists>
Result<ListParts> TakeApart(const Lists& lists, const std::string& path, arrow::MemoryPool* pool) {
  using Offset = typename Lists::offset_type;
  ARROW_RETURN_NOT_OK(CheckOffsets(lists, lists.values()->length(), path));
  ListParts parts;
  const int64_t length = lists.length();
  ARROW_ASSIGN_OR_RAISE(
      parts.offsets,
      arrow::AllocateBuffer((length + 1) * static_cast<int64_t>(sizeof(Offset)), pool));
  auto* const offsets = reinterpret_cast<Offset*>(parts.offsets->mutable_data());
  offsets[0] = 0;
  // Without lists there need not be offsets.
  const Offset first = length == 0 ? 0 : lists.raw_value_offsets()[0];
  for (int64_t i = 0; i < length; ++i) offsets[i + 1] = lists.raw_value_offsets()[i + 1] - first;
  ARROW_ASSIGN_OR_RAISE(parts.items, ReachedItems(lists, first, offsets[length], pool));
  return parts;
}

Result<std::shared_ptr<arrow::Array>> Convert(const Field& field,
                                              std::shared_ptr<arrow::Array> array,
                                              const std::string& path, arrow::MemoryPool* pool);

// Converts the children of `array`, as far as its rows reach them.
Result<std::shared_ptr<arrow::Array>> ConvertNested(const Field& field, const arrow::Array& array,
                                                    const std::string& path,
                                                    arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto validity, ValidityFromBit0(array, pool));
  std::vector<std::shared_ptr<arrow::Buffer>> buffers = {std::move(validity)};
  arrow::ArrayVector children;
  switch (array.type_id()) {
    case arrow::Type::STRUCT: {
      const auto& structs = static_cast<const arrow::StructArray&>(array);
      for (int i = 0; i < structs.num_fields(); ++i) {
        children.push_back(structs.field(i));
        if (!NeedsWork(field.children[i], *children.back()->type())) continue;
        ARROW_ASSIGN_OR_RAISE(children.back(), structs.GetFlattenedField(i, pool));
      }
      break;
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& lists = static_cast<const arrow::FixedSizeListArray&>(array);
      const int64_t count = array.length() * lists.list_type()->list_size();
      ARROW_ASSIGN_OR_RAISE(children.emplace_back(),
                            ReachedItems(lists, lists.value_offset(0), count, pool));
      break;
    }
    default: {
      ARROW_ASSIGN_OR_RAISE(
          ListParts parts,
          array.type_id() == arrow::Type::LARGE_LIST
              ? TakeApart(static_cast<const arrow::LargeListArray&>(array), path, pool)
              : TakeApart(static_cast<const arrow::ListArray&>(array), path, pool));
      buffers.push_back(std::move(parts.offsets));
      children.push_back(std::move(parts.items));
    }
  }
  arrow::FieldVector fields = array.type()->fields();
  std::vector<std::shared_ptr<arrow::ArrayData>> child_data;
  for (size_t i = 0; i < children.size(); ++i) {
    const Field& child = field.children[i];
    ARROW_ASSIGN_OR_RAISE(const auto converted,
                          Convert(child, children[i], path + "." + child.name, pool));
    child_data.push_back(converted->data());
    fields[i] = fields[i]->WithType(converted->type());
  }
  ARROW_ASSIGN_OR_RAISE(auto type, WithFields(*array.type(), std::move(fields)));
  return arrow::MakeArray(arrow::ArrayData::Make(std::move(type), array.length(),
                                                 std::move(buffers), std::move(child_data),
                                                 array.null_count()));
}

Result<std::shared_ptr<arrow::Array>> Convert(const Field& field,
                                              std::shared_ptr<arrow::Array> array,
                                              const std::string& path, arrow::MemoryPool* pool) {
  array = StorageOf(std::move(array));
  if (!NeedsWork(field, *array->type())) return array;
  if (field.is_blob_v2()) {
    ARROW_RETURN_NOT_OK(CheckFully(*array, path));
    return PackBlobPlaces(*array, path, pool);
  }
  if (field.children.empty()) return ConvertLeaf(field, *array, path, pool);
  ARROW_ASSIGN_OR_RAISE(auto converted, ConvertNested(field, *array, path, pool));
  if (!field.is_packed()) return converted;
  ARROW_RETURN_NOT_OK(CheckFully(*converted, path));
  ARROW_ASSIGN_OR_RAISE(const std::vector<PackedField> packed, PackedFieldsOf(field, path));
  return PackRows(packed, static_cast<const arrow::StructArray&>(*converted), pool);
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> ToStoredArray(const Field& field,
                                                    const std::shared_ptr<arrow::Array>& array,
                                                    const std::string& path,
                                                    arrow::MemoryPool* pool) {
  if (!NeedsWork(field, *array->type())) return array;
  return Convert(field, array, path, pool);
}

}  // namespace lake::format
