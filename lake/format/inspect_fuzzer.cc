// Covers: lake/format/inspect.cc
// Covers: lake/format/inspect_output.cc
// Covers: lake/format/describe_page_internal.cc
// Covers: lake/format/v20_describe_internal.cc
#include <cstddef>
#include <cstdint>

#include "lake/format/testing/file_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::format::DecodeInspectInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
