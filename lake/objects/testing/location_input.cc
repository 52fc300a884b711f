#include "lake/objects/testing/location_input.h"

#include <cstdlib>
#include <string>

#include "lake/objects/containment.h"
#include "lake/objects/data_location.h"
#include "lake/objects/file_uri.h"

namespace lake::objects {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

void DecodeLocationInput(std::string_view bytes) {
  const std::string stage = "file:///lake/managed-objects";
  const std::string text(bytes);

  lake::Result<std::string> path = PathFromFileUri(text);
  if (path.ok()) {
    Require(path->front() == '/' && path->find('\0') == std::string::npos);
    std::string canonical = FileUriFromPath(*path);
    Require(PathFromFileUri(canonical).ValueOrDie() == *path);
  }
  // The same bytes behind the stage's prefix reach the checks of tenant and name.
  for (const std::string& uri : {text, stage + text, stage + "/tenants/default/" + text}) {
    lake::Result<std::string> name = ObjectNameInStage(stage, "default", uri);
    if (name.ok()) Require(stage + "/tenants/default/" + *name == uri);
  }
  for (char c : RedactedUri(text)) Require(c >= 0x20 && c < 0x7F);
  (void)CheckSha256(text);
  (void)CheckContentType(text);
  (void)CheckTenant(text);
}

}  // namespace lake::objects
