#pragma once

#include "lake/format/column_metadata_internal.h"
#include "lake/format/inspect.h"

namespace lake::format {

/// Says in words what the metadata of a page says. Any message passes, also one that no reader
/// would take.
PageDescription DescribePage(const PageMetadata& page);

}  // namespace lake::format
