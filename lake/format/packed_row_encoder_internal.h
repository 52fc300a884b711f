#pragma once

#include <vector>

#include "lake/base/error.h"
#include "lake/format/full_zip_encoder_internal.h"
#include "lake/format/leaf_encoding.h"
#include "lake/format/level_encoder_internal.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// Rows of a packed struct (the values of `page`) that have not all the same size, as a full-zip
/// page: strings compressed as `options`, one for each field, ask for, and the validity of list
/// items only where some are null.
Result<FullZipPage> EncodePackedRows(const std::vector<PackedField>& fields,
                                     const std::vector<LeafEncoding>& options, const PageData& page,
                                     const PageLevels& levels);

}  // namespace lake::format
