#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lake/base/error.h"
#include "lake/format/byte_buffer.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/general_compression.h"

namespace lake::format {

/// A general codec with a level, for writing.
struct Compressor {
  GeneralCodec codec = GeneralCodec::kLz4;
  std::optional<int> level;

  /// Appends `plain` compressed, its size in front, as readers of either codec expect it
  /// (docs/format/encodings.md#general). kUnsupported for more than the codec can take.
  Status Append(std::span<const uint8_t> plain, ByteBuffer* out) const;

  void Describe(pb::BufferCompression* compression) const;
};

}  // namespace lake::format
