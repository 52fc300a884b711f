// Covers: lake/format/schema.cc
// Covers: lake/format/schema_internal.cc
// Covers: lake/format/logical_type.cc
// Covers: lake/format/leaf_encoding.cc
// Covers: lake/format/version.cc
#include <cstddef>
#include <cstdint>

#include "lake/format/testing/file_inputs.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::format::DecodeSchemaInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
