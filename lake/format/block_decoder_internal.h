#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <arrow/memory_pool.h>

#include "lake/base/error.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/general_compression.h"

namespace arrow {
class Buffer;
}

namespace lake::format {

/// Decoders of the *block* context: an encoding whose values all lie in one buffer (levels,
/// dictionaries). All check every size before use and name the reason; the caller adds file, column
/// and page.

/// Values [from, from + count) of a block of `total` words of `bits` bits (16 for levels) to `out`,
/// which has room for count * bits / 8 bytes. `bits` is a multiple of 8. Scratch memory comes from
/// `pool`.
Status DecodeFixedBlock(const pb::CompressiveEncoding& encoding, std::string_view bytes,
                        uint64_t total, uint64_t from, uint64_t count, uint32_t bits,
                        arrow::MemoryPool* pool, uint8_t* out);

/// The same for `total` values of one bit each: whole bytes to `out`.
Status DecodeBitBlock(const pb::CompressiveEncoding& encoding, std::string_view bytes,
                      uint64_t total, arrow::MemoryPool* pool, uint8_t* out);

/// The most values of `bits` bits, which mean nothing where values are of variable length, that a
/// block of `bytes` can hold by this encoding; a claim beyond it is refused before anything is
/// allocated for it. REQUIRES: bits != 0.
uint64_t MaxBlockValues(const pb::CompressiveEncoding& encoding, uint64_t bytes, uint32_t bits);

/// Values of variable length, with all their bytes in one buffer.
struct VariableBlock {
  /// One more than there are values; ascending, the last one within the bytes.
  std::vector<uint32_t> offsets;
  /// Followed by readable padding of at least 16 bytes.
  std::shared_ptr<arrow::Buffer> bytes;

  std::string_view Value(size_t i) const;
};

/// A block of `total` values of variable length.
Result<VariableBlock> DecodeVariableBlock(const pb::CompressiveEncoding& encoding,
                                          std::string_view bytes, uint64_t total,
                                          arrow::MemoryPool* pool);

/// The codec of a BufferCompression; kUnsupported for one that is not known.
Result<GeneralCodec> CodecOf(const pb::BufferCompression& compression);

/// kUnsupported unless `encoding` is Flat of `bits` bits without further compression.
Status ExpectFlat(const pb::CompressiveEncoding& encoding, uint64_t bits, std::string_view what);

/// The same for the lengths of runs, which have 8 bits; kUnsupported for those of 16 and 32 bits
/// that version 2.3 has as well.
Status ExpectRunLengths(const pb::CompressiveEncoding& encoding);

/// The name of an encoding for texts, such as "Rle". Static storage.
std::string_view EncodingName(const pb::CompressiveEncoding& encoding);

}  // namespace lake::format
