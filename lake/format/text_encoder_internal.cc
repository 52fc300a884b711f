#include "lake/format/text_encoder_internal.h"

namespace lake::format {

using Compression = LeafEncoding::Compression;

bool WantsSymbols(const PlainText& text, const LeafEncoding& options) {
  if (!text.is_text || text.longest < kFsstShortestLongest) return false;
  if (options.compression == Compression::kFsst) return true;
  return options.compression == Compression::kDefault && text.bytes.size() >= kFsstFewestBytes;
}

Result<EncodedText> EncodeEachText(const PlainText& text, unsigned length_bits,
                                   const LeafEncoding& options) {
  EncodedText result;
  result.stored = {text.offsets, text.bytes};
  pb::CompressiveEncoding* plain = &result.encoding;
  const bool may_compress = options.compression != Compression::kNone;
  if (options.has_general_compression() || (may_compress && text.longest > kCompressedValueBytes)) {
    ARROW_ASSIGN_OR_RAISE(result.compressed, CompressValues(text.offsets, text.bytes));
    if (result.compressed) {
      result.stored = {result.compressed->offsets.as<uint32_t>(),
                       result.compressed->bytes.as<uint8_t>()};
      pb::General* const general = result.encoding.mutable_general();
      general->mutable_compression()->set_scheme(pb::BufferCompression::ZSTD);
      general->mutable_compression()->set_level(0);
      plain = general->mutable_values();
    }
  } else if (WantsSymbols(text, options)) {
    result.symbols = EncodeFsst(text.offsets, text.bytes);
    if (result.symbols) {
      result.stored = {result.symbols->offsets.as<uint32_t>(), result.symbols->codes.as<uint8_t>()};
      result.encoding.mutable_fsst()->set_symbol_table(result.symbols->symbol_table);
      plain = result.encoding.mutable_fsst()->mutable_values();
    }
  }
  plain->mutable_variable()->mutable_offsets()->mutable_flat()->set_bits_per_value(length_bits);
  return result;
}

}  // namespace lake::format
