// Covers: lake/format/jsonb.cc
// Covers: lake/format/jsonb_encoder.cc
#include <cstddef>
#include <cstdint>

#include "lake/format/testing/decoder_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::format::DecodeJsonbInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
