// Covers: lake/table/transaction.cc
// Covers: lake/table/conflict.cc
// Covers: lake/table/find_operation.cc
#include <cstddef>
#include <cstdint>

#include "lake/table/testing/table_inputs_internal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::table::DecodeTransactionInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
