#pragma once

#include <cstddef>
#include <cstdint>

namespace lake {

/// Bytes of a huge page.
inline constexpr size_t kHugePage = 2 << 20;

/// `size` bytes of fresh, cleared memory straight from the kernel, or null if there is none; a
/// multiple of 4096. From `least_huge` bytes on the block is aligned for huge pages and asks for
/// them: the kernel clears one of these in a fraction of the time that its 512 small ones take
/// fault by fault, but the first byte in it takes all of its memory. munmap(block, size) gives the
/// block back. REQUIRES: least_huge >= kHugePage.
uint8_t* MapBlock(size_t size, size_t least_huge = kHugePage);

}  // namespace lake
