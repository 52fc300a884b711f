#include "lake/format/fsst.h"

#include <cstring>

#include "lake/format/container.h"

namespace lake::format {
namespace {

constexpr uint32_t kTableMagic = 0x46535354;
constexpr uint64_t kEnabledBit = 1ull << 24;
constexpr size_t kHeaderSize = 8;
constexpr size_t kMaxSymbolLength = 8;
// Codes that are decoded without a branch if none of them is an escape.
constexpr size_t kBlock = 16;

// True if each of kBlock codes is below `limit`.
bool AllBelow(const uint8_t* codes, uint8_t limit) {
  using Vector = uint8_t __attribute__((vector_size(kBlock)));
  Vector block;
  std::memcpy(&block, codes, kBlock);
  const auto above = block >= limit;
  uint64_t halves[2];
  std::memcpy(halves, &above, kBlock);
  return (halves[0] | halves[1]) == 0;
}

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
  const uint8_t count = header & 0xFF;
  decoder.num_symbols_ = count;
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
  while (in < end) {
    const uint8_t code = *in++;
    if (code < num_symbols_) [[likely]] {
      std::memcpy(out, &symbols_[code], sizeof(uint64_t));
      out += lengths_[code];
    } else {
      if (code != kEscape || in == end) return nullptr;
      *out++ = *in++;
    }
  }
  return out;
}

uint8_t* FsstDecoder::DecodeMany(std::string_view codes, uint8_t* const out, uint32_t* ends) const {
  const uint8_t* in = reinterpret_cast<const uint8_t*>(codes.data());
  const uint8_t* const end = in + codes.size();
  const uint8_t num_symbols = num_symbols_;
  const uint64_t* const symbols = symbols_.data();
  const uint8_t* const lengths = lengths_.data();
  uint32_t at = 0;
  const auto decode_symbol = [&](uint8_t code) {
    *ends++ = at;
    std::memcpy(out + at, &symbols[code], sizeof(uint64_t));
    at += lengths[code];
  };
  while (in < end) {
    const uint8_t* block_end = end;
    if (end - in >= static_cast<ptrdiff_t>(kBlock)) {
      if (AllBelow(in, num_symbols)) [[likely]] {
        for (size_t i = 0; i < kBlock; ++i) decode_symbol(in[i]);
        in += kBlock;
        continue;
      }
      block_end = in + kBlock;
    }
    while (in < block_end) {
      const uint8_t code = *in++;
      if (code < num_symbols) {
        decode_symbol(code);
        continue;
      }
      if (code != kEscape || in == end) return nullptr;
      *ends++ = at;
      *ends++ = kInsideEscape;
      out[at++] = *in++;
    }
  }
  *ends = at;
  return out + at;
}

}  // namespace lake::format
