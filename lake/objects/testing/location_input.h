#pragma once

#include <string_view>

namespace lake::objects {

/// Any bytes as a location: parsing and the containment check stay in bounds, and what they accept
/// has exactly one spelling. A failed check ends the process.
void DecodeLocationInput(std::string_view bytes);

}  // namespace lake::objects
