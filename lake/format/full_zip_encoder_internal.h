#pragma once

#include <vector>

#include "lake/base/error.h"
#include "lake/format/byte_buffer.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/level_encoder_internal.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// A page in full-zip layout: level and value of each row side by side.
struct FullZipPage {
  pb::FullZipLayout layout;
  std::vector<ByteBuffer> buffers;
};

/// Values of this many bytes and more are laid out so: each can be read alone.
inline constexpr size_t kFullZipBytes = 256;

/// Fixed-width values and fixed-size lists. Without levels and item nulls the values themselves
/// become the page, without a copy.
FullZipPage EncodeFullZipFixed(const ValueShape& type, PageData* page, const PageLevels& levels);

/// Strings and binary, with an index of the rows' positions. Text gets a symbol table, values of
/// more than 32 KiB are compressed one by one, each where it pays.
Result<FullZipPage> EncodeFullZipVariable(const ValueShape& type, const PageData& page,
                                          const PageLevels& levels);

}  // namespace lake::format
