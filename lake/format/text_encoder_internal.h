#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lake/base/error.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/fsst_encoder.h"
#include "lake/format/full_zip_encoder_internal.h"
#include "lake/format/leaf_encoding.h"
#include "lake/format/value_compressor.h"

namespace lake::format {

/// Strings or binary of a page, `count` + 1 offsets into their bytes, ByteBuffer::kSlack bytes
/// readable behind them.
struct PlainText {
  std::span<const uint32_t> offsets;
  std::span<const uint8_t> bytes;
  size_t longest = 0;
  /// Only text is worth a symbol table.
  bool is_text = false;
};

/// Whether a symbol table is tried for `text`.
bool WantsSymbols(const PlainText& text, const LeafEncoding& options);

/// Values that are stored each for itself.
struct EncodedText {
  /// Into the text that it was made from, or into what stands below.
  StoredText stored;
  pb::CompressiveEncoding encoding;
  std::optional<FsstText> symbols;
  std::optional<CompressedValues> compressed;

  bool is_plain() const { return !symbols && !compressed; }
};

/// `text` under a symbol table, or each value compressed, where that pays or `options` ask for it;
/// else as it is. Lengths have `length_bits`. `text` outlives the result.
Result<EncodedText> EncodeEachText(const PlainText& text, unsigned length_bits,
                                   const LeafEncoding& options);

}  // namespace lake::format
