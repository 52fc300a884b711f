#pragma once

#include <vector>

#include "lake/base/error.h"
#include "lake/format/byte_buffer.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/leaf_encoding.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// A page ready to be written: its buffers, in the order that the layout gives them a meaning.
struct EncodedPage {
  pb::PageLayout layout;
  std::vector<ByteBuffer> buffers;
};

/// Chooses layout and encodings of a page by what its values look like and what `options` ask for,
/// and encodes it. docs/format/writing.md says what is chosen when, and why. kUnsupported for a row
/// with more levels than any layout of its type holds. REQUIRES: page.num_rows > 0. May throw
/// std::bad_alloc.
Result<EncodedPage> EncodePage(const ValueShape& shape, const LevelShape& level_shape,
                               const LeafEncoding& options, PageData page);

}  // namespace lake::format
