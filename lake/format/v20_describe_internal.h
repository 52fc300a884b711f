#pragma once

#include "lake/format/inspect.h"
#include "lake/format/v20_column_internal.h"

namespace lake::format {

/// Says in words what the metadata of a page of a 2.0 file says. Any message passes, also one that
/// no reader would take.
PageDescription DescribeV20Page(const V20Page& page);

}  // namespace lake::format
