// Covers: lake/table/ref_files.cc
//
// The first byte chooses tag or branch, the rest is the file.

#include <cstdlib>
#include <string_view>

#include "lake/table/ref_files_internal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using lake::table::Branch;
  using lake::table::Tag;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1) != 0) {
    lake::Result<Tag> tag = lake::table::DecodeTag(bytes, "fuzzed", "key");
    if (!tag.ok()) return 0;
    lake::Result<Tag> again = lake::table::DecodeTag(lake::table::EncodeTag(*tag), "fuzzed", "key");
    if (!again.ok() || again->target != tag->target || again->metadata != tag->metadata) {
      std::abort();
    }
    return 0;
  }
  lake::Result<Branch> branch = lake::table::DecodeBranch(bytes, "fuzzed", "key");
  if (!branch.ok()) return 0;
  lake::Result<Branch> again =
      lake::table::DecodeBranch(lake::table::EncodeBranch(*branch), "fuzzed", "key");
  if (!again.ok() || again->parent != branch->parent || again->identifier != branch->identifier) {
    std::abort();
  }
  return 0;
}
