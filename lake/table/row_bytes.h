#pragma once

#include <cstddef>
#include <cstdint>

#include <arrow/type_fwd.h>

#include "lake/base/context.h"

namespace lake::table {

// How many rows are read at once, wherever rows are read in pieces: as many as a bound of bytes
// holds of rows of their size. Sizes are estimates, good to some factor; all of them saturate.

/// Bytes that one read may take: a sixteenth of the memory budget, shared by `threads`, and `most`
/// at most.
uint64_t BytesPerRead(const Context& context, uint64_t most, size_t threads = 1);

/// Rows of `row_bytes` that `bytes` hold: 1 to `most`.
uint64_t RowsPerRead(uint64_t bytes, uint64_t row_bytes, uint64_t most);

/// About the bytes that a row of `fields` takes in memory: what their types say and, where one has
/// no width of its own, what `file_bytes` hold for each of `rows`. 1 to 2^50.
uint64_t RowBytes(const arrow::FieldVector& fields, uint64_t file_bytes, uint64_t rows);

/// True if RowBytes of the fields depends on what the files hold.
bool HasVariableWidth(const arrow::FieldVector& fields);

}  // namespace lake::table
