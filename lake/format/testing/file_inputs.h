#pragma once

#include <string_view>

namespace lake::format {

/// As in decoder_inputs.h: any input must pass; a failed check ends the process.

/// A schema's message, and the same bytes as the names of a type and of a version.
void DecodeSchemaInput(std::string_view bytes);
/// A whole file, explained.
void DecodeInspectInput(std::string_view bytes);
/// A whole file whose pages are copied to a new one: what could be read before reads the same.
void DecodePageCopyInput(std::string_view bytes);

}  // namespace lake::format
