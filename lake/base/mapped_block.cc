#include "lake/base/mapped_block.h"

#include <sys/mman.h>

namespace lake {

uint8_t* MapBlock(size_t size, size_t least_huge) {
  const bool huge = size >= least_huge;
  const size_t mapped = huge ? size + kHugePage : size;
  void* const at =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* const start = static_cast<uint8_t*>(at);
  if (!huge) return start;
  // What is before and behind the aligned block goes back.
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
  if (before > 0) munmap(start, before);
  if (before < kHugePage) munmap(start + before + size, kHugePage - before);
  madvise(start + before, size, MADV_HUGEPAGE);
  return start + before;
}

}  // namespace lake
