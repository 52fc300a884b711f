#pragma once

#include "lake/base/context.h"

namespace lake {

/// `context` without cancellation and deadline: for what must be settled once it has begun.
Context SettlingContext(const Context& context);

}  // namespace lake
