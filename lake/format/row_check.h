#pragma once

#include <cstdint>
#include <string>

#include "lake/base/error.h"
#include "lake/format/schema.h"

namespace arrow {
class Array;
class DataType;
class StructArray;
}  // namespace arrow

namespace lake::format {

/// kInvalidArgument, naming `path`, unless arrays of `type` hold what `field` says. Names and
/// nullability of list items do not matter, extension types count as their storage.
Status CheckType(const Field& field, const arrow::DataType& type, const std::string& path);

/// Looks at rows that somebody else made before they are written; `first_row` is the number of the
/// first one. kInvalidArgument, naming column and row, for a null where `nullable` says no (except
/// under a null of `parent`, which may be null itself) and for text that is not UTF-8; without row
/// for an array that is not well-formed; kUnsupported for a value of 2 GiB or more.
Status CheckRows(const arrow::Array& array, const arrow::StructArray* parent, bool nullable,
                 const std::string& path, uint64_t first_row);

}  // namespace lake::format
