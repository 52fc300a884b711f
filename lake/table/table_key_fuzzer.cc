// Covers: lake/table/manifest_name.cc
// Covers: lake/table/table_files.cc
#include <cstddef>
#include <cstdint>

#include "lake/table/testing/table_inputs_internal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::table::DecodeTableKeyInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
