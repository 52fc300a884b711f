#pragma once

#include "lake/base/error.h"
#include "lake/format/byte_buffer.h"
#include "lake/format/dictionary_builder.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// Encodes the entries of `dictionary` as one block: bit-packed integers where that pays, else the
/// plain values under LZ4 (or without, where LZ4 makes it larger).
Result<ByteBuffer> EncodeDictionaryBlock(const ValueShape& type, const Dictionary& dictionary,
                                         pb::CompressiveEncoding* encoding);

}  // namespace lake::format
