#pragma once

#include <cstdint>
#include <string_view>

namespace lake::format {

/// True if each of `count` strings is UTF-8. String i is bytes [offsets[i], offsets[i + 1]).
/// REQUIRES: the count + 1 offsets ascend and end within `bytes`.
template <typename Offset>
bool AllUtf8(const Offset* offsets, uint64_t count, std::string_view bytes);

extern template bool AllUtf8(const int32_t*, uint64_t, std::string_view);
extern template bool AllUtf8(const int64_t*, uint64_t, std::string_view);
extern template bool AllUtf8(const uint32_t*, uint64_t, std::string_view);

}  // namespace lake::format
