#pragma once

#include <string>
#include <string_view>

#include "lake/base/error.h"

namespace lake::objects {

/// The name of the object that `uri` means in the stage of `tenant` under `stage_uri`: its last
/// segment, a UUIDv7. The URI must be spelled exactly as lake mints it, so that one object has one
/// URI. Anything else is kPermissionDenied, an `s3:` URI kUnsupported. No I/O; any input is safe.
Result<std::string> ObjectNameInStage(std::string_view stage_uri, std::string_view tenant,
                                      const std::string& uri);

/// kInvalidArgument unless `tenant` has 1 to 64 bytes of [A-Za-z0-9_-] with alphanumeric ends.
Status CheckTenant(const std::string& tenant);

}  // namespace lake::objects
