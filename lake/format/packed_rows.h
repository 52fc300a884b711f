#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/leaf_path.h"
#include "lake/format/page_data.h"
#include "lake/format/row_levels.h"
#include "lake/format/schema.h"

namespace arrow {
class Array;
class MemoryPool;
class StructArray;
}  // namespace arrow

namespace lake::format {

/// The fields of a packed struct, as its rows hold them. kUnsupported, naming `path`, for a field
/// of a type that is not packed: rows are made of whole bytes, and nothing in them is null.
Result<std::vector<PackedField>> PackedFieldsOf(const Field& field, const std::string& path);

/// The form of a column of such rows.
ValueShape PackedShape(std::vector<PackedField> fields);

/// `structs` as values of PackedShape(fields): the fields of a row one behind the other. Null
/// structs stay null. REQUIRES: a well-formed array of the fields' types. May throw std::bad_alloc.
Result<std::shared_ptr<arrow::Array>> PackRows(const std::vector<PackedField>& fields,
                                               const arrow::StructArray& structs,
                                               arrow::MemoryPool* pool);

/// kInvalidArgument, by column and row, for a struct that is there with a field that is null:
/// packed rows cannot say so. `rows` lead to the struct as it was given.
Status CheckPackedRows(const LeafPath& path, const LeafRows& rows, uint64_t first_row);

}  // namespace lake::format
