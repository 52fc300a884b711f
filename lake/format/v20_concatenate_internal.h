#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "lake/base/error.h"

namespace lake::format {

/// The arrays of one column's pages in one. Dictionaries of pages become one dictionary.
/// kInvalidArgument where 32-bit offsets or the dictionary's keys do not suffice: read fewer rows
/// at once. REQUIRES: there is at least one, and all have the same type.
Result<std::shared_ptr<arrow::Array>> V20Concatenate(const arrow::ArrayVector& parts,
                                                     arrow::MemoryPool* pool);

}  // namespace lake::format
