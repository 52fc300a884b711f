// Covers: lake/table/deletion_vector.cc lake/table/deletion_bitmap.cc
//
// The first byte chooses the form and the size of the fragment, the rest is the file.

#include <cstdlib>
#include <string>

#include "lake/table/deletion_vector.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using lake::table::DeletionVector;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const uint64_t physical_rows = (data[0] & 2) != 0 ? 100 : 300'000;
  lake::Result<DeletionVector> vector =
      (data[0] & 1) != 0
          ? DeletionVector::FromBitmap(bytes, physical_rows, "fuzzed")
          : DeletionVector::FromArrowFile(lake::Context(), bytes, physical_rows, "fuzzed");
  if (!vector.ok()) return 0;
  const lake::format::RowSelection survivors = vector->Survivors(0, physical_rows);
  if (survivors.num_rows() + vector->num_deleted() != physical_rows) std::abort();
  for (const lake::format::RowRange& range : survivors.ranges()) {
    if (vector->Contains(range.start) || vector->Contains(range.end() - 1)) std::abort();
  }
  return 0;
}
