#include "lake/format/value_compressor.h"

#include <algorithm>
#include <memory>

#include <zstd.h>

namespace lake::format {
namespace {

constexpr int kLevel = 3;
constexpr size_t kSampleValues = 8;
constexpr size_t kSampleBytes = 64 * 1024;

struct FreeCompressor {
  void operator()(ZSTD_CCtx* compressor) const { ZSTD_freeCCtx(compressor); }
};
using Compressor = std::unique_ptr<ZSTD_CCtx, FreeCompressor>;

// Appends the frame of `value` to `out`.
Status Compress(ZSTD_CCtx* compressor, std::span<const uint8_t> value, ByteBuffer* out) {
  const size_t start = out->size();
  const size_t bound = ZSTD_compressBound(value.size());
  const size_t size =
      ZSTD_compressCCtx(compressor, out->Extend(bound), bound, value.data(), value.size(), kLevel);
  if (ZSTD_isError(size)) {
    return Error(ErrorCode::kInternal, "zstd did not compress a value: {}",
                 ZSTD_getErrorName(size));
  }
  out->Truncate(start + size);
  return Status::OK();
}

Result<bool> SampleShrinks(ZSTD_CCtx* compressor, std::span<const uint32_t> offsets,
                           std::span<const uint8_t> bytes) {
  // Spread over the bytes: a few long values among many short ones are most of them.
  const size_t begin = offsets.front();
  const size_t total = offsets.back() - begin;
  ByteBuffer out;
  size_t plain = 0;
  auto value = offsets.begin();
  for (size_t i = 0; i < kSampleValues && total != 0; ++i) {
    const auto next = std::upper_bound(value, offsets.end(), begin + total * i / kSampleValues) - 1;
    if (i != 0 && next == value) continue;
    value = next;
    const size_t length = std::min<size_t>(value[1] - value[0], kSampleBytes);
    plain += length;
    ARROW_RETURN_NOT_OK(Compress(compressor, bytes.subspan(value[0], length), &out));
  }
  return out.size() < plain - plain / 20;
}

}  // namespace

Result<std::optional<CompressedValues>> CompressValues(std::span<const uint32_t> offsets,
                                                       std::span<const uint8_t> bytes) {
  const Compressor compressor(ZSTD_createCCtx());
  if (compressor == nullptr) {
    return Error(ErrorCode::kOutOfMemory, "no memory for a zstd compressor");
  }
  ARROW_ASSIGN_OR_RAISE(const bool shrinks, SampleShrinks(compressor.get(), offsets, bytes));
  if (!shrinks) return std::nullopt;
  CompressedValues result;
  result.offsets.AppendValue<uint32_t>(0);
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::span<const uint8_t> value = bytes.subspan(offsets[i], offsets[i + 1] - offsets[i]);
    result.bytes.AppendValue<uint64_t>(value.size());
    ARROW_RETURN_NOT_OK(Compress(compressor.get(), value, &result.bytes));
    result.offsets.AppendValue(static_cast<uint32_t>(result.bytes.size()));
  }
  return result;
}

}  // namespace lake::format
