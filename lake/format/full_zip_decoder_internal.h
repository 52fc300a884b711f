#pragma once

#include <cstdint>
#include <memory>

#include "lake/base/error.h"
#include "lake/format/container.h"
#include "lake/format/encodings.pb.h"
#include "lake/format/page_decoder_internal.h"

namespace lake::format {

/// Full-zip pages lay everything of a row behind each other: control word, then value.

/// Bytes of the control word in front of every value: 0, 1 or 2. kUnsupported for repetition.
Result<uint32_t> FullZipControlWidth(const pb::FullZipLayout& layout);

/// The definition level that a control word of 1 or 2 bytes holds.
inline uint16_t LoadFullZipControl(const char* at, uint32_t width) {
  return width == 1 ? static_cast<uint8_t>(*at) : LoadLittle<uint16_t>(at);
}

/// kCorrupt unless every row has one visible value.
Status CheckFullZipCounts(const pb::FullZipLayout& layout, uint64_t num_rows);

Result<std::unique_ptr<PageDecoder>> MakeFixedFullZipDecoder(PageTask task);
Result<std::unique_ptr<PageDecoder>> MakeVariableFullZipDecoder(PageTask task);

}  // namespace lake::format
