#pragma once

#include <cstdint>

// The words of JSONB: docs/format/encodings.md, "JSONB".
namespace lake::format::jsonb {

/// Values nest this deep at most.
inline constexpr int kMaxDepth = 128;

// A container begins with its kind and the number of its items.
inline constexpr uint32_t kArray = 0x80000000;
inline constexpr uint32_t kObject = 0x40000000;
inline constexpr uint32_t kScalar = 0x20000000;
inline constexpr uint32_t kContainerMask = 0xE0000000;
inline constexpr uint32_t kCountMask = 0x1FFFFFFF;

// An entry is the kind of a value and how many bytes it has.
inline constexpr uint32_t kNull = 0x00000000;
inline constexpr uint32_t kString = 0x10000000;
inline constexpr uint32_t kNumber = 0x20000000;
inline constexpr uint32_t kFalse = 0x30000000;
inline constexpr uint32_t kTrue = 0x40000000;
inline constexpr uint32_t kNested = 0x50000000;
inline constexpr uint32_t kEntryMask = 0xF0000000;
inline constexpr uint32_t kSizeMask = 0x0FFFFFFF;

// The first byte of a number.
inline constexpr uint8_t kZero = 0x00;
inline constexpr uint8_t kInt = 0x40;
inline constexpr uint8_t kUint = 0x50;
inline constexpr uint8_t kFloat = 0x60;
inline constexpr uint8_t kDecimal = 0x70;

}  // namespace lake::format::jsonb
