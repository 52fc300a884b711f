#include "lake/format/row_check.h"

#include <limits>
#include <string_view>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>

#include "lake/base/utf8.h"
#include "lake/format/text_check.h"

namespace lake::format {
namespace {

Status CheckNoNulls(const arrow::Array& array, const arrow::StructArray* parent,
                    const std::string& path, uint64_t first_row) {
  if (array.null_count() == 0) return Status::OK();
  for (int64_t row = 0; row < array.length(); ++row) {
    if (array.IsValid(row) || (parent != nullptr && parent->IsNull(row))) continue;
    return Error(ErrorCode::kInvalidArgument,
                 "a null in a column that is declared without nulls: column '{}', row {}", path,
                 first_row + row);
  }
  return Status::OK();
}

template <typename Strings>
Status CheckStrings(const Strings& strings, bool is_text, const std::string& path,
                    uint64_t first_row) {
  using Offset = typename Strings::offset_type;
  if (strings.length() == 0) return Status::OK();
  const Offset* const offsets = strings.raw_value_offsets();
  const std::string_view bytes = strings.value_data() == nullptr
                                     ? std::string_view()
                                     : std::string_view(*strings.value_data());
  bool ascending = offsets[0] >= 0;
  uint64_t longest = 0;
  for (int64_t row = 0; row < strings.length(); ++row) {
    // Unsigned, because wrong offsets may be any numbers.
    const uint64_t length =
        static_cast<uint64_t>(offsets[row + 1]) - static_cast<uint64_t>(offsets[row]);
    ascending &= offsets[row + 1] >= offsets[row];
    longest = length > longest ? length : longest;
  }
  if (!ascending || static_cast<uint64_t>(offsets[strings.length()]) > bytes.size()) {
    return Error(ErrorCode::kInvalidArgument,
                 "strings of an Arrow array do not lie within its bytes: column '{}'", path);
  }
  // Longer values would not fit the offsets of a page.
  if (longest >= std::numeric_limits<int32_t>::max()) {
    int64_t row = 0;
    while (static_cast<uint64_t>(strings.value_length(row)) != longest) ++row;
    return Error(ErrorCode::kUnsupported,
                 "a value of 2 GiB or more is not written: column '{}', row {}, {} bytes", path,
                 first_row + row, longest);
  }
  if (!is_text || AllUtf8(offsets, static_cast<uint64_t>(strings.length()), bytes)) {
    return Status::OK();
  }
  // The bytes under nulls may be anything.
  for (int64_t row = 0; row < strings.length(); ++row) {
    if (strings.IsNull(row) || IsValidUtf8(strings.GetView(row))) continue;
    return Error(ErrorCode::kInvalidArgument,
                 "text that is not UTF-8 (store it in a binary column): column '{}', row {}", path,
                 first_row + row);
  }
  return Status::OK();
}

}  // namespace

Status CheckType(const Field& field, const arrow::DataType& type, const std::string& path) {
  const arrow::DataType* storage = &type;
  if (type.id() == arrow::Type::EXTENSION) {
    storage = static_cast<const arrow::ExtensionType&>(type).storage_type().get();
  }
  ARROW_ASSIGN_OR_RAISE(const std::string logical_type, LogicalType(*storage, path));
  bool equal = logical_type == field.logical_type &&
               (logical_type != "struct" ||
                storage->num_fields() == static_cast<int>(field.children.size()));
  for (size_t i = 0; equal && i < field.children.size(); ++i) {
    const arrow::Field& child = *storage->field(static_cast<int>(i));
    equal = child.name() == field.children[i].name;
    if (!equal) break;
    ARROW_RETURN_NOT_OK(CheckType(field.children[i], *child.type(), path + "." + child.name()));
  }
  if (equal) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "rows do not have the type of the file's column: column '{}', file {}, rows {}",
               path, field.logical_type, type.ToString());
}

Status CheckRows(const arrow::Array& array, const arrow::StructArray* parent, bool nullable,
                 const std::string& path, uint64_t first_row) {
  const Status well_formed = array.Validate();
  if (!well_formed.ok()) {
    return Error(ErrorCode::kInvalidArgument, "an Arrow array is not well-formed: column '{}': {}",
                 path, well_formed.message());
  }
  if (!nullable) ARROW_RETURN_NOT_OK(CheckNoNulls(array, parent, path, first_row));
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return CheckStrings(static_cast<const arrow::BinaryArray&>(array),
                          array.type_id() == arrow::Type::STRING, path, first_row);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return CheckStrings(static_cast<const arrow::LargeBinaryArray&>(array),
                          array.type_id() == arrow::Type::LARGE_STRING, path, first_row);
    default:
      return Status::OK();
  }
}

}  // namespace lake::format
