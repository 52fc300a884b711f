// Covers: lake/table/manifest.cc
//
// Whatever decodes must also be explained, encode again to the same content, and take an append.

#include <cstdlib>
#include <string>

#include "lake/table/commit.h"
#include "lake/table/inspect.h"
#include "lake/table/manifest_build_internal.h"
#include "lake/table/manifest_internal.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lake::table;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto decoded = ManifestFile::Decode(bytes, "fuzzed");
  if (!decoded.ok()) return 0;
  const ManifestFile& manifest = **decoded;
  Require(!ToText(DescribeManifest(bytes, "fuzzed").ValueOrDie()).empty());
  if (!manifest.index_section().ok()) return 0;

  auto encoded = EncodeManifest(manifest.message(), *manifest.index_section(), "transaction");
  auto again = ManifestFile::Decode(encoded.ValueOrDie(), "encoded").ValueOrDie();
  Require(again->fragments().size() == manifest.fragments().size());
  Require(*again->index_section() == *manifest.index_section());
  Require(again->inline_transaction() == "transaction");

  Transaction append;
  append.operation = AppendOperation{manifest.fragments()};
  std::vector<Fragment>& fragments = std::get<AppendOperation>(append.operation).fragments;
  if (fragments.empty()) fragments.emplace_back();
  auto built = BuildManifest({.transaction = append,
                              .operation = append.operation,
                              .transaction_bytes = "t",
                              .now_nanos = 1,
                              .newest = &manifest});
  if (!built.ok()) return 0;
  auto appended = ManifestFile::Decode(*built, "appended");
  // The next version's number can be none.
  if (!appended.ok()) return 0;
  Require((*appended)->fragments().size() == manifest.fragments().size() + fragments.size());
  return 0;
}
