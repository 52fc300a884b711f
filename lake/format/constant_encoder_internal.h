#pragma once

#include <optional>
#include <vector>

#include "lake/format/byte_buffer.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/level_encoder_internal.h"
#include "lake/format/page_data.h"
#include "lake/format/version.h"

namespace lake::format {

/// A page of one value, or of none.
struct ConstantPage {
  pb::ConstantLayout layout;
  std::vector<ByteBuffer> buffers;
};

/// The page if it has no valid value, or, from version 2.2 on, if all its valid values are equal
/// and this layout is not larger than another one: the levels of a page with a value cannot be
/// compressed here. Fixed-size lists and dictionary columns are constant only where no row is
/// valid.
std::optional<ConstantPage> EncodeConstant(const ValueShape& shape, const PageData& page,
                                           const PageLevels& levels, const FileVersion& version);

}  // namespace lake::format
