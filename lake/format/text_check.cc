#include "lake/format/text_check.h"

#include <cstring>

#include <arrow/util/utf8.h>

namespace lake::format {
namespace {

bool IsAscii(std::string_view text) {
  const char* const bytes = text.data();
  uint64_t all = 0;
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + i, 8);
    all |= word;
  }
  for (; i < text.size(); ++i) all |= static_cast<uint8_t>(bytes[i]);
  return (all & 0x8080808080808080ull) == 0;
}

}  // namespace

// The strings lie behind each other: they are all UTF-8 if the whole is and none starts inside a
// character.
template <typename Offset>
bool AllUtf8(const Offset* offsets, uint64_t count, std::string_view bytes) {
  const uint64_t begin = static_cast<uint64_t>(offsets[0]);
  const uint64_t end = static_cast<uint64_t>(offsets[count]);
  const std::string_view text = bytes.substr(begin, end - begin);
  if (IsAscii(text)) return true;
  arrow::util::InitializeUTF8();
  if (!arrow::util::ValidateUTF8(text)) return false;
  bool good = true;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t start = static_cast<uint64_t>(offsets[i]);
    if (start < end) good &= (static_cast<uint8_t>(bytes[start]) & 0xC0) != 0x80;
  }
  return good;
}

template bool AllUtf8(const int32_t*, uint64_t, std::string_view);
template bool AllUtf8(const int64_t*, uint64_t, std::string_view);
template bool AllUtf8(const uint32_t*, uint64_t, std::string_view);

}  // namespace lake::format
