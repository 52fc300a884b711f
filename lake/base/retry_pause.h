#pragma once

#include "lake/base/context.h"

namespace lake {

/// Sleeps before what lost against others for the `lost`-th time (from 1) is tried again: a random
/// time of up to 4 ms, twice as long each time, half a second at most.
void PauseBeforeRetry(const Context& context, int lost);

}  // namespace lake
