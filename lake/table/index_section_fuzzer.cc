// Covers: lake/table/index_section.cc
#include <cstddef>
#include <cstdint>

#include "lake/table/testing/table_inputs_internal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::table::DecodeIndexSectionInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
