// Covers: lake/objects/file_uri.cc
// Covers: lake/objects/containment.cc
#include <cstddef>
#include <cstdint>

#include "lake/objects/testing/location_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::objects::DecodeLocationInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
