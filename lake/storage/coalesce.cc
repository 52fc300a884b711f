#include "lake/storage/coalesce.h"

#include <algorithm>
#include <utility>

namespace lake::storage {

CoalescedReads Coalesce(std::span<const ByteRange> ranges, const CoalesceOptions& options) {
  CoalescedReads result;
  result.read_of.resize(ranges.size());
  // By offset. With each its range's number, so that sorting looks at nothing else.
  std::vector<std::pair<uint64_t, size_t>> order(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) order[i] = {ranges[i].offset, i};
  if (!std::is_sorted(order.begin(), order.end())) std::sort(order.begin(), order.end());
  for (const auto& [offset, i] : order) {
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
