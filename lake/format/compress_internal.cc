#include "lake/format/compress_internal.h"

#include <memory>

#include <lz4.h>
#include <lz4hc.h>
#include <zstd.h>

namespace lake::format {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

ZSTD_CCtx* ThreadContext() {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  return context.get();
}

Status AppendZstd(std::span<const uint8_t> plain, int level, ByteBuffer* out) {
  out->AppendValue<uint64_t>(plain.size());
  const size_t start = out->size();
  const size_t bound = ZSTD_compressBound(plain.size());
  if (ThreadContext() == nullptr) {
    return Error(ErrorCode::kOutOfMemory, "no memory for a zstd compressor");
  }
  const size_t size = ZSTD_compressCCtx(ThreadContext(), out->Extend(bound), bound, plain.data(),
                                        plain.size(), level);
  if (ZSTD_isError(size)) {
    return Error(ErrorCode::kInternal, "zstd did not compress: {}", ZSTD_getErrorName(size));
  }
  out->Truncate(start + size);
  return Status::OK();
}

Status AppendLz4(std::span<const uint8_t> plain, std::optional<int> level, ByteBuffer* out) {
  if (plain.size() > LZ4_MAX_INPUT_SIZE) {
    return Error(ErrorCode::kUnsupported, "LZ4 takes at most {} bytes, not {}", LZ4_MAX_INPUT_SIZE,
                 plain.size());
  }
  out->AppendValue(static_cast<uint32_t>(plain.size()));
  const size_t start = out->size();
  const int length = static_cast<int>(plain.size());
  const int bound = LZ4_compressBound(length);
  const auto* const from = reinterpret_cast<const char*>(plain.data());
  auto* const to = reinterpret_cast<char*>(out->Extend(bound));
  const int size = level ? LZ4_compress_HC(from, to, length, bound, *level)
                         : LZ4_compress_default(from, to, length, bound);
  if (size <= 0 && length != 0) return Error(ErrorCode::kInternal, "LZ4 did not compress");
  out->Truncate(start + size);
  return Status::OK();
}

}  // namespace

Status Compressor::Append(std::span<const uint8_t> plain, ByteBuffer* out) const {
  if (codec == GeneralCodec::kLz4) return AppendLz4(plain, level, out);
  // 0 is the library's own default.
  return AppendZstd(plain, level.value_or(0), out);
}

void Compressor::Describe(pb::BufferCompression* compression) const {
  compression->set_scheme(codec == GeneralCodec::kLz4 ? pb::BufferCompression::LZ4
                                                      : pb::BufferCompression::ZSTD);
  if (level) {
    compression->set_level(*level);
  } else if (codec == GeneralCodec::kZstd) {
    compression->set_level(0);
  }
}

}  // namespace lake::format
