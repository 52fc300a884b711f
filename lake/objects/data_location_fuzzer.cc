// Any bytes as a location: parsing and the containment check stay in bounds, and what they accept
// has exactly one spelling.
//
// Covers: lake/objects/file_uri.cc lake/objects/containment.cc

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lake/objects/containment.h"
#include "lake/objects/data_location.h"
#include "lake/objects/file_uri.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string stage = "file:///lake/managed-objects";
  const std::string text(reinterpret_cast<const char*>(data), size);

  lake::Result<std::string> path = lake::objects::PathFromFileUri(text);
  if (path.ok()) {
    Require(path->front() == '/' && path->find('\0') == std::string::npos);
    std::string canonical = lake::objects::FileUriFromPath(*path);
    Require(lake::objects::PathFromFileUri(canonical).ValueOrDie() == *path);
  }
  // The same bytes behind the stage's prefix reach the checks of tenant and name.
  for (const std::string& uri : {text, stage + text, stage + "/tenants/default/" + text}) {
    lake::Result<std::string> name = lake::objects::ObjectNameInStage(stage, "default", uri);
    if (name.ok()) Require(stage + "/tenants/default/" + *name == uri);
  }
  for (char c : lake::objects::RedactedUri(text)) Require(c >= 0x20 && c < 0x7F);
  (void)lake::objects::CheckSha256(text);
  (void)lake::objects::CheckContentType(text);
  (void)lake::objects::CheckTenant(text);
  return 0;
}
