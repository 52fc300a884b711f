// Covers: lake/format/v20_array_internal.cc
// Covers: lake/format/v20_binary_internal.cc
// Covers: lake/format/v20_dictionary_internal.cc
// Covers: lake/format/v20_ends_internal.cc
// Covers: lake/format/v20_fixed_internal.cc
// Covers: lake/format/v20_packed_internal.cc
#include <cstddef>
#include <cstdint>

#include "lake/format/testing/v20_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::format::DecodeV20PageInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
