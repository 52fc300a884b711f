#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lake/format/v20_column_internal.h"

namespace lake::format {

/// Gives a page of a 2.0 file, as EncodeV20PageInput writes it, to its decoder and checks what
/// comes out: an error, or an array that is valid. Any input must pass; a failed check ends the
/// process.
void DecodeV20PageInput(std::string_view bytes);

/// The logical types that a page input can have, by number.
std::span<const char* const> V20PageInputTypes();

/// One page on its own: its type (a number into V20PageInputTypes), its metadata, and the bytes of
/// its buffers one behind the other.
std::string EncodeV20PageInput(uint8_t type, const V20Page& page, std::string_view buffers);

}  // namespace lake::format
