#pragma once

#include <memory>
#include <string>

#include "lake/base/error.h"
#include "lake/format/schema.h"

namespace arrow {
class Array;
class MemoryPool;
}  // namespace arrow

namespace lake::format {

/// `array` in the form in which a file holds it: views as plain strings and binary, JSON text as
/// binary JSON, dictionaries without null entries, in maps that are lists then, packed structs as
/// rows of bytes, places of blobs packed, at any depth; `array` itself where there is nothing to
/// do. Only what its rows reach is looked at: what lies outside of a slice or under a null may be
/// anything. kInvalidArgument, naming `path`, for an array that is not well-formed and for text
/// that is no JSON. REQUIRES: CheckType(field, array->type()) and CheckColumn(*array).
Result<std::shared_ptr<arrow::Array>> ToStoredArray(const Field& field,
                                                    const std::shared_ptr<arrow::Array>& array,
                                                    const std::string& path,
                                                    arrow::MemoryPool* pool);

}  // namespace lake::format
