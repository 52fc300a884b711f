// Covers: lake/format/container.cc
// Covers: lake/format/file_directory.cc
// Covers: lake/format/file_reader.cc
// Covers: lake/format/read_call_internal.cc
#include <cstddef>
#include <cstdint>

#include "lake/format/testing/decoder_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::format::DecodeFileInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
