#pragma once

#include <cstdint>
#include <string>

#include "lake/base/error.h"
#include "lake/format/leaf_path.h"
#include "lake/format/row_levels.h"
#include "lake/format/schema.h"

namespace arrow {
class Array;
class DataType;
}  // namespace arrow

namespace lake::format {

/// kInvalidArgument, naming `path`, unless arrays of `type` hold what `field` says. Names and
/// nullability of list items do not matter, extension types count as their storage.
Status CheckType(const Field& field, const arrow::DataType& type, const std::string& path);

/// Looks at a column that somebody else made before it is written. kInvalidArgument for an array
/// that is not well-formed.
Status CheckColumn(const arrow::Array& column, const std::string& path);

/// kInvalidArgument, naming `path`, unless the lists of `array`, not of fixed size, lie one behind
/// the other within `num_items` items.
Status CheckOffsets(const arrow::Array& array, int64_t num_items, const std::string& path);
/// The row that slot `slot` of the leaf's array belongs to.
int64_t RowOf(const LeafRows& rows, int64_t slot);

/// Looks at one leaf of a column for which CheckColumn is OK. kInvalidArgument, naming column and
/// row, for a null where the schema has none (except below a null further out) and for text that is
/// not UTF-8; without row where lists or strings do not lie within their items or bytes;
/// kUnsupported for a value, or a dictionary, of 2 GiB or more.
Status CheckLeaf(const LeafPath& path, const LeafRows& rows, uint64_t first_row);

}  // namespace lake::format
