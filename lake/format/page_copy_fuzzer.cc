// Covers: lake/format/page_copy.cc
#include <cstddef>
#include <cstdint>

#include "lake/format/testing/file_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::format::DecodePageCopyInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
