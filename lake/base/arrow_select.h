#pragma once

#include <memory>

#include "lake/base/error.h"

namespace arrow {
class Array;
class BooleanArray;
class MemoryPool;
class RecordBatch;
}  // namespace arrow

namespace lake {

/// Rows of Arrow arrays, chosen by place or by mask. All of lake chooses them here and not by
/// Arrow's own functions, which read fixed-size lists of fixed-size lists from the wrong place if
/// the array is a slice (Arrow 26.0.1). Thread-safe.

/// The values at `places`, an array of integers below the length of `values`; null at null places.
Result<std::shared_ptr<arrow::Array>> TakeValues(const std::shared_ptr<arrow::Array>& values,
                                                 const std::shared_ptr<arrow::Array>& places,
                                                 arrow::MemoryPool* pool);

/// The rows of `batch` whose bit in `mask`, of as many rows, is true; not those of null bits.
Result<std::shared_ptr<arrow::RecordBatch>> FilterRows(
    const std::shared_ptr<arrow::RecordBatch>& batch,
    const std::shared_ptr<arrow::BooleanArray>& mask, arrow::MemoryPool* pool);

}  // namespace lake
