#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lake/format/mini_block_encoder_internal.h"
#include "lake/format/page_data.h"

namespace lake::format {

/// Each value as it is, `width` bytes.
std::unique_ptr<ChunkSource> MakeFlatChunks(std::span<const uint8_t> values, size_t width);

/// Booleans given as one byte each, written as one bit each.
std::unique_ptr<ChunkSource> MakeBoolChunks(std::span<const uint8_t> values);

/// Blocks of 1024 integers, each with its own bit width.
template <typename T>
std::unique_ptr<ChunkSource> MakeBitpackedChunks(std::span<const T> values);

/// Runs of equal integers.
template <typename T>
std::unique_ptr<ChunkSource> MakeRunChunks(std::span<const T> values);

/// Fixed-size lists of integers or floats. `item_validity` has one bit per item, or is empty.
std::unique_ptr<ChunkSource> MakeListChunks(const ValueShape& type, std::span<const uint8_t> values,
                                            std::span<const uint8_t> item_validity);

/// Strings given by count + 1 offsets into `bytes`.
std::unique_ptr<ChunkSource> MakeVariableChunks(std::span<const uint32_t> offsets,
                                                std::span<const uint8_t> bytes,
                                                unsigned offset_bits);

}  // namespace lake::format
