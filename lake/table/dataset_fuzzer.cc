// Covers: lake/table/verify_version.cc
// Covers: lake/table/verify_ids.cc
// Covers: lake/table/diff.cc
// Covers: lake/table/version_list.cc
// Covers: lake/table/clone.cc
// Covers: lake/table/compaction_plan.cc
#include <cstddef>
#include <cstdint>

#include "lake/table/testing/table_inputs_internal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lake::table::DecodeDatasetInput({reinterpret_cast<const char*>(data), size});
  return 0;
}
