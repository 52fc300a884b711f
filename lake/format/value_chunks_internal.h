#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lake/format/compress_internal.h"
#include "lake/format/mini_block_encoder_internal.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// Each value as it is, `width` bytes.
std::unique_ptr<ChunkSource> MakeFlatChunks(std::span<const uint8_t> values, size_t width);

/// Rows of a packed struct, whose fields all have a fixed width.
std::unique_ptr<ChunkSource> MakePackedChunks(std::span<const uint8_t> rows,
                                              const std::vector<PackedField>& fields);

/// Booleans given as one byte each, written as one bit each.
std::unique_ptr<ChunkSource> MakeBoolChunks(std::span<const uint8_t> values);

/// Blocks of 1024 integers, each with its own bit width.
template <typename T>
std::unique_ptr<ChunkSource> MakeBitpackedChunks(std::span<const T> values);

/// Runs of equal integers.
template <typename T>
std::unique_ptr<ChunkSource> MakeRunChunks(std::span<const T> values);

/// Fixed-size lists. `shape` and `page` outlive the chunks.
std::unique_ptr<ChunkSource> MakeListChunks(const ValueShape& shape, const PageData& page);

/// Chunks of strings are smaller: one is read for one value, and its bytes cannot be skipped.
inline constexpr size_t kVariableChunkBytes = 4096;

/// Strings given by count + 1 offsets into `bytes`, in chunks of about `chunk_bytes`.
std::unique_ptr<ChunkSource> MakeVariableChunks(std::span<const uint32_t> offsets,
                                                std::span<const uint8_t> bytes,
                                                unsigned offset_bits,
                                                size_t chunk_bytes = kVariableChunkBytes);

/// Floats of `width` 4 or 8 bytes as planes of bytes, which compress better.
std::unique_ptr<ChunkSource> MakeSplitChunks(std::span<const uint8_t> values, size_t width);

/// `inner` with the first buffer of each chunk compressed.
std::unique_ptr<ChunkSource> MakeCompressedChunks(std::shared_ptr<ChunkSource> inner,
                                                  const Compressor& compressor);

}  // namespace lake::format
