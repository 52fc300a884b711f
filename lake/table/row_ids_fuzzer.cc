// Covers: lake/table/row_id_sequence.cc
//
// The first byte chooses the kind of sequence and the size of the fragment, the rest is the
// message.

#include <cstdlib>
#include <string>

#include "lake/table/row_id_sequence.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lake::table;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const uint64_t rows = (data[0] & 2) != 0 ? 100 : 30'000;
  if ((data[0] & 1) != 0) {
    auto versions = RowVersionSequence::Decode(bytes, rows, "fuzzed");
    if (!versions.ok()) return 0;
    Require(versions->size() <= rows);
    auto again = RowVersionSequence::Decode(versions->Encode(), rows, "encoded");
    Require(again.ok() && *again == *versions);
    return 0;
  }
  auto ids = RowIdSequence::Decode(bytes, rows, "fuzzed");
  if (!ids.ok()) return 0;
  Require(ids->size() <= rows);
  auto again = RowIdSequence::Decode(ids->Encode(), rows, "encoded");
  Require(again.ok());
  Require(*again == *ids);
  Require(ids->Select(lake::format::RowSelection(0, ids->size())) == *ids);
  return 0;
}
