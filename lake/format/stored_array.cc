#include "lake/format/stored_array.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/buffer_builder.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>

#include "lake/format/jsonb.h"

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
  if (field.logical_type == kJson || IsView(type) || type.id() == arrow::Type::DICTIONARY) {
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
    case arrow::Type::MAP:
      return arrow::MapType::Make(std::move(fields[0]));
    default:
      return arrow::list(std::move(fields[0]));
  }
}

Result<std::shared_ptr<arrow::Array>> Convert(const Field& field,
                                              std::shared_ptr<arrow::Array> array,
                                              const std::string& path, arrow::MemoryPool* pool) {
  while (array->type_id() == arrow::Type::EXTENSION) {
    array = static_cast<const arrow::ExtensionArray&>(*array).storage();
  }
  if (!NeedsWork(field, *array->type())) return array;
  if (field.children.empty()) return ConvertLeaf(field, *array, path, pool);
  // Children are taken as they lie, with what a slice leaves out: offsets stay right so.
  const std::shared_ptr<arrow::ArrayData> data = array->data()->Copy();
  arrow::FieldVector fields = data->type->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field& child = field.children[i];
    ARROW_ASSIGN_OR_RAISE(
        const auto converted,
        Convert(child, arrow::MakeArray(data->child_data[i]), path + "." + child.name, pool));
    data->child_data[i] = converted->data();
    fields[i] = fields[i]->WithType(converted->type());
  }
  ARROW_ASSIGN_OR_RAISE(data->type, WithFields(*data->type, std::move(fields)));
  return arrow::MakeArray(data);
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
