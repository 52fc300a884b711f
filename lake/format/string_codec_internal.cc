#include "lake/format/string_codec_internal.h"

#include <cstring>

#include "lake/format/block_decoder_internal.h"

namespace lake::format {

Result<StringCodec> StringCodec::From(const pb::CompressiveEncoding& encoding,
                                      uint64_t length_bits) {
  StringCodec codec;
  const pb::CompressiveEncoding* inner = &encoding;
  if (encoding.has_fsst()) {
    ARROW_ASSIGN_OR_RAISE(codec.fsst_, FsstDecoder::DecodeFrom(encoding.fsst().symbol_table()));
    if (codec.fsst_.enabled()) codec.codec_ = Codec::kFsst;
    inner = &encoding.fsst().values();
  } else if (encoding.has_general()) {
    ARROW_ASSIGN_OR_RAISE(codec.general_, CodecOf(encoding.general().compression()));
    codec.codec_ = Codec::kGeneral;
    inner = &encoding.general().values();
  }
  if (!inner->has_variable() || inner->variable().has_values()) {
    return Error(ErrorCode::kUnsupported, "full-zip encoding {} of strings is not read",
                 EncodingName(*inner));
  }
  ARROW_RETURN_NOT_OK(ExpectFlat(inner->variable().offsets(), length_bits, "string offsets"));
  return codec;
}

Result<uint64_t> StringCodec::Append(std::string_view stored, uint64_t made,
                                     LeafBuilder* builder) const {
  switch (codec_) {
    case Codec::kPlain:
      ARROW_RETURN_NOT_OK(builder->ReserveBytes(made + stored.size()));
      if (!stored.empty()) {
        std::memcpy(builder->variable_end() + made, stored.data(), stored.size());
      }
      return stored.size();
    case Codec::kFsst: {
      ARROW_RETURN_NOT_OK(builder->ReserveBytes(made + FsstDecoder::MaxDecodedSize(stored.size()) +
                                                FsstDecoder::kSlack));
      uint8_t* const out = builder->variable_end() + made;
      uint8_t* const end = fsst_.Decode(stored, out);
      if (end == nullptr) {
        return Error(ErrorCode::kCorrupt, "FSST codes are not of the page's symbol table");
      }
      return static_cast<uint64_t>(end - out);
    }
    case Codec::kGeneral:
      break;
  }
  ARROW_ASSIGN_OR_RAISE(const CompressedBuffer compressed,
                        CompressedBuffer::Open(general_, stored, uint64_t{1} << 31));
  ARROW_RETURN_NOT_OK(builder->ReserveBytes(made + compressed.decoded_size));
  ARROW_RETURN_NOT_OK(compressed.Decode(builder->variable_end() + made));
  return compressed.decoded_size;
}

}  // namespace lake::format
