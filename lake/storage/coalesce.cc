#include "lake/storage/coalesce.h"

#include <algorithm>
#include <numeric>

namespace lake::storage {

CoalescedReads Coalesce(std::span<const ByteRange> ranges, const CoalesceOptions& options) {
  CoalescedReads result;
  result.read_of.resize(ranges.size());
  std::vector<size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return ranges[a].offset < ranges[b].offset; });
  for (size_t i : order) {
    const ByteRange range = ranges[i];
    if (!result.reads.empty()) {
      ByteRange& last = result.reads.back();
      const uint64_t end = std::max(last.end(), range.end());
      const bool near = range.offset <= last.end() || range.offset - last.end() <= options.max_gap;
      if (range.end() <= last.end() || (near && end - last.offset <= options.max_read)) {
        last.length = end - last.offset;
        result.read_of[i] = result.reads.size() - 1;
        continue;
      }
    }
    result.read_of[i] = result.reads.size();
    result.reads.push_back(range);
  }
  return result;
}

}  // namespace lake::storage
