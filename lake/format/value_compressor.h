#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lake/base/error.h"
#include "lake/format/byte_buffer.h"

namespace lake::format {

/// Values of a page are compressed one by one if the longest is longer than this.
inline constexpr size_t kCompressedValueBytes = 32 * 1024;

/// Values with each its own u64 uncompressed size and zstd frame.
struct CompressedValues {
  ByteBuffer bytes;
  /// count + 1 u32 offsets into `bytes`.
  ByteBuffer offsets;
};

/// Compresses each value (count + 1 `offsets` into `bytes`). Nothing where a sample says that it
/// would not pay: images and videos do not shrink.
Result<std::optional<CompressedValues>> CompressValues(std::span<const uint32_t> offsets,
                                                       std::span<const uint8_t> bytes);

}  // namespace lake::format
