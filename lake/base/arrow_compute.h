#pragma once

#include "lake/base/error.h"

namespace lake {

/// Registers Arrow's compute functions, once per process. Every path that calls one does this
/// first: without it they are "not registered". Cheap after the first call; thread-safe.
Status InitializeArrowCompute();

}  // namespace lake
