#include <string>

#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "lake/format/file_writer.h"

namespace lake::format {
namespace {

bool IsNumber(arrow::Type::type id) {
  return arrow::is_integer(id) || id == arrow::Type::FLOAT || id == arrow::Type::DOUBLE;
}

bool IsWrittenLeaf(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION:
      return true;
    case arrow::Type::FIXED_SIZE_BINARY:
      return static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width() > 0;
    case arrow::Type::FIXED_SIZE_LIST:
      return IsNumber(type.field(0)->type()->id());
    default:
      return IsNumber(type.id()) || arrow::is_base_binary_like(type.id());
  }
}

Status Refuse(const Field& field, const std::string& path) {
  return Error(ErrorCode::kUnsupported,
               "a column of this type is not written: column '{}', type {}{}", path,
               field.is_packed() ? "packed " : "", field.logical_type);
}

Status CheckField(const Field& field, const std::string& path, bool in_struct) {
  if (field.is_packed() || field.is_blob_v1() || field.is_blob_v2()) return Refuse(field, path);
  const auto extension = field.metadata.find(kExtensionNameKey);
  if (extension != field.metadata.end() && extension->second.starts_with("lance.")) {
    return Refuse(field, path);
  }
  if (field.logical_type == "struct") {
    if (in_struct || field.children.empty()) return Refuse(field, path);
    for (const Field& child : field.children) {
      ARROW_RETURN_NOT_OK(CheckField(child, path + "." + child.name, true));
    }
    return Status::OK();
  }
  if (!field.children.empty()) return Refuse(field, path);
  ARROW_ASSIGN_OR_RAISE(const auto arrow_field, ToArrow(field));
  return IsWrittenLeaf(*arrow_field->type()) ? Status::OK() : Refuse(field, path);
}

}  // namespace

Status CheckWritable(const Schema& schema) {
  for (const Field& field : schema.fields) {
    ARROW_RETURN_NOT_OK(CheckField(field, field.name, false));
  }
  return Status::OK();
}

}  // namespace lake::format
