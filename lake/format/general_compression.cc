#include "lake/format/general_compression.h"

#include <limits>
#include <memory>

#include <lz4.h>
#include <zstd.h>

#include "lake/format/container.h"

namespace lake::format {
namespace {

constexpr uint32_t kZstdMagic = 0xFD2FB528;
// Bit 3 of a zstd frame header's first byte must be 0; a size in front may look like the magic, but
// hardly has this bit clear as well.
constexpr uint8_t kZstdReservedBit = 0x08;
// The most that one compressed byte can become: LZ4 adds 255 to a length per byte; a zstd block of
// 128 KiB takes 4 bytes.
constexpr uint64_t kMaxLz4Ratio = 255;
constexpr uint64_t kMaxZstdRatio = 1 << 15;

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_DCtx* ThreadContext() {
  thread_local std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  return context.get();
}

bool IsBareZstdFrame(std::string_view bytes) {
  return bytes.size() > 4 && LoadLittle<uint32_t>(bytes.data()) == kZstdMagic &&
         (static_cast<uint8_t>(bytes[4]) & kZstdReservedBit) == 0;
}

Result<CompressedBuffer> OpenZstd(std::string_view bytes) {
  CompressedBuffer buffer;
  buffer.codec = GeneralCodec::kZstd;
  const bool bare = IsBareZstdFrame(bytes);
  if (!bare && bytes.size() < 8) {
    return Error(ErrorCode::kCorrupt, "zstd buffer has {} bytes, its size alone takes 8",
                 bytes.size());
  }
  buffer.payload = bare ? bytes : bytes.substr(8);
  const auto frame_size = ZSTD_getFrameContentSize(buffer.payload.data(), buffer.payload.size());
  if (frame_size == ZSTD_CONTENTSIZE_ERROR) {
    return Error(ErrorCode::kCorrupt, "zstd buffer holds no zstd frame");
  }
  if (bare && frame_size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return Error(ErrorCode::kUnsupported, "zstd frame that does not tell its size is not read");
  }
  buffer.decoded_size = bare ? frame_size : LoadLittle<uint64_t>(bytes.data());
  if (frame_size != ZSTD_CONTENTSIZE_UNKNOWN && frame_size != buffer.decoded_size) {
    return Error(ErrorCode::kCorrupt, "zstd buffer should hold {} bytes, its frame says {}",
                 buffer.decoded_size, frame_size);
  }
  return buffer;
}

}  // namespace

uint64_t MaxRatio(GeneralCodec codec) {
  return codec == GeneralCodec::kZstd ? kMaxZstdRatio : kMaxLz4Ratio;
}

Result<CompressedBuffer> CompressedBuffer::Open(GeneralCodec codec, std::string_view bytes,
                                                uint64_t max_size) {
  CompressedBuffer buffer;
  if (codec == GeneralCodec::kZstd) {
    ARROW_ASSIGN_OR_RAISE(buffer, OpenZstd(bytes));
  } else {
    if (bytes.size() < 4) {
      return Error(ErrorCode::kCorrupt, "LZ4 buffer has {} bytes, its size alone takes 4",
                   bytes.size());
    }
    buffer.payload = bytes.substr(4);
    buffer.decoded_size = LoadLittle<uint32_t>(bytes.data());
  }
  if (buffer.decoded_size > max_size ||
      buffer.decoded_size / MaxRatio(codec) > buffer.payload.size() ||
      buffer.decoded_size > std::numeric_limits<int32_t>::max()) {
    return Error(ErrorCode::kCorrupt,
                 "compressed buffer of {} bytes claims to hold {}, at most {} fit", bytes.size(),
                 buffer.decoded_size, max_size);
  }
  return buffer;
}

Status CompressedBuffer::Decode(uint8_t* out) const {
  uint64_t made = 0;
  if (codec == GeneralCodec::kZstd) {
    const size_t result =
        ZSTD_decompressDCtx(ThreadContext(), out, decoded_size, payload.data(), payload.size());
    if (ZSTD_isError(result)) {
      return Error(ErrorCode::kCorrupt, "zstd buffer does not decode: {}",
                   ZSTD_getErrorName(result));
    }
    made = result;
  } else {
    if (payload.size() > static_cast<size_t>(LZ4_MAX_INPUT_SIZE)) {
      return Error(ErrorCode::kCorrupt, "LZ4 buffer has {} bytes", payload.size());
    }
    const int result =
        LZ4_decompress_safe(payload.data(), reinterpret_cast<char*>(out),
                            static_cast<int>(payload.size()), static_cast<int>(decoded_size));
    if (result < 0) return Error(ErrorCode::kCorrupt, "LZ4 buffer does not decode");
    made = static_cast<uint64_t>(result);
  }
  if (made != decoded_size) {
    return Error(ErrorCode::kCorrupt, "compressed buffer should hold {} bytes, it holds {}",
                 decoded_size, made);
  }
  return Status::OK();
}

}  // namespace lake::format
