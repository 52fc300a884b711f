// Covers: lake/format/blob_decoder_internal.cc
#include <cstddef>
#include <cstdint>

#include "lake/format/testing/decoder_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::format::DecodePageInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
