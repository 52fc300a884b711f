// Covers: lake/format/mini_block_decoder_internal.cc
// Covers: lake/format/mini_block_values_internal.cc
// Covers: lake/format/dictionary_internal.cc
// Covers: lake/format/general_compression.cc
// Covers: lake/format/mini_block_state_internal.cc
// Covers: lake/format/level_scheme_internal.cc
// Covers: lake/format/nesting_builder.cc
// Covers: lake/format/page_decoder_internal.cc
#include <cstddef>
#include <cstdint>

#include "lake/format/testing/decoder_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::format::DecodePageInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
