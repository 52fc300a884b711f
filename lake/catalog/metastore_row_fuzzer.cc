// Covers: lake/catalog/sqlite_rows_internal.cc
#include <cstddef>
#include <cstdint>

#include "lake/catalog/testing/row_inputs_internal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::catalog::sqlite::DecodeRowInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
