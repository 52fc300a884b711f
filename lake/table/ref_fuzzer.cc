// Covers: lake/table/ref_files.cc
#include <cstddef>
#include <cstdint>

#include "lake/table/testing/table_inputs_internal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::table::DecodeRefInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
