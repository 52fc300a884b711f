#include "lake/format/fsst.h"

#include <cstring>

#include "lake/format/container.h"

namespace lake::format {
namespace {

constexpr uint32_t kTableMagic = 0x46535354;
constexpr uint64_t kEnabledBit = 1ull << 24;
constexpr size_t kHeaderSize = 8;
constexpr size_t kMaxSymbolLength = 8;

}  // namespace

Result<FsstDecoder> FsstDecoder::DecodeFrom(std::string_view table) {
  if (table.size() < kHeaderSize) {
    return Error(ErrorCode::kCorrupt, "FSST symbol table has {} bytes", table.size());
  }
  const uint64_t header = LoadLittle<uint64_t>(table.data());
  if (header >> 32 != kTableMagic) {
    return Error(ErrorCode::kCorrupt, "FSST symbol table does not start with its magic");
  }
  FsstDecoder decoder;
  decoder.enabled_ = (header & kEnabledBit) != 0;
  if (!decoder.enabled_) return decoder;
  const size_t count = header & 0xFF;
  if (table.size() < kHeaderSize + count * (kMaxSymbolLength + 1)) {
    return Error(ErrorCode::kCorrupt, "FSST symbol table of {} symbols has only {} bytes", count,
                 table.size());
  }
  const char* const symbols = table.data() + kHeaderSize;
  const char* const lengths = symbols + count * kMaxSymbolLength;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t length = static_cast<uint8_t>(lengths[i]);
    if (length == 0 || length > kMaxSymbolLength) {
      return Error(ErrorCode::kCorrupt, "FSST symbol {} has length {}", i, length);
    }
    decoder.symbols_[i] = LoadLittle<uint64_t>(symbols + i * kMaxSymbolLength);
    decoder.lengths_[i] = length;
  }
  return decoder;
}

uint8_t* FsstDecoder::Decode(std::string_view codes, uint8_t* out) const {
  const uint8_t* in = reinterpret_cast<const uint8_t*>(codes.data());
  const uint8_t* const end = in + codes.size();
  bool known = true;
  while (in < end) {
    const uint8_t code = *in++;
    if (code != kEscape) [[likely]] {
      std::memcpy(out, &symbols_[code], sizeof(uint64_t));
      const uint8_t length = lengths_[code];
      known &= length != 0;
      out += length;
    } else {
      if (in == end) return nullptr;
      *out++ = *in++;
    }
  }
  return known ? out : nullptr;
}

}  // namespace lake::format
