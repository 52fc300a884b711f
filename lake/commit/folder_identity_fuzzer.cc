// Covers: lake/commit/folder_identity.cc
#include <cstddef>
#include <cstdint>

#include "lake/commit/testing/identity_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::commit::DecodeIdentityInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
