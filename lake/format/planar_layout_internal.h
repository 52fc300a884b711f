#pragma once

#include "lake/base/error.h"
#include "lake/format/encodings.pb.h"

namespace lake::format {

/// The layout of 2.2 that a dense page of a 2.3 file has: only its description differs. A sparse
/// page becomes a SparseLayout, for descriptions. kUnsupported, by name, for any other page.
Result<pb::PageLayout> FromPlanar(const pb::PlanarLayout& planar);

}  // namespace lake::format
