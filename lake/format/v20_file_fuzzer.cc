// Covers: lake/format/v20_column_internal.cc
// Covers: lake/format/v20_concatenate_internal.cc
// Covers: lake/format/v20_read_call_internal.cc
// Covers: lake/format/v20_reader_internal.cc
#include <cstddef>
#include <cstdint>

#include "lake/format/testing/decoder_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::format::DecodeFileInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
