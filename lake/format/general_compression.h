#pragma once

#include <cstdint>
#include <string_view>

#include "lake/base/error.h"

namespace lake::format {

/// The general-purpose codecs that a buffer can be wrapped in.
enum class GeneralCodec { kLz4, kZstd };

/// The most bytes that a codec makes of one.
uint64_t MaxRatio(GeneralCodec codec);

/// A compressed buffer taken apart: what the codec reads, and how many bytes it makes.
struct CompressedBuffer {
  GeneralCodec codec = GeneralCodec::kLz4;
  std::string_view payload;
  uint64_t decoded_size = 0;

  /// Reads the size in front of the payload (docs/format/encodings.md, "General"). kCorrupt if the
  /// bytes are no such buffer, or claim to decode to more than `max_size` or than the codec could
  /// ever make of them.
  static Result<CompressedBuffer> Open(GeneralCodec codec, std::string_view bytes,
                                       uint64_t max_size);

  /// Decodes to `out`, which has room for decoded_size bytes. kCorrupt unless exactly as many come
  /// out.
  Status Decode(uint8_t* out) const;
};

}  // namespace lake::format
