#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lake/base/error.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/fsst.h"
#include "lake/format/general_compression.h"
#include "lake/format/leaf_builder.h"
#include "lake/format/list_items_internal.h"
#include "lake/format/page_data.h"
#include "lake/format/page_decoder_internal.h"

namespace lake::format {

/// The most value buffers that a mini-block chunk has in an encoding that is read: the validity of
/// lists inside lists, and their items.
inline constexpr size_t kMaxChunkBuffers = kMostDimensions + 1;

/// How the values of a page's mini-block chunks are encoded, taken from the message once per page.
/// Immutable after From.
class MiniBlockValues {
 public:
  /// kUnsupported, by name, for an encoding that is not read for `type`; kCorrupt where it
  /// contradicts the type or `num_buffers`.
  static Result<MiniBlockValues> From(const pb::CompressiveEncoding& encoding, const LeafType& type,
                                      uint64_t num_buffers);
  /// The same for the indices of a dictionary page, words of `bits`.
  static Result<MiniBlockValues> ForIndices(const pb::CompressiveEncoding& encoding,
                                            uint64_t num_buffers, uint32_t bits);

  size_t num_buffers() const { return num_buffers_; }
  size_t MemoryUse() const { return sizeof(*this); }

  /// Undoes a general compression of the first buffer, if there is one: `buffers[0]` then lies in
  /// `scratch`.
  Status Decompress(uint64_t total, std::span<std::string_view> buffers,
                    DecodeScratch* scratch) const;

  /// Appends the values of `ranges` (rows of the chunk, ascending) of a chunk of `total` values.
  /// REQUIRES: Decompress was called for these buffers.
  Status Append(std::span<const std::string_view> buffers, uint64_t total,
                std::span<const RowRange> ranges, DecodeScratch* scratch,
                LeafBuilder* builder) const;

  /// Values [from, from + count) of a chunk of `total` indices; one that does not fit becomes the
  /// largest number.
  Status DecodeIndices(std::span<const std::string_view> buffers, uint64_t total, uint64_t from,
                       uint64_t count, DecodeScratch* scratch, uint32_t* out) const;

  /// Words of at most 64 bits: values [from, from + count) of a chunk of `total` to `out`.
  Status DecodeWords(std::span<const std::string_view> buffers, uint64_t total, uint64_t from,
                     uint64_t count, uint8_t* out) const;

 private:
  enum class Codec { kFlat, kZeros, kBitpacked, kRle, kByteStreamSplit, kVariable, kFsst };

  Status SetFixed(const pb::CompressiveEncoding& encoding);
  Status SetList(const pb::CompressiveEncoding& encoding);
  Status SetVariable(const pb::CompressiveEncoding& encoding);
  Status SetPacked(const pb::CompressiveEncoding& encoding);
  Status AppendItemValidity(std::span<const std::string_view> buffers, uint64_t total,
                            std::span<const RowRange> ranges, LeafBuilder* builder) const;
  Status AppendPacked(std::string_view rows, uint64_t total, std::span<const RowRange> ranges,
                      LeafBuilder* builder) const;
  Status AppendFixed(std::span<const std::string_view> buffers, uint64_t total,
                     std::span<const RowRange> ranges, DecodeScratch* scratch,
                     LeafBuilder* builder) const;
  template <typename Stored, typename Offset>
  Status AppendVariable(std::string_view buffer, uint64_t total, const RowRange& range,
                        DecodeScratch* scratch, LeafBuilder* builder) const;

  LeafType type_;
  Codec codec_ = Codec::kFlat;
  std::optional<GeneralCodec> general_;
  // Of lists: the bitmaps over their items come before the values.
  ListItems items_;
  // Bytes of a row of a packed struct.
  uint64_t packed_width_ = 0;
  // Of the stored offsets.
  uint32_t stored_offset_bits_ = 0;
  size_t num_buffers_ = 1;
  FsstDecoder fsst_;
};

}  // namespace lake::format
