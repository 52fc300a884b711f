#pragma once

#include "lake/base/error.h"
#include "lake/format/byte_buffer.h"
#include "lake/format/dictionary_builder.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/leaf_encoding.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// Encodes the entries of `dictionary` as one block: bit-packed integers where that pays, else the
/// plain values compressed as `options` say, by default under LZ4 (or plain, where that is not
/// smaller). Version 2.1 knows plain values only.
Result<ByteBuffer> EncodeDictionaryBlock(const ValueShape& type, const Dictionary& dictionary,
                                         const LeafEncoding& options,
                                         pb::CompressiveEncoding* encoding);

}  // namespace lake::format
