#include "lake/format/row_check.h"

#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>

#include "lake/base/utf8.h"
#include "lake/format/blob.h"
#include "lake/format/dictionary_merger.h"
#include "lake/format/text_check.h"

namespace lake::format {
namespace {

Status NullError(const std::string& path, uint64_t row) {
  return Error(ErrorCode::kInvalidArgument,
               "a null in a column that is declared without nulls: column '{}', row {}", path, row);
}

Status CheckAllValid(const LeafPath& path, const LeafRows& rows, uint64_t first_row) {
  bool any = false;
  for (size_t step = 0; step <= path.steps.size(); ++step)
    any |= rows.array(step).null_count() != 0;
  if (!any) return Status::OK();
  const RowLevels levels = rows.Build(0, rows.num_rows());
  for (size_t i = 0; i < levels.states.size(); ++i) {
    if (levels.states[i] == PageData::kValid) continue;
    return Error(ErrorCode::kUnsupported,
                 "nulls of or around a struct without fields are not written: column '{}', row {}",
                 path.path, first_row + i / static_cast<size_t>(path.slots_per_row));
  }
  return Status::OK();
}

// Finds a null of any field that has none. Levels tell: a null below another one is the other's.
Status CheckNoNulls(const LeafPath& path, const LeafRows& rows, uint64_t first_row) {
  std::array<const std::string*, 256> forbidden{};
  bool any = false;
  for (size_t step = 0; step <= path.steps.size(); ++step) {
    const bool is_leaf = step == path.steps.size();
    if (is_leaf ? path.field->nullable : path.steps[step].nullable) continue;
    forbidden[path.levels.null_code(path.steps.size() - step)] =
        is_leaf ? &path.path : &path.steps[step].path;
    any |= rows.array(step).null_count() != 0;
  }
  if (!any) return Status::OK();
  const RowLevels levels = rows.Build(0, rows.num_rows());
  const std::vector<uint8_t>& codes = levels.codes.empty() ? levels.states : levels.codes;
  int64_t row = -1;
  for (size_t i = 0; i < codes.size(); ++i) {
    row += levels.codes.empty() || levels.repetitions[i] == path.levels.num_lists();
    if (forbidden[codes[i]] == nullptr) continue;
    return NullError(*forbidden[codes[i]], first_row + row / path.slots_per_row);
  }
  return Status::OK();
}

template <typename Offset>
bool Ascend(const Offset* offsets, int64_t count, int64_t most) {
  bool ascending = offsets[0] >= 0;
  for (int64_t i = 0; i < count; ++i) ascending &= offsets[i + 1] >= offsets[i];
  return ascending && offsets[count] <= most;
}

// Lists whose items do not lie one behind the other would be read outside of the items.
Status CheckLists(const LeafPath& path, const LeafRows& rows) {
  for (size_t step = 0; step < path.steps.size(); ++step) {
    if (path.steps[step].kind != PathStep::Kind::kList) continue;
    ARROW_RETURN_NOT_OK(
        CheckOffsets(rows.array(step), rows.array(step + 1).length(), path.steps[step].path));
  }
  return Status::OK();
}

// Text that is not UTF-8 is an error only where there is a value: the bytes under nulls may be
// anything.
template <typename Strings>
Status CheckText(const LeafPath& path, const LeafRows& rows, const Strings& strings,
                 uint64_t first_row) {
  const RowLevels levels = rows.Build(0, rows.num_rows());
  size_t value = 0;
  for (const RowLevels::Range& range : levels.ranges) {
    for (int64_t i = range.start; i < range.start + range.count; ++i, ++value) {
      if (!levels.states.empty() && levels.states[value] != PageData::kValid) continue;
      if (IsValidUtf8(strings.GetView(i))) continue;
      return Error(ErrorCode::kInvalidArgument,
                   "text that is not UTF-8 (store it in a binary column): column '{}', row {}",
                   path.path, first_row + RowOf(rows, i));
    }
  }
  return Status::OK();
}

template <typename Strings>
Status CheckStrings(const LeafPath& path, const LeafRows& rows, uint64_t first_row) {
  using Offset = typename Strings::offset_type;
  const auto& strings = static_cast<const Strings&>(rows.leaf());
  if (strings.length() == 0) return Status::OK();
  const RowLevels::Range range = rows.LeafRange(0, rows.num_rows());
  const Offset* const offsets = strings.raw_value_offsets() + range.start;
  const std::string_view bytes = strings.value_data() == nullptr
                                     ? std::string_view()
                                     : std::string_view(*strings.value_data());
  if (!Ascend(offsets, range.count, static_cast<int64_t>(bytes.size()))) {
    return Error(ErrorCode::kInvalidArgument,
                 "strings of an Arrow array do not lie within its bytes: column '{}'", path.path);
  }
  // Longer values would not fit the offsets of a page.
  for (int64_t i = 0; sizeof(Offset) > sizeof(int32_t) && i < range.count; ++i) {
    if (offsets[i + 1] - offsets[i] < std::numeric_limits<int32_t>::max()) continue;
    return Error(ErrorCode::kUnsupported,
                 "a value of 2 GiB or more is not written: column '{}', row {}, {} bytes",
                 path.path, first_row + RowOf(rows, range.start + i), offsets[i + 1] - offsets[i]);
  }
  if (!path.shape.is_text || AllUtf8(offsets, static_cast<uint64_t>(range.count), bytes)) {
    return Status::OK();
  }
  return CheckText(path, rows, strings, first_row);
}

}  // namespace

int64_t RowOf(const LeafRows& rows, int64_t slot) {
  int64_t low = 0;
  int64_t high = rows.num_rows() - 1;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (rows.LeafRange(middle, middle).start <= slot) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

Status CheckType(const Field& field, const arrow::DataType& type, const std::string& path) {
  const arrow::DataType* storage = &type;
  if (type.id() == arrow::Type::EXTENSION) {
    storage = static_cast<const arrow::ExtensionType&>(type).storage_type().get();
  }
  if (field.is_blob_v2()) {
    if (storage->Equals(*BlobPlaceType())) return Status::OK();
    return Error(ErrorCode::kInvalidArgument,
                 "rows do not tell where blobs lie: column '{}', rows {}", path, type.ToString());
  }
  ARROW_ASSIGN_OR_RAISE(std::string logical_type, LogicalType(*storage, path));
  // Text is converted.
  if (field.logical_type == "json" && logical_type.ends_with("string")) logical_type = "json";
  const bool has_children = HasChildFields(field.logical_type);
  bool equal = logical_type == field.logical_type &&
               (!has_children || storage->num_fields() == static_cast<int>(field.children.size()));
  for (size_t i = 0; has_children && equal && i < field.children.size(); ++i) {
    const arrow::Field& child = *storage->field(static_cast<int>(i));
    const Field& expected = field.children[i];
    equal = field.logical_type != "struct" || child.name() == expected.name;
    if (!equal) break;
    ARROW_RETURN_NOT_OK(CheckType(expected, *child.type(), path + "." + expected.name));
  }
  if (equal) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "rows do not have the type of the file's column: column '{}', file {}, rows {}",
               path, field.logical_type, type.ToString());
}

Status CheckColumn(const arrow::Array& column, const std::string& path) {
  const Status well_formed = column.Validate();
  if (well_formed.ok()) return well_formed;
  return Error(ErrorCode::kInvalidArgument, "an Arrow array is not well-formed: column '{}': {}",
               path, well_formed.message());
}

Status CheckOffsets(const arrow::Array& array, int64_t num_items, const std::string& path) {
  if (array.length() == 0) return Status::OK();
  const bool ascend =
      array.type_id() == arrow::Type::LARGE_LIST
          ? Ascend(static_cast<const arrow::LargeListArray&>(array).raw_value_offsets(),
                   array.length(), num_items)
          : Ascend(static_cast<const arrow::ListArray&>(array).raw_value_offsets(), array.length(),
                   num_items);
  if (ascend) return Status::OK();
  return Error(ErrorCode::kInvalidArgument,
               "lists of an Arrow array do not lie within its items: column '{}'", path);
}

Status CheckLeaf(const LeafPath& path, const LeafRows& rows, uint64_t first_row) {
  ARROW_RETURN_NOT_OK(CheckLists(path, rows));
  ARROW_RETURN_NOT_OK(CheckNoNulls(path, rows, first_row));
  if (path.shape.kind == ValueShape::Kind::kVariable) {
    return path.shape.offset_bits == 32
               ? CheckStrings<arrow::BinaryArray>(path, rows, first_row)
               : CheckStrings<arrow::LargeBinaryArray>(path, rows, first_row);
  }
  if (path.shape.entries && rows.num_rows() != 0) {
    const uint64_t bytes = DictionaryBytes(rows.leaf(), *path.shape.entries);
    if (bytes >= kMostDictionaryBytes) {
      return Error(ErrorCode::kUnsupported,
                   "a dictionary of 2 GiB or more is not written: column '{}', {} bytes", path.path,
                   bytes);
    }
  }
  // A struct without fields has nothing that could say which rows are null, nor which around it:
  // upstream reads none.
  if (rows.leaf().type_id() == arrow::Type::STRUCT) return CheckAllValid(path, rows, first_row);
  return Status::OK();
}

}  // namespace lake::format
