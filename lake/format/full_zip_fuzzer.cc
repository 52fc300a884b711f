// Covers: lake/format/full_zip_decoder_internal.cc
// Covers: lake/format/full_zip_fixed_decoder_internal.cc
// Covers: lake/format/full_zip_variable_decoder_internal.cc
// Covers: lake/format/packed_row_decoder_internal.cc
// Covers: lake/format/string_codec_internal.cc
#include <cstddef>
#include <cstdint>

#include "lake/format/testing/decoder_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::format::DecodePageInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
