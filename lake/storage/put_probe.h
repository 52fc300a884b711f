#pragma once

#include <string>

#include "lake/storage/object_store.h"

namespace lake::storage {

/// Proves that `store` honours PutCondition::kIfAbsent: eight writers race for one fresh key below
/// `prefix` + "/", exactly one may win and its bytes must be the ones that stay. kUnsupported if
/// not: nothing may be committed there. The key is removed again.
Status ProbeConditionalPut(const Context& context, ObjectStore* store, const std::string& prefix);

}  // namespace lake::storage
