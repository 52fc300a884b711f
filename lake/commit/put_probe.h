#pragma once

#include <string>

#include "lake/base/context.h"
#include "lake/storage/object_store.h"

namespace lake::commit {

/// Eight racing conditional puts to a fresh key below `prefix` must have exactly one winner; else
/// kUnsupported: on such a store two commits could both believe that they made a version. Removes
/// the key again.
Status ProbeConditionalPut(const Context& context, storage::ObjectStore* store,
                           const std::string& prefix);

}  // namespace lake::commit
