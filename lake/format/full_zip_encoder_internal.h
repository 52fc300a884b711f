#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lake/base/error.h"
#include "lake/format/byte_buffer.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/level_encoder_internal.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// A page in full-zip layout: levels and value of each slot side by side.
struct FullZipPage {
  pb::FullZipLayout layout;
  std::vector<ByteBuffer> buffers;
};

/// Values of this many bytes and more are laid out so: each can be read alone.
inline constexpr size_t kFullZipBytes = 256;

/// Fixed-width values and fixed-size lists of whole bytes. Without levels and item nulls the values
/// themselves become the page, without a copy.
FullZipPage EncodeFullZipFixed(const ValueShape& shape, PageData* page, const PageLevels& levels);

/// Strings and binary as they go into the page: their own bytes, or what a codec made of each.
struct StoredText {
  /// One u32 more than values, into `bytes`.
  std::span<const uint32_t> offsets;
  std::span<const uint8_t> bytes;
};

/// Strings and binary, with an index of the rows' positions. The caller describes the values.
FullZipPage EncodeFullZipVariable(unsigned offset_bits, const StoredText& stored,
                                  const PageData& page, const PageLevels& levels);

}  // namespace lake::format
