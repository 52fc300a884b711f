#include "lake/table/column_parts.h"

#include <algorithm>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/type.h>

#include "lake/format/array_access.h"

namespace lake::table {
namespace {

bool HoldsAny(const ColumnPart& part) {
  return std::any_of(part.columns.begin(), part.columns.end(), [](int c) { return c >= 0; });
}

// The parts of child number `child` of a struct.
std::vector<ColumnPart> PartsOfChild(const format::Field& field, size_t child,
                                     const std::vector<ColumnPart>& parts) {
  std::vector<ColumnPart> result;
  for (const ColumnPart& part : parts) {
    // In 2.0 the struct has a column of its own, in front of its children's.
    size_t at = part.version == format::kFileVersion20 ? 1 : 0;
    for (size_t i = 0; i < child; ++i) {
      at += format::Schema::ColumnIds(field.children[i], part.version).size();
    }
    const size_t count = format::Schema::ColumnIds(field.children[child], part.version).size();
    const auto& array = static_cast<const arrow::StructArray&>(*part.array);
    result.push_back({array.field(static_cast<int>(child)),
                      {part.columns.begin() + at, part.columns.begin() + at + count},
                      part.version});
  }
  return result;
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> JoinParts(const format::Field& field,
                                                const std::vector<ColumnPart>& parts,
                                                arrow::MemoryPool* pool) {
  std::vector<ColumnPart> holding;
  for (const ColumnPart& part : parts) {
    if (HoldsAny(part)) holding.push_back(part);
  }
  if (holding.empty()) return parts[0].array;
  if (holding.size() == 1) return holding[0].array;
  if (field.is_leaf() || parts[0].array->type_id() != arrow::Type::STRUCT) {
    return Error(ErrorCode::kUnsupported,
                 "parts of a list lie in several files of a fragment; compact the table: column "
                 "\"{}\"",
                 field.name);
  }
  const auto& first = holding[0].array;
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  for (size_t i = 0; i < field.children.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(const auto child,
                          JoinParts(field.children[i], PartsOfChild(field, i, holding), pool));
    children.push_back(child->data());
  }
  // The children begin where the rows do, and so must the validity.
  ARROW_ASSIGN_OR_RAISE(auto validity, format::ValidityFromBit0(*first, pool));
  return arrow::MakeArray(arrow::ArrayData::Make(first->type(), first->length(),
                                                 {std::move(validity)}, std::move(children),
                                                 first->null_count()));
}

}  // namespace lake::table
